"""The paragraphs of a part of a DOCX, in order, as text: runs, breaks, tables, text boxes, notes' marks, ruby."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.read.docx_styles import BODY_LEVEL, Styles, whole
from pipeline.read.html_flow import Block, Region, table_row
from pipeline.read.html_names import SUBSCRIPT, SUPERSCRIPT
from pipeline.read.xml_events import parse_events
from pipeline.read.zip_safe import SafeZip

# Content that is not the text as it stands: deleted, moved away, instructions of fields, other forms of the same thing.
_SKIPPED = frozenset(
    {"w:del", "w:delText", "w:moveFrom", "w:instrText", "w:delInstrText", "mc:Fallback", "w:sectPr",
     "w:annotationRef", "w:rPrChange", "w:pPrChange", "w:tblPrChange"}
)  # fmt: skip
_TABLES = 8
_MAX_INDENT = 8
_RAISED = re.compile(r"[0-9+\-−=()n]+")
_SYMBOLS = {0xB7: "•", 0xA7: "▪", 0xD8: "➢", 0xFC: "✓", 0xE0: "→", 0xDF: "←", 0xAE: "→", 0x2D: "−"}


@dataclass(slots=True)
class Paragraph:
    """A paragraph, or a table's row."""

    block: Block  # `at` is the number of its w:p in the part, from 1
    is_contents: bool = False
    is_title: bool = False
    is_list: bool = False
    notes: list[str] = field(default_factory=list)  # the keys of the notes that it marks


@dataclass(slots=True)
class _Open:
    """A paragraph that is being gathered."""

    number: int
    parts: list[str] = field(default_factory=list)
    style: str = ""
    outline: int | None = None
    numbering: tuple[str, int] | None = None
    list_id: str = ""
    list_depth: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Notes:
    """The numbers that the marks of notes are given, in order of the marks."""

    numbers: dict[str, int] = field(default_factory=dict)

    def mark(self, key: str) -> str:
        """The mark of a note in the text."""
        return f"[{self.numbers.setdefault(key, len(self.numbers) + 1)}]"


class BodyReader:
    """Reads one part: the body, or the notes, each as a list of its own."""

    def __init__(self, styles: Styles, notes: Notes) -> None:
        self._styles, self._notes = styles, notes
        self.paragraphs: list[Paragraph] = []  # finished
        self.by_note: dict[str, list[Paragraph]] = {}
        self._sinks: list[list[Paragraph]] = [self.paragraphs]
        self._rows: list[list[list[Paragraph]] | None] = []
        self._open: list[_Open] = []
        self._skip = 0
        self._in_text = False
        self._run: list[int] = []  # where the runs that are open began, in the parts
        self._raised = ""
        self._hidden = False
        self._count = 0
        self._ruby: list[str] = []
        self._note = ""

    def read(self, archive: SafeZip, entry: str, name: str) -> None:
        """Read the part. Raises ReadError."""
        with archive.open(entry) as stream:
            parse_events(stream, name, start=self._start, end=self._end, text=self._text)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "w:p":
            self._count += 1  # those that are left out too: the number is that of the element in its part
        if self._skip or name in _SKIPPED:
            self._skip += 1
            return
        handler = _STARTS.get(name)
        if handler is not None:
            handler(self, attributes)

    def _end(self, name: str) -> None:
        if self._skip:
            self._skip -= 1
            return
        handler = _ENDS.get(name)
        if handler is not None:
            handler(self)

    def _text(self, text: str) -> None:
        if self._in_text and not self._skip and self._open:
            self._open[-1].parts.append(text)

    def _add(self, text: str) -> None:
        if self._open:
            self._open[-1].parts.append(text)

    # Paragraphs

    def _p(self, attributes: dict[str, str]) -> None:
        del attributes
        self._open.append(_Open(self._count))

    def _p_end(self) -> None:
        if not self._open:
            return
        done = self._open.pop()
        text = _plain("".join(done.parts))
        if not text.strip():
            return
        outline = done.outline if done.outline is not None else self._styles.outline(done.style)
        level = outline + 1 if outline < BODY_LEVEL and not self._note else 0
        if level:
            text = " ".join(text.split())
        listing = (done.list_id, done.list_depth) if done.list_id else self._styles.number(done.style)
        label = self._styles.label(*listing) if listing and listing[0] != "0" else ""
        is_list = bool(label) and not level
        if label:
            text = "  " * min(listing[1] if listing and is_list else 0, _MAX_INDENT) + label + text
        block = Block(text, 2, done.number, "", Region.NOTE if self._note else Region.BODY, level)
        self._sinks[-1].append(
            Paragraph(
                block,
                is_contents=self._styles.is_contents(done.style),
                is_title=self._styles.is_title(done.style),
                is_list=is_list,
                notes=done.notes,
            )
        )

    def _p_style(self, attributes: dict[str, str]) -> None:
        if self._open:
            self._open[-1].style = attributes.get("w:val", "")

    def _outline(self, attributes: dict[str, str]) -> None:
        if self._open:
            self._open[-1].outline = whole(attributes.get("w:val", ""), BODY_LEVEL)

    def _num_id(self, attributes: dict[str, str]) -> None:
        if self._open:
            self._open[-1].list_id = attributes.get("w:val", "")

    def _ilvl(self, attributes: dict[str, str]) -> None:
        if self._open:
            self._open[-1].list_depth = whole(attributes.get("w:val", ""))

    # Runs

    def _r(self, attributes: dict[str, str]) -> None:
        del attributes
        self._run.append(len(self._open[-1].parts) if self._open else 0)
        self._raised, self._hidden = "", False

    def _r_end(self) -> None:
        begin = self._run.pop() if self._run else 0
        if not self._open:
            return
        parts = self._open[-1].parts
        text = "".join(parts[begin:])
        if self._hidden:
            del parts[begin:]
        elif self._raised and _RAISED.fullmatch(text.strip()):
            parts[begin:] = [text.translate(SUPERSCRIPT if self._raised == "superscript" else SUBSCRIPT)]
        self._raised, self._hidden = "", False

    def _vert(self, attributes: dict[str, str]) -> None:
        value = attributes.get("w:val", "")
        self._raised = value if value in ("superscript", "subscript") else ""

    def _vanish(self, attributes: dict[str, str]) -> None:
        self._hidden = bool(self._run) and attributes.get("w:val", "true") not in ("0", "false", "off")

    def _t(self, attributes: dict[str, str]) -> None:
        del attributes
        self._in_text = True

    def _t_end(self) -> None:
        self._in_text = False

    def _br(self, attributes: dict[str, str]) -> None:
        if attributes.get("w:type", "textWrapping") == "textWrapping":
            self._add("\n")

    def _sym(self, attributes: dict[str, str]) -> None:
        code = attributes.get("w:char", "")
        try:
            point = int(code, 16) if len(code) <= 5 else 0
        except ValueError:
            return
        if 0xF000 <= point <= 0xF0FF:
            self._add(_SYMBOLS.get(point - 0xF000, "\N{REPLACEMENT CHARACTER}"))
        elif point >= 0x20 and not 0xD800 <= point <= 0xDFFF:
            self._add(chr(point))

    def _reference(self, attributes: dict[str, str], kind: str) -> None:
        key = f"{kind}:{attributes.get('w:id', '')}"
        if self._open:
            self._open[-1].notes.append(key)
            self._add(self._notes.mark(key))

    def _picture(self, attributes: dict[str, str]) -> None:
        described = " ".join(attributes.get("descr", "").split())
        if described and self._open:
            before = self._open[-1].parts
            self._add(f"{' ' if before and before[-1][-1:].isalnum() else ''}[{described}]")

    def _rt(self, attributes: dict[str, str]) -> None:
        del attributes
        self._run.append(len(self._open[-1].parts) if self._open else 0)

    def _rt_end(self) -> None:
        # A reading stands before what it is the reading of.
        begin = self._run.pop() if self._run else 0
        if self._open:
            self._ruby.append("".join(self._open[-1].parts[begin:]))
            del self._open[-1].parts[begin:]

    def _ruby_end(self) -> None:
        reading = self._ruby.pop() if self._ruby else ""
        if reading.strip():
            self._add(f"（{reading.strip()}）")

    # Tables and notes

    def _tr(self, attributes: dict[str, str]) -> None:
        del attributes
        self._rows.append([] if sum(row is not None for row in self._rows) < _TABLES else None)

    def _tc(self, attributes: dict[str, str]) -> None:
        del attributes
        row = self._rows[-1] if self._rows else None
        if row is not None:
            row.append([])
            self._sinks.append(row[-1])

    def _tc_end(self) -> None:
        if self._rows and self._rows[-1] is not None and len(self._sinks) > 1:
            self._sinks.pop()

    def _tr_end(self) -> None:
        row = self._rows.pop() if self._rows else None
        if not row:
            return
        notes = [key for cell in row for paragraph in cell for key in paragraph.notes]
        blocks = table_row([[paragraph.block for paragraph in cell] for cell in row], 1)
        whole_cells = [paragraph for cell in row for paragraph in cell]
        if len(blocks) == len(whole_cells) and all(a is b.block for a, b in zip(blocks, whole_cells, strict=True)):
            self._sinks[-1].extend(whole_cells)
        else:
            self._sinks[-1].extend(Paragraph(block, is_list=True, notes=notes) for block in blocks)

    def _note_start(self, attributes: dict[str, str], kind: str) -> None:
        if attributes.get("w:type", "normal") != "normal":
            self._skip = 1  # a separator line, which is no note; its end is counted down as any other
            return
        self._note = f"{kind}:{attributes.get('w:id', '')}"
        self._sinks = [self.by_note.setdefault(self._note, [])]

    def _note_end(self) -> None:
        self._sinks, self._note = [self.paragraphs], ""


_STARTS: dict[str, Callable[[BodyReader, dict[str, str]], None]] = {
    "w:p": BodyReader._p,
    "w:pStyle": BodyReader._p_style,
    "w:outlineLvl": BodyReader._outline,
    "w:numId": BodyReader._num_id,
    "w:ilvl": BodyReader._ilvl,
    "w:r": BodyReader._r,
    "m:r": BodyReader._r,
    "w:vertAlign": BodyReader._vert,
    "w:vanish": BodyReader._vanish,
    "w:t": BodyReader._t,
    "m:t": BodyReader._t,
    "w:br": BodyReader._br,
    "w:cr": lambda reader, _: reader._add("\n"),
    "w:tab": lambda reader, _: reader._add("\t") if reader._run else None,
    "w:noBreakHyphen": lambda reader, _: reader._add("\u2011"),
    "w:sym": BodyReader._sym,
    "m:den": lambda reader, _: reader._add("/"),
    "m:sup": lambda reader, _: reader._add("^"),
    "m:sub": lambda reader, _: reader._add("_"),
    "w:footnoteReference": lambda reader, attributes: reader._reference(attributes, "footnote"),
    "w:endnoteReference": lambda reader, attributes: reader._reference(attributes, "endnote"),
    "wp:docPr": BodyReader._picture,
    "w:rt": BodyReader._rt,
    "w:tr": BodyReader._tr,
    "w:tc": BodyReader._tc,
    "w:footnote": lambda reader, attributes: reader._note_start(attributes, "footnote"),
    "w:endnote": lambda reader, attributes: reader._note_start(attributes, "endnote"),
}
_ENDS: dict[str, Callable[[BodyReader], None]] = {
    "w:p": BodyReader._p_end,
    "w:r": BodyReader._r_end,
    "m:r": BodyReader._r_end,
    "w:t": BodyReader._t_end,
    "m:t": BodyReader._t_end,
    "w:rt": BodyReader._rt_end,
    "w:ruby": BodyReader._ruby_end,
    "w:tr": BodyReader._tr_end,
    "w:tc": BodyReader._tc_end,
    "w:footnote": BodyReader._note_end,
    "w:endnote": BodyReader._note_end,
}


def _plain(text: str) -> str:
    """A paragraph without space around its lines; what a program keeps for itself is no text."""
    if "\0" in text or "\u00ad" in text:
        text = text.replace("\0", "").replace("\u00ad", "")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
