"""A text that a reader makes itself, block by block, from a format that is no text: with places that lead back."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pipeline.errors import EmptyError, ReadError
from pipeline.read.places import PlaceKind, Places
from pipeline.read.reading import Reader, Reading, ReadWarning, SectionKind, Source
from pipeline.read.scan import Scanner
from pipeline.read.spans import boilerplate_spans
from pipeline.read.structure import structure_of
from pipeline.read.tree import Mark, Structure, first_line, sections_from

MAX_CHARS = 200_000_000  # more text than this in one book is an error: it would not fit in memory beside its parts
_PIECE = 1 << 18


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """A place in the text that is being made."""

    start: int
    line: int
    inline: bool = False


@dataclass(slots=True)
class TextMaker:
    """Gathers blocks. `name` is the source's, for messages."""

    name: str
    kind: PlaceKind
    length: int = 0
    lines: int = 0
    parts: list[str] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _held: int = 0
    _sealed: list[bytes] = field(default_factory=list)
    _starts: array[int] = field(default_factory=lambda: array("q"))
    _part: array[int] = field(default_factory=lambda: array("q"))
    _numbers: array[int] = field(default_factory=lambda: array("q"))
    _elements: list[str] = field(default_factory=list)
    _hash: hashlib._Hash = field(default_factory=hashlib.sha256)
    scanner: Scanner = field(default_factory=Scanner)

    def part(self, name: str) -> None:
        """What is added from now on comes from this part of the source."""
        self.parts.append(name)

    def add(self, text: str, *, gap: int, number: int, element: str = "", part: int | None = None) -> Spot:
        """Add a block, `gap` line feeds behind the one before. `number` is its line, paragraph or page in its part."""
        if self.length:
            self._write("\n" * max(1, gap))
        spot = Spot(start=self.length, line=self.lines + 1)
        self._starts.append(self.length)
        self._part.append(len(self.parts) - 1 if part is None else part)
        self._numbers.append(number)
        self._elements.append(element)
        self._write(text)
        if self.length > MAX_CHARS:
            raise ReadError(f"{self.name} has more than {MAX_CHARS // 1_000_000} million characters of text")
        return spot

    def turn(self, start: int, *, number: int, part: int) -> None:
        """From a character within the last block on, the text comes from another place of the source."""
        self._starts.append(start)
        self._part.append(part)
        self._numbers.append(number)
        self._elements.append("")

    def _write(self, text: str) -> None:
        self._pieces.append(text)
        self.length += len(text)
        self.lines += text.count("\n")
        self._held += len(text)
        if self._held >= _PIECE:
            self._seal()

    def _seal(self) -> None:
        text = "".join(self._pieces)
        data = text.encode("utf-8", "replace")
        self._hash.update(data)
        self._sealed.append(data)
        self.scanner(text)
        self._pieces.clear()
        self._held = 0

    def finish(self) -> None:
        """End the text with a line feed. Raises EmptyError when there is none."""
        if not self.length:
            raise EmptyError(f"{self.name} is empty: there is no text in it")
        self._write("\n")
        self._seal()
        self.scanner.finish()

    def blocks(self) -> Iterator[str]:
        """The text, in pieces."""
        return (data.decode("utf-8") for data in self._sealed)

    def between(self, start: int, end: int) -> str:
        """A part of the text."""
        found, at = [], 0
        for piece in self.blocks():
            if at < end and at + len(piece) > start:
                found.append(piece[max(0, start - at) : end - at])
            at += len(piece)
        return "".join(found)

    def reading(
        self,
        reader: Reader,
        structure: Structure,
        *,
        encoding: str,
        digest: tuple[bytes, int],
        warnings: Sequence[ReadWarning] = (),
        authors: Sequence[str] = (),
        language: str | None = None,
    ) -> Reading:
        """The reading of a finished text. `digest` is the source's SHA-256 and size in bytes."""
        return Reading(
            media_type=reader.media_types[0],
            reader=reader.name,
            reader_version=reader.version,
            encoding=encoding,
            title=structure.title,
            authors=tuple(authors),
            language=language,
            source_sha256=digest[0],
            text_sha256=self._hash.digest(),
            byte_count=digest[1],
            char_count=self.length,
            line_count=self.lines,
            sections=structure.sections,
            line_endings=(),
            warnings=(*warnings, *structure.warnings),
            places=Places(
                kind=self.kind,
                parts=tuple(self.parts),
                starts=self._starts,
                part=self._part,
                numbers=self._numbers,
                elements=tuple(self._elements),
            ),
            blocks=self.blocks,
        )


def digest_of(source: Source) -> tuple[bytes, int]:
    """SHA-256 of a source's bytes, and how many they are. Raises ReadError."""
    digest, size = hashlib.sha256(), 0
    with source.open() as stream:
        try:
            while data := stream.read(1 << 20):
                digest.update(data)
                size += len(data)
        except OSError as error:
            raise ReadError(f"{source.name} cannot be read: {error.strerror or error}") from error
    return digest.digest(), size


def structure_from(maker: TextMaker, marks: Sequence[Mark], title: str | None) -> Structure:
    """The structure that a format's own marks make, licence blocks set apart; chapter lines where there are none."""
    if not marks:
        found = structure_of(maker.scanner, maker.lines)
        return Structure(title=title or found.title, sections=found.sections, warnings=found.warnings)
    kept = _with_boilerplate(maker, list(marks))
    if kept[0].start:
        front = first_line(maker.scanner.head[: kept[0].start])
        kept.insert(0, Mark(start=0, line=1, depth=0, kind=SectionKind.FRONT, title=front, is_leaf=True))
    maker.scanner.candidates.clear()
    return Structure(title=title, sections=sections_from(kept, maker.length, maker.lines), warnings=())


def _with_boilerplate(maker: TextMaker, marks: list[Mark]) -> list[Mark]:
    """The marks outside of licence blocks, and marks of those blocks and of what stands behind them."""
    for span in boilerplate_spans(maker.scanner, maker.lines):
        after = next((mark.start for mark in marks if mark.start >= span.end), maker.length)
        marks = [mark for mark in marks if not span.start <= mark.start < span.end]
        title = first_line(maker.between(span.start, min(span.end, span.start + 500))) or span.title
        marks.append(Mark(start=span.start, line=span.line, depth=0, kind=SectionKind.BOILERPLATE, title=title,
                          is_leaf=True, inline=span.inline))  # fmt: skip
        behind = maker.between(span.end, after)
        if behind.strip():
            marks.append(Mark(start=span.end, line=span.end_line, depth=0, kind=SectionKind.FRONT,
                              title=first_line(behind), is_leaf=True, inline=span.ends_inline))  # fmt: skip
        marks.sort(key=lambda mark: mark.start)
    return marks
