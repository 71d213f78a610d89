"""Several files that are one book: their texts joined in order, their chapters one count, each line led back to its
file.

Nothing of a text changes but that each part ends its last line. Where all parts are plain text, the book's structure
is found over the whole, so that volumes hold the chapters of later files and a missing file shows as a missing
chapter; else each part keeps its own. A part without any heading is a chapter called as its file is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from pipeline.errors import EmptyError, ReadError
from pipeline.read.places import PlaceKind, Places
from pipeline.read.reading import LineEnding, Reading, ReadOptions, ReadWarning, Section, SectionKind, Source
from pipeline.read.scan import Scanner
from pipeline.read.structure import PartStart, structure_of
from pipeline.read.tree import Structure

JOINED = "joined"
_PLAIN = "text/plain"
_OWN_KINDS = (SectionKind.CHAPTER, SectionKind.VOLUME, SectionKind.HEADING)

Read = Callable[[Source, ReadOptions], Reading]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A file of a book: its name within the folder or archive, and its bytes."""

    name: str
    source: Source


@dataclass(frozen=True, kw_only=True, slots=True)
class _Placed:
    """A part that was read, and where its text begins in the whole."""

    part: Part
    reading: Reading
    start: int
    line: int

    @property
    def start_of(self) -> PartStart:
        head = next(self.reading.blocks(), "")
        shown = self.start + len(head) - len(head.lstrip())
        return PartStart(start=self.start, line=self.line, shown=shown, title=PurePosixPath(self.part.name).stem)


def read_joined(name: str, parts: Sequence[Part], options: ReadOptions, read: Read) -> Reading:
    """One reading of all parts. Empty parts are left out with a warning. Raises ReadError when a part is unreadable."""
    readings, warnings = _read_all(parts, options, read)
    if not readings:
        raise EmptyError(f"{name} is empty")
    scanner = Scanner() if all(reading.media_type == _PLAIN for _, reading in readings) else None
    digest, placed, chars, lines = hashlib.sha256(), [], 0, 0
    for number, (part, reading) in enumerate(readings):
        placed.append(_Placed(part=part, reading=reading, start=chars, line=lines + 1))
        for block in _blocks_of(reading, is_last=number == len(readings) - 1):
            digest.update(block.encode())
            chars += len(block)
            lines += block.count("\n")
            last = block[-1]
            if scanner is not None:
                scanner(block)
    line_count = lines + (last != "\n")
    structure = _structure(scanner, placed, chars, line_count)
    return Reading(
        media_type=placed[0].reading.media_type,
        reader=f"{JOINED}+{placed[0].reading.reader}",
        reader_version=placed[0].reading.reader_version,
        encoding=", ".join(dict.fromkeys(one.reading.encoding for one in placed)),
        title=structure.title,
        source_sha256=digest_of((one.part.name, one.reading.source_sha256) for one in placed),
        text_sha256=digest.digest(),
        byte_count=sum(one.reading.byte_count for one in placed),
        char_count=chars,
        line_count=line_count,
        sections=structure.sections,
        line_endings=_line_endings(placed),
        places=_places(placed),
        warnings=(*warnings, *(_moved(one, warning) for one in placed for warning in _own(one, scanner)),
                  *structure.warnings),
        blocks=lambda: _joined_blocks([one.reading for one in placed]),
    )  # fmt: skip


def digest_of(parts: Iterator[tuple[str, bytes]]) -> bytes:
    """The hash of a book in parts, from the names and hashes of its parts in order."""
    digest = hashlib.sha256()
    for name, sha in parts:
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0" + sha)
    return digest.digest()


def _read_all(
    parts: Sequence[Part], options: ReadOptions, read: Read
) -> tuple[list[tuple[Part, Reading]], list[ReadWarning]]:
    readings, warnings = [], []
    for part in parts:
        try:
            readings.append((part, read(part.source, options)))
        except EmptyError:
            warnings.append(ReadWarning(code="part-empty", message=f"{part.name} is empty and was left out"))
        except ReadError as error:
            hint = error.hint or "leave it out of the folder, or name the files of the book one by one"
            raise ReadError(error.message, cause=error.cause, hint=hint) from error
    return readings, warnings


def _joined_blocks(readings: Sequence[Reading]) -> Iterator[str]:
    for number, reading in enumerate(readings):
        yield from _blocks_of(reading, is_last=number == len(readings) - 1)


def _blocks_of(reading: Reading, *, is_last: bool) -> Iterator[str]:
    """The text of a part; its last line is ended, but for that of the last part."""
    last = ""
    for block in reading.blocks():
        last = block[-1:] or last
        yield block
    if last != "\n" and not is_last:
        yield "\n"


def _structure(scanner: Scanner | None, placed: Sequence[_Placed], chars: int, line_count: int) -> Structure:
    if scanner is not None:
        scanner.finish()
        return structure_of(scanner, line_count, parts=[one.start_of for one in placed])
    sections: list[Section] = []
    for one, following in zip(placed, [*placed[1:], None], strict=True):
        end = chars if following is None else following.start
        last_line = line_count if following is None else following.line - 1
        sections.extend(_shifted(one, len(sections), end, last_line))
    return Structure(title=None, sections=tuple(sections), warnings=())


def _shifted(one: _Placed, base: int, end: int, last_line: int) -> Iterator[Section]:
    """The sections of a part where they stand in the whole; a part that has no heading is a chapter itself."""
    found = one.reading.sections
    if not any(section.kind in _OWN_KINDS for section in found):
        title = one.reading.title or one.start_of.title
        yield Section(ordinal=base, parent=None, level=1, kind=SectionKind.CHAPTER, title=title, start=one.start,
                      end=end, start_line=one.line, end_line=last_line)  # fmt: skip
        return
    for section in found:
        to_the_end = section.end == one.reading.char_count
        yield replace(
            section,
            ordinal=base + section.ordinal,
            parent=None if section.parent is None else base + section.parent,
            start=one.start + section.start,
            end=end if to_the_end else one.start + section.end,
            start_line=one.line + section.start_line - 1,
            end_line=last_line if to_the_end else one.line + section.end_line - 1,
        )


def _line_endings(placed: Sequence[_Placed]) -> tuple[LineEnding, ...]:
    runs: list[LineEnding] = []
    for one in placed:
        for run in one.reading.line_endings:
            if not runs or runs[-1].width != run.width:
                runs.append(LineEnding(first_line=one.line + run.first_line - 1, width=run.width))
    return tuple(runs)


def _places(placed: Sequence[_Placed]) -> Places | None:
    """The way back to file and line; of formats with places of their own, those of each part. None of a mixture."""
    names = tuple(one.part.name for one in placed)
    inner = [one.reading.places for one in placed]
    if not any(inner):
        return Places(kind=PlaceKind.FILE, parts=names, starts=[one.start for one in placed],
                      part=range(len(placed)), numbers=[one.line - 1 for one in placed],
                      elements=[""] * len(placed))  # fmt: skip
    lines = [places for places in inner if places is not None and places.kind is PlaceKind.LINE]
    if len(lines) < len(placed):
        return None
    return Places(
        kind=PlaceKind.ITEM,
        parts=names,
        starts=[one.start + start for one, places in zip(placed, lines, strict=True) for start in places.starts],
        part=[number for number, places in enumerate(lines) for _ in places.starts],
        numbers=[number for places in lines for number in places.numbers],
        elements=[element for places in lines for element in places.elements],
    )


def _own(one: _Placed, scanner: Scanner | None) -> Iterator[ReadWarning]:
    """What a part's own reading noticed; of headings only where the whole has not been looked at for them."""
    about_headings = ("chapter-", "heading-", "side-chapter", "author-note", "site-banner")
    for warning in one.reading.warnings:
        if scanner is None or not warning.code.startswith(about_headings):
            yield warning


def _moved(one: _Placed, warning: ReadWarning) -> ReadWarning:
    line = None if warning.line is None else one.line + warning.line - 1
    return replace(warning, message=f"{one.part.name}: {warning.message}", line=line)
