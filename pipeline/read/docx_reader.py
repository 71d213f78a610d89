"""The reader for DOCX (ECMA-376 WordprocessingML)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.errors import ReadError
from pipeline.read.decode import encoding_name
from pipeline.read.derived import Spot, TextMaker, digest_of, structure_from
from pipeline.read.docx_body import BodyReader, Notes, Paragraph
from pipeline.read.docx_styles import read_styles
from pipeline.read.epub_package import inside
from pipeline.read.html_reader import MAX_HEADING, heading_marks, notes_mark
from pipeline.read.places import PlaceKind
from pipeline.read.reading import Reading, ReadOptions, ReadWarning, SectionKind, Source
from pipeline.read.tree import Mark
from pipeline.read.xml_events import parse_events
from pipeline.read.zip_safe import SafeZip, ZipLimitError, open_zip

_SHORT_ITEM = 300


class DocxReader:
    """A Word document: its paragraphs, headings by outline level, tables as rows, notes kept apart.

    Left out are headers and footers of pages, comments, hidden text and what tracked changes deleted.
    """

    name = "docx"
    version = 1
    media_types: tuple[str, ...] = ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",)

    def read(self, source: Source, options: ReadOptions) -> Reading:
        """Read the document. Raises ReadError when it is damaged or has no text."""
        if options.encoding is not None:
            encoding_name(options.encoding)
        digest = digest_of(source)
        with open_zip(source) as archive:
            document = _Document(archive)
            document.read()
        document.maker.finish()
        marks = document.marks()
        structure = structure_from(document.maker, marks, document.title or None)
        return document.maker.reading(
            self,
            structure,
            encoding="utf-8",
            digest=digest,
            warnings=(*archive.warnings, *document.warnings),
            authors=document.authors,
            language=document.language or None,
        )


@dataclass(slots=True)
class _Document:
    archive: SafeZip
    maker: TextMaker = field(init=False)
    title: str = ""
    authors: list[str] = field(default_factory=list)
    language: str = ""
    warnings: list[ReadWarning] = field(default_factory=list)
    _headings: list[tuple[Spot, int, str]] = field(default_factory=list)
    _contents: list[tuple[Spot, Spot]] = field(default_factory=list)  # first spot, and that of what comes behind
    _notes: list[Spot] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.maker = TextMaker(name=self.archive.name, kind=PlaceKind.PARAGRAPH)

    def read(self) -> None:
        """Read all parts, and make the text."""
        main = _main_part(self.archive)
        folder = main.rpartition("/")[0] + "/" if "/" in main else ""
        self._properties()
        styles, notes = read_styles(self.archive, folder), Notes()
        body = BodyReader(styles, notes)
        body.read(self.archive, main, self.archive.name)
        texts = self._note_texts(folder, BodyReader(styles, notes))
        self._write(main, folder, body.paragraphs, texts, notes)

    def _note_texts(self, folder: str, reader: BodyReader) -> dict[str, list[Paragraph]]:
        for name in ("footnotes.xml", "endnotes.xml"):
            entry = self.archive.find(folder + name)
            if entry is None:
                continue
            try:
                reader.read(self.archive, entry.name, name)
            except ZipLimitError:
                raise
            except ReadError as error:
                self.warnings.append(ReadWarning(code="notes-unreadable", message=error.message))
        return reader.by_note

    def _write(
        self,
        main: str,
        folder: str,
        paragraphs: Sequence[Paragraph],
        texts: dict[str, list[Paragraph]],
        notes: Notes,
    ) -> None:
        """Add the paragraphs, and before each outermost heading the notes of what stands before it."""
        self.maker.part(main)
        top = min((one.block.level for one in paragraphs if one.block.level), default=0)
        waiting: list[str] = []
        before: Paragraph | None = None
        contents: Spot | None = None
        for paragraph in paragraphs:
            block = paragraph.block
            if block.level == top and top and waiting:
                self._write_notes(waiting, texts, notes, folder)
                before = None
            spot = self.maker.add(block.text, gap=_gap(before, paragraph), number=block.at, part=0)
            if contents is not None and not paragraph.is_contents:
                self._contents.append((contents, spot))
                contents = None
            if paragraph.is_contents:
                contents = contents or spot
            elif block.level and len(block.text) <= MAX_HEADING:
                self._headings.append((spot, block.level, block.text))
            if paragraph.is_title and not self.title:
                self.title = " ".join(block.text.split())
            waiting.extend(paragraph.notes)
            before = paragraph
        self._write_notes(waiting, texts, notes, folder)

    def _write_notes(self, keys: list[str], texts: dict[str, list[Paragraph]], notes: Notes, folder: str) -> None:
        first = None
        for key in keys:
            part = f"{folder}{key.partition(':')[0]}s.xml"
            for number, paragraph in enumerate(texts.get(key, ())):
                if part not in self.maker.parts:
                    self.maker.part(part)
                text = paragraph.block.text if number else f"{notes.mark(key)} {paragraph.block.text}"
                index = self.maker.parts.index(part)
                spot = self.maker.add(text, gap=1 if first else 2, number=paragraph.block.at, part=index)
                first = first or spot
        if first is not None:
            self._notes.append(first)
        keys.clear()

    def marks(self) -> list[Mark]:
        """The marks of headings, tables of contents and notes, in order."""
        marks = heading_marks(self._headings)
        if not marks:
            return []
        depth = min(mark.depth for mark in marks)
        for spot in self._notes:
            marks.append(notes_mark(spot, depth=depth + 1))
        for first, behind in self._contents:
            title = self.maker.between(first.start, behind.start).split("\n", 1)[0][:80]
            marks.append(Mark(start=first.start, line=first.line, depth=depth, kind=SectionKind.CONTENTS, title=title,
                              is_leaf=True))  # fmt: skip
            if all(mark.start != behind.start for mark in marks):
                marks.append(Mark(start=behind.start, line=behind.line, depth=depth, kind=SectionKind.FRONT,
                                  title="", is_leaf=True))  # fmt: skip
        return sorted(marks, key=lambda mark: mark.start)

    def _properties(self) -> None:
        """Title, author and language from the document's properties."""
        entry = self.archive.find("docProps/core.xml")
        if entry is None:
            return
        found: dict[str, str] = {}
        opened: list[str] = []

        def on_text(text: str) -> None:
            if opened and opened[-1].startswith("dc:"):
                found[opened[-1]] = found.get(opened[-1], "") + text

        def on_end(name: str) -> None:
            del name
            opened.pop()

        try:
            with self.archive.open(entry.name) as stream:
                parse_events(
                    stream,
                    "docProps/core.xml",
                    start=lambda name, _: opened.append(name),
                    end=on_end,
                    text=on_text,
                )
        except ZipLimitError:
            raise
        except ReadError:
            return
        self.title = " ".join(found.get("dc:title", "").split())
        self.language = found.get("dc:language", "").strip()
        self.authors = [name.strip() for name in found.get("dc:creator", "").split(";") if name.strip()]


def _gap(before: Paragraph | None, paragraph: Paragraph) -> int:
    """Line feeds between two paragraphs: rows and short items of a list stand close together."""
    if before is None:
        return 2
    close = before.is_list and paragraph.is_list and len(before.block.text) < _SHORT_ITEM
    return 1 if close or (before.is_contents and paragraph.is_contents) else 2


def _main_part(archive: SafeZip) -> str:
    """The part that is the document, by the package's relationships. Raises ReadError when there is none."""
    found: list[str] = []

    def on_start(name: str, attributes: dict[str, str]) -> None:
        if name == "rel:Relationship" and attributes.get("Type", "").endswith("/officeDocument"):
            found.append(inside("", "/" + attributes.get("Target", "").lstrip("/")))

    entry = archive.find("_rels/.rels")
    if entry is not None:
        with archive.open(entry.name) as stream:
            parse_events(stream, archive.name, start=on_start, end=lambda _: None, text=lambda _: None)
    for name in [*found, "word/document.xml"]:
        part = archive.find(name) if name else None
        if part is not None:
            return part.name
    raise ReadError(f"{archive.name} is a Word document without a text: it has no word/document.xml")
