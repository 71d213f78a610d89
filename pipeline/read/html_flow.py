"""From the tokens of a page to its text, block by block, as a person would read it.

White space is collapsed as a browser does, blocks keep the distance that a browser's own style sheet gives them, list
items have their bullets and numbers, a table's rows are lines, and notes are kept apart. There is no tree and no
recursion: the open elements are a stack, and every token costs the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from pipeline.read import html_names as names
from pipeline.read.html_tokens import Token, tokens

_SPACE = " \t\n\r\f"
_SPACES = re.compile(r"[ \t\n\r\f]+")
_WIDE = "\u2e80-\u303f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
_WIDE_BREAK = re.compile(rf"(?<=[{_WIDE}])[ \t\r]*\n[ \t\r\n]*(?=[{_WIDE}])")
_WIDE_CHAR = re.compile(f"[{_WIDE}]")
# Marks within a block until it is finished: characters that Unicode keeps for a program's own use.
_BREAK, _KEPT_SPACE, _KEPT_TAB, _ANCHOR = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
_OWN_MARKS = re.compile("[\0\ufdd0-\ufdd3]")
_SPACED_ANCHOR = re.compile(f" ({_ANCHOR}+) ")
_BREAKS = re.compile(f" *{_BREAK} *")
_KEEP = str.maketrans({"\n": _BREAK, " ": _KEPT_SPACE, "\t": _KEPT_TAB})
_BLANK = _SPACE + _BREAK  # what does not begin a block, the line feed right behind <pre> included
_HIDDEN_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9+\-−=()n]+")
_NOTE_MARK = re.compile(r"[\[(]?\s*(\S{1,8})\s*[\])]?")
_REACH = 64  # open elements that are looked through for one that a tag ends or a path names
_TABLES = 8  # tables within tables whose rows are made lines
_CELL_CHARS = 400  # a cell with more text is read on its own, as in pages that are laid out by tables
_MAX_INDENT = 10
_SHORT_ITEM = 300


class Region(Enum):
    """What part of a page a block stands in."""

    BODY = auto()
    MAIN = auto()  # what the page itself calls its main text
    CHROME = auto()  # navigation, banners, footers of a site
    NAVIGATION = auto()  # a table of contents or other list of links of a book
    NOTE = auto()  # footnotes and endnotes


@dataclass(slots=True)
class Block:
    """A run of text that stands by itself: a paragraph, heading, list item, table row."""

    text: str
    gap: int  # line feeds before it at least
    at: int  # offset of its first character in the page's source
    element: str  # path of its element, as in XPath; "" where it stands too deep to be named
    region: Region
    level: int = 0  # of a heading
    anchors: list[tuple[int, str]] = field(default_factory=list)  # (offset within the text, id)
    is_item: bool = False  # it begins with the bullet or number of a list's item


@dataclass(slots=True)
class Page:
    """What one page holds."""

    title: str
    language: str
    blocks: list[Block]
    loose_anchors: list[str]  # ids behind the last block
    images: int
    hidden: int  # characters that the page itself hides


@dataclass(slots=True, eq=False)
class _Frame:
    """An open element."""

    name: str
    step: str  # of a path, such as "p[3]"
    parent: _Frame | None
    depth: int
    region: Region
    skip: bool
    pre: bool
    scope: dict[str, int]  # how many elements of each name are open since the last scope began
    table: dict[str, int]  # the same of a table's parts, since the last table began
    children: dict[str, int] = field(default_factory=dict)
    list_number: int | None = None  # of the next item, in a numbered list
    list_depth: int = 0
    mark: int = -1  # index into the parts where the element began, when its end changes what is there
    serial: int = -1  # of the block it began in
    is_note_mark: bool = False
    row: list[list[Block]] | None = None
    row_gap: int = 0
    is_cell: bool = False


def read_page(source: str, *, xml: bool, is_book: bool) -> Page:
    """Read a page. `xml`: it is XHTML; `is_book`: it is an item of a book, and only `nav` is not its text."""
    if _OWN_MARKS.search(source):
        source = _OWN_MARKS.sub("\ufffd", source)
    flow = _Flow(xml=xml, is_book=is_book)
    return flow.run(tokens(source, xml=xml))


class _Flow:
    def __init__(self, *, xml: bool, is_book: bool) -> None:
        self._xml, self._is_book = xml, is_book
        self._top = _Frame("", "", None, 0, Region.BODY, skip=False, pre=False, scope={}, table={})
        self._blocks: list[Block] = []
        self._sinks: list[list[Block]] = [self._blocks]
        self._rows = 0
        self._parts: list[str] = []
        self._serial = 0
        self._anchors: list[str] = []
        self._at = 0
        self._frame = self._top
        self._gap = 0
        self._level = 0
        self._prefix = ""
        self._foreign = 0
        self._title: list[str] | None = None
        self._language = ""
        self._images = 0
        self._hidden = 0

    def run(self, stream: Iterable[Token]) -> Page:
        """Take all tokens."""
        for token in stream:
            if not token.name:
                self._text(token)
            elif token.is_end:
                self._end(token.name)
            else:
                self._start(token)
        while self._top.parent is not None:
            self._pop()
        self._flush()
        title = _SPACES.sub(" ", "".join(self._title or [])).strip()
        return Page(title=title, language=self._language, blocks=self._blocks,
                    loose_anchors=[name.lstrip("\0") for name in self._anchors],
                    images=self._images, hidden=self._hidden)  # fmt: skip

    # Text

    def _text(self, token: Token) -> None:
        top = self._top
        if top.skip:
            if top.name == "title" and self._title is not None:
                self._title.append(token.text)
            elif top.name != "head":
                self._hidden += len(token.text.strip())
            return
        self._add(token.text, token.at)

    def _add(self, text: str, at: int) -> None:
        if self._top.pre:
            text = text.replace("\r", "").translate(_KEEP)
        if not self._parts:
            begun = text.lstrip(_BLANK)
            if not begun:
                return
            self._begin(at + len(text) - len(begun))
            text = begun
        self._parts.append(text)

    def _begin(self, at: int) -> None:
        self._at, self._frame = at, self._top

    def _flush(self) -> None:
        """Finish the block that is being gathered, if it has text."""
        if not self._parts:
            return
        raw = "".join(self._parts)
        self._parts.clear()
        self._serial += 1
        text = _collapsed(raw)
        anchors, text = _placed(text, self._anchors)
        if not text.strip():
            self._anchors = [f"\0{name}" for _, name in anchors]
            return
        self._anchors = [f"\0{name}" for place, name in anchors if place >= len(text)]
        kept = [(place, name) for place, name in anchors if place < len(text)]
        gap, items = self._gap, self._sinks[-1]
        if self._prefix:
            if items and items[-1].is_item and len(items[-1].text) < _SHORT_ITEM:
                gap = min(gap, 1)  # a list of short items is read as one
            kept = [(place and place + len(self._prefix), name) for place, name in kept]
            text = self._prefix + text
        if self._level:
            text = text.replace("\n", " ")
        frame = self._frame
        is_item = bool(self._prefix)
        items.append(Block(text, gap, self._at, _path(frame), frame.region, self._level, kept, is_item=is_item))
        self._gap, self._prefix = 0, ""

    # Elements

    def _start(self, token: Token) -> None:
        name, attributes = token.name, token.attributes or {}
        if not self._xml:
            self._end_implied(name)
        if name in names.VOID:
            self._void(name, attributes, token.at)
            return
        gap = names.GAPS.get(name)
        if gap is not None and not self._top.skip:
            self._flush()
            self._gap = max(self._gap, gap)
        frame = self._push(token, attributes)
        identity = attributes.get("id") or (attributes.get("name") if name == "a" else None)
        if identity:
            self._anchor(identity)
        if not frame.skip:
            self._opened(frame, attributes, token.at)
        elif name == "title" and self._title is None and not self._foreign:
            self._title = []
        if name in ("svg", "math"):
            self._foreign += 1
            if attributes.get("alttext") and not frame.skip:
                self._add(attributes["alttext"], token.at)
                frame.skip = True
        if token.is_empty and (self._xml or self._foreign):
            self._pop()

    def _push(self, token: Token, attributes: dict[str, str]) -> _Frame:
        name, parent = token.name, self._top
        number = parent.children[name] = parent.children.get(name, 0) + 1
        skip = parent.skip or name in names.SKIPPED or (name == "title") or _is_hidden(attributes)
        # An element that begins a scope is found from within it.
        frame = _Frame(
            name,
            f"{name}[{number}]",
            parent,
            parent.depth + 1,
            parent.region,
            skip=skip,
            pre=parent.pre or name in names.PREFORMATTED,
            scope={} if name in names.SCOPES else parent.scope,
            table={} if name == "table" else parent.table,
            list_depth=parent.list_depth,
        )
        counts = frame.table if name in names.TABLE_PARTS else frame.scope
        counts[name] = counts.get(name, 0) + 1
        if attributes or name in names.CHROME or name in ("main", "html"):
            self._classify(frame, attributes)
        self._top = frame
        return frame

    def _classify(self, frame: _Frame, attributes: dict[str, str]) -> None:
        """The region that an element opens, and the language of the page."""
        name, role = frame.name, attributes.get("role", "").lower()
        types = set(f"{attributes.get('epub:type', '')} {role}".lower().split())
        classes = attributes.get("class", "").lower().split()
        if name == "html" and not self._language:
            self._language = attributes.get("lang") or attributes.get("xml:lang") or ""
        if name in names.NOTE_ELEMENTS and not names.NOTE_TYPES.isdisjoint((*types, *classes)):
            frame.region = Region.NOTE
        elif self._is_book:
            if name == "nav":
                frame.region = Region.NAVIGATION
        elif name == "main" or role == "main":
            frame.region = Region.MAIN
        elif (name == "nav" or role in names.CHROME_ROLES) or (name in names.CHROME and not _in_article(frame)):
            frame.region = Region.CHROME
        if name == "a" and not names.PERMALINKS.isdisjoint(classes):
            frame.skip = True
        if "pagebreak" in types or "doc-pagebreak" in types or "doc-backlink" in types:
            frame.skip = True
        frame.is_note_mark = name == "a" and not names.NOTE_REFERENCES.isdisjoint((*types, *classes))

    def _opened(self, frame: _Frame, attributes: dict[str, str], at: int) -> None:
        """What the beginning of an element that is text does."""
        name = frame.name
        if name in names.HEADINGS:
            self._level = names.HEADINGS[name]
        elif name in names.LISTS:
            frame.list_depth += 1
            frame.list_number = _number(attributes.get("start")) if name == "ol" else None
            if frame.list_depth > 1:
                self._gap = min(self._gap, 1)
        elif name == "li":
            self._item(frame, attributes)
        elif name == "tr" and self._rows < _TABLES:
            frame.row, frame.row_gap = [], self._gap
            self._rows += 1
        elif name in names.CELLS:
            self._cell(frame)
        elif name in ("sup", "sub", "rt") or (name == "a" and "#" in attributes.get("href", "")):
            frame.mark, frame.serial = len(self._parts), self._serial
        elif name == "q":
            self._add("“", at)

    def _item(self, frame: _Frame, attributes: dict[str, str]) -> None:
        parent = frame.parent
        while parent is not None and parent.name not in names.LISTS and parent.depth > frame.depth - 4:
            parent = parent.parent
        marker = "- "
        if parent is not None and parent.list_number is not None:
            number = _number(attributes.get("value"), parent.list_number)
            parent.list_number = number + 1
            marker = f"{number}. "
        self._prefix = "  " * min(max(0, frame.list_depth - 1), _MAX_INDENT) + marker

    def _cell(self, frame: _Frame) -> None:
        row = frame.parent
        if row is not None and row.row is not None:
            row.row.append([])
            self._sinks.append(row.row[-1])
            frame.is_cell = True

    def _void(self, name: str, attributes: dict[str, str], at: int) -> None:
        if self._top.skip:
            return
        self._top.children[name] = self._top.children.get(name, 0) + 1
        if attributes.get("id"):
            self._anchor(attributes["id"])
        if name == "br":
            if self._parts:
                self._parts.append(_BREAK)
        elif name == "hr":
            self._flush()
            self._gap = 2
            self._add("* * *", at)
            self._flush()
            self._gap = 2
        elif name == "img":
            self._images += 1
            alt = _SPACES.sub(" ", attributes.get("alt", "")).strip()
            if alt and not _is_hidden(attributes):
                self._add(f" [{alt}] ", at)

    def _end(self, name: str) -> None:
        top = self._top
        if top.name == name:
            self._pop()
        elif name in names.HEADINGS:
            self._end_heading()
        elif not self._in_scope(name):
            return
        elif name in names.GAPS or name in names.SKIPPED or name in ("svg", "math", "ruby"):
            while self._top.name != name:
                self._pop()
            self._pop()
        else:
            self._end_inline(name)

    def _in_scope(self, name: str) -> bool:
        """Is an element of this name open, no further out than the scope reaches?"""
        return bool((self._top.table if name in names.TABLE_PARTS else self._top.scope).get(name))

    def _end_heading(self) -> None:
        """Any heading's end tag ends the heading that is open."""
        if any(self._top.scope.get(name) for name in names.HEADINGS):
            while self._top.name not in names.HEADINGS:
                self._pop()
            self._pop()

    def _end_inline(self, name: str) -> None:
        """End an inline element unless a block began in it since."""
        frame, reach = self._top, _REACH
        while reach and frame.parent is not None and frame.name not in names.GAPS:
            if frame.name == name:
                while self._top is not frame:
                    self._pop()
                self._pop()
                return
            frame, reach = frame.parent, reach - 1

    def _end_implied(self, name: str) -> None:
        """End what a start tag ends without saying so."""
        if name in names.ENDS_PARAGRAPH and self._top.scope.get("p"):
            self._end_open(frozenset({"p"}), names.ENDS_PARAGRAPH - {"p"})
        if name == "a" and self._top.scope.get("a"):
            self._end_inline("a")
        if name in names.HEADINGS and self._top.name in names.HEADINGS:
            self._pop()
        found = names.IMPLIED_ENDS.get(name)
        if found is not None:
            self._end_open(*found)

    def _end_open(self, wanted: frozenset[str], stops: frozenset[str]) -> None:
        frame, reach = self._top, _REACH
        while reach and frame.parent is not None and frame.name not in stops:
            if frame.name in wanted:
                while self._top is not frame:
                    self._pop()
                self._pop()
                return
            frame, reach = frame.parent, reach - 1

    def _pop(self) -> None:
        frame = self._top
        assert frame.parent is not None
        if not frame.skip:
            self._closed(frame)
        if frame.name in ("svg", "math"):
            self._foreign -= 1
        (frame.table if frame.name in names.TABLE_PARTS else frame.scope)[frame.name] -= 1
        self._top = frame.parent

    def _closed(self, frame: _Frame) -> None:
        """What the end of an element that is text does."""
        name = frame.name
        if frame.mark >= 0 and frame.serial == self._serial:
            self._parts[frame.mark :] = [self._changed(frame, "".join(self._parts[frame.mark :]))]
        elif name == "q" and self._parts:
            self._parts.append("”")
        elif name in ("text", "tspan", "mtd", "mtr") and self._parts:
            self._parts.append(" ")
        gap = names.GAPS.get(name)
        if gap is None:
            return
        self._flush()
        if name in names.HEADINGS:
            self._level = 0
        elif name == "li":
            self._prefix = ""
        if name in names.LISTS and frame.list_depth > 1:
            gap = 1
        self._gap = max(self._gap, gap)
        if frame.is_cell:
            self._sinks.pop()
        elif frame.row is not None:
            self._rows -= 1
            self._sinks[-1].extend(table_row(frame.row, frame.row_gap))
            self._gap = gap

    def _changed(self, frame: _Frame, text: str) -> str:
        """The text of an element that is set above, below or beside the line."""
        bare = text.strip()
        if not bare or _ANCHOR in bare:
            return text
        if frame.name == "rt":
            return f"（{bare}）" if _WIDE_CHAR.search(bare) else f" ({bare}) "
        if frame.name == "a":
            is_mark = frame.is_note_mark or _is_raised(frame) or bare[0] in "⁰¹²³⁴⁵⁶⁷⁸⁹"
            found = _NOTE_MARK.fullmatch(bare.translate(_LOWERED)) if is_mark else None
            return f"[{found[1].strip('[]()')}]" if found and found[1].strip("[]()") else text
        table = names.SUPERSCRIPT if frame.name == "sup" else names.SUBSCRIPT
        return text.translate(table) if _DIGITS.fullmatch(bare) else text

    def _anchor(self, identity: str) -> None:
        # Where nothing is gathered yet, the anchor is where the next block begins: marked by a NUL before its name.
        identity = identity.replace("\0", "\ufffd")
        self._anchors.append(identity if self._parts else f"\0{identity}")
        if self._parts:
            self._parts.append(_ANCHOR)


_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def _is_raised(frame: _Frame) -> bool:
    return frame.parent is not None and frame.parent.name == "sup"


def _is_hidden(attributes: dict[str, str]) -> bool:
    if not attributes:
        return False
    if "hidden" in attributes and attributes["hidden"].lower() != "until-found":
        return True
    return "style" in attributes and bool(_HIDDEN_STYLE.search(attributes["style"]))


def _in_article(frame: _Frame) -> bool:
    """Whether an element stands in an article, or in what the page calls its main text."""
    if frame.region is Region.MAIN:
        return True
    around, reach = frame.parent, _REACH
    while reach and around is not None:
        if around.name == "article":
            return True
        around, reach = around.parent, reach - 1
    return False


def _number(written: str | None, default: int = 1) -> int:
    text = (written or "").strip()
    return int(text) if len(text) <= 9 and text.removeprefix("-").isdecimal() else default


def _path(frame: _Frame) -> str:
    """The path of the block element around, from the root."""
    around: _Frame | None = frame
    while around is not None and around.parent is not None and around.name not in names.GAPS:
        around = around.parent
    if around is None or around.depth > _REACH:
        return ""
    steps = []
    while around is not None and around.parent is not None:
        steps.append(around.step)
        around = around.parent
    return "/" + "/".join(reversed(steps)) if steps else ""


def _collapsed(raw: str) -> str:
    """White space as a browser shows it, line breaks and what <pre> keeps made plain."""
    if "\u00ad" in raw:
        raw = raw.replace("\u00ad", "")
    if "\n" in raw and not raw.isascii():
        raw = _WIDE_BREAK.sub("", raw)
    text = _SPACES.sub(" ", raw).strip(" ")
    if _ANCHOR in text:
        text = _SPACED_ANCHOR.sub(r"\1 ", text)
    if _BREAK in text:
        text = text.replace(_BREAK, "\n") if _KEPT_SPACE in text else _BREAKS.sub("\n", text)
        text = text.strip("\n")
    if _KEPT_SPACE in text or _KEPT_TAB in text:
        text = text.replace(_KEPT_SPACE, " ").replace(_KEPT_TAB, "\t").rstrip()
    return text


def _placed(text: str, waiting: list[str]) -> tuple[list[tuple[int, str]], str]:
    """Where in a block its anchors stand: those before it at its start, those within it at their marks."""
    anchors = [(0, name[1:]) for name in waiting if name.startswith("\0")]
    within = [name for name in waiting if not name.startswith("\0")]
    if not within:
        return anchors, text
    parts = text.split(_ANCHOR)
    joined = "".join(parts)
    end, at = len(joined.rstrip()), 0
    for part, name in zip(parts, within, strict=False):
        at += len(part)
        anchors.append((at if at < end else len(joined), name))
    return anchors, joined


def table_row(cells: list[list[Block]], gap: int) -> list[Block]:
    """A table's row as one line; as its blocks where a cell is more than a few words."""
    blocks = [block for cell in cells for block in cell]
    if len(cells) < 2 or any(block.level for block in blocks):
        return blocks
    if any(sum(len(block.text) for block in cell) > _CELL_CHARS for cell in cells):
        return blocks
    if not blocks:
        return []
    text = ""
    anchors: list[tuple[int, str]] = []
    for number, cell in enumerate(cells):
        text += " | " if number else ""
        for place, block in enumerate(cell):
            text += " " if place else ""
            anchors.extend((len(text), name) for _, name in block.anchors)
            text += block.text.replace("\n", " ")
    first = blocks[0]
    return [Block(text.rstrip(), gap, first.at, first.element.rpartition("/")[0], first.region, 0, anchors)]
