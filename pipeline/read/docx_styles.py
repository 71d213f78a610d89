"""What a DOCX says once for all paragraphs: styles with their outline levels, and the numbering of lists."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipeline.errors import ReadError
from pipeline.read.xml_events import parse_events
from pipeline.read.zip_safe import SafeZip

BODY_LEVEL = 9  # of an outline: no heading
_HEADING_NAME = re.compile(r"heading (\d)", re.IGNORECASE)
_CONTENTS_NAME = re.compile(r"toc (?:\d|heading)", re.IGNORECASE)
_CHAIN = 20  # styles that are based on others
_PLACEHOLDER = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_HAN = "〇一二三四五六七八九"


@dataclass(slots=True)
class Style:
    """A paragraph style."""

    name: str = ""
    based_on: str = ""
    outline: int | None = None  # 0 for the outermost heading
    number: tuple[str, int] | None = None  # (numbering id, level)


@dataclass(slots=True)
class Level:
    """A level of a numbering."""

    format: str = "decimal"
    text: str = "%1."
    start: int = 1


@dataclass(slots=True)
class Styles:
    """All of it. Counters run on while a document is read."""

    styles: dict[str, Style] = field(default_factory=dict)
    abstract: dict[str, dict[int, Level]] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)  # numbering id to the id of its abstract one
    _counts: dict[str, list[int]] = field(default_factory=dict)

    def chain(self, style_id: str) -> list[Style]:
        """A style and those it is based on, nearest first."""
        found: list[Style] = []
        while (style := self.styles.get(style_id)) is not None and len(found) < _CHAIN:
            found.append(style)
            style_id = style.based_on
        return found

    def outline(self, style_id: str) -> int:
        """The outline level of a style; BODY_LEVEL for text."""
        for style in self.chain(style_id):
            if style.outline is not None:
                return style.outline
            named = _HEADING_NAME.fullmatch(style.name)
            if named:
                return int(named[1]) - 1
        return BODY_LEVEL

    def is_contents(self, style_id: str) -> bool:
        """Whether a style is that of a table of contents' entries."""
        return any(_CONTENTS_NAME.fullmatch(style.name) for style in self.chain(style_id))

    def is_title(self, style_id: str) -> bool:
        """Whether a style is that of the document's title."""
        return any(style.name.lower() == "title" for style in self.chain(style_id)[:1])

    def number(self, style_id: str) -> tuple[str, int] | None:
        """The numbering of a style."""
        return next((style.number for style in self.chain(style_id) if style.number), None)

    def label(self, number_id: str, depth: int) -> str:
        """The bullet or number of the next paragraph of a list, a space behind it; "" where there is none."""
        levels = self.abstract.get(self.numbers.get(number_id, ""), {})
        level = levels.get(depth)
        if level is None or not 0 <= depth < 9:
            return ""
        if level.format == "bullet":
            return "- "
        counts = self._counts.setdefault(self.numbers[number_id], [0] * 9)
        counts[depth] = counts[depth] + 1 if counts[depth] else level.start
        for deeper in range(depth + 1, 9):
            counts[deeper] = 0
        if level.format == "none":
            return ""

        def shown(found: re.Match[str]) -> str:
            which = int(found[1]) - 1
            at = levels.get(which, Level())
            return _formatted(counts[which] or at.start, at.format)

        text = _PLACEHOLDER.sub(shown, level.text).strip()
        return f"{text} " if text else ""


def read_styles(archive: SafeZip, folder: str) -> Styles:
    """Styles and numbering of the parts in a folder; what is not there or damaged is done without."""
    found = Styles()
    for name, reader in (("styles.xml", _StyleEvents(found)), ("numbering.xml", _NumberEvents(found))):
        entry = archive.find(f"{folder}{name}")
        if entry is None:
            continue
        try:
            with archive.open(entry.name) as stream:
                parse_events(stream, name, start=reader.start, end=reader.end, text=_ignore)
        except ReadError:
            continue
    return found


def _ignore(text: str) -> None:
    del text


class _StyleEvents:
    def __init__(self, found: Styles) -> None:
        self._found = found
        self._style: Style | None = None
        self._number, self._depth = "", 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        value = attributes.get("w:val", "")
        if name == "w:style":
            self._style = Style()
            if attributes.get("w:type", "paragraph") == "paragraph":
                self._found.styles[attributes.get("w:styleId", "")] = self._style
            self._number, self._depth = "", 0
        elif self._style is None:
            return
        elif name == "w:name":
            self._style.name = value
        elif name == "w:basedOn":
            self._style.based_on = value
        elif name == "w:outlineLvl":
            self._style.outline = whole(value, BODY_LEVEL)
        elif name == "w:numId":
            self._number = value
        elif name == "w:ilvl":
            self._depth = whole(value)

    def end(self, name: str) -> None:
        if name == "w:style" and self._style is not None:
            if self._number:
                self._style.number = (self._number, self._depth)
            self._style = None


class _NumberEvents:
    def __init__(self, found: Styles) -> None:
        self._found = found
        self._levels: dict[int, Level] = {}
        self._level = Level()
        self._number = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        value = attributes.get("w:val", "")
        if name == "w:abstractNum":
            self._levels = self._found.abstract.setdefault(attributes.get("w:abstractNumId", ""), {})
        elif name == "w:lvl":
            self._level = Level()
            self._levels.setdefault(whole(attributes.get("w:ilvl", "")), self._level)
        elif name == "w:numFmt":
            self._level.format = value
        elif name == "w:lvlText":
            self._level.text = value
        elif name == "w:start":
            self._level.start = whole(value, 1)
        elif name == "w:num":
            self._number = attributes.get("w:numId", "")
            self._levels, self._level = {}, Level()  # what a numbering overrides is not followed
        elif name == "w:abstractNumId":
            self._found.numbers[self._number] = value

    def end(self, name: str) -> None:
        del name


def whole(text: str, default: int = 0) -> int:
    """A small whole number as it is written, or the default."""
    return int(text) if len(text) <= 6 and text.isascii() and text.isdigit() else default


def _formatted(number: int, how: str) -> str:
    if how in ("lowerLetter", "upperLetter"):
        letters = chr(ord("a") + (number - 1) % 26) * min(1 + (number - 1) // 26, 9)
        return letters.upper() if how == "upperLetter" else letters
    if how in ("lowerRoman", "upperRoman"):
        text, left = "", min(number, 9999)
        for value, numeral in _ROMAN:
            text += numeral * (left // value)
            left %= value
        return text.upper() if how == "upperRoman" else text
    if how.startswith(("chinese", "japaneseCounting", "ideograph", "taiwanese", "koreanCounting")) and number < 100:
        tens, ones = divmod(number, 10)
        lead = ("" if tens < 2 else _HAN[tens]) + "十" if tens else ""
        return lead + (_HAN[ones] if ones or not tens else "")
    return f"{number:02d}" if how == "decimalZero" else str(number)
