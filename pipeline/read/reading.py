"""What a reader hands over: one text, its sections and the way back to the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO, Protocol

from pipeline.errors import one_line
from pipeline.read.places import Places


class SectionKind(StrEnum):
    """What a section of a document is to its reader."""

    FRONT = "front"  # text before the first heading
    CHAPTER = "chapter"  # a chapter line, or whatever the book's own table of contents names
    VOLUME = "volume"  # a volume, part or book that holds chapters
    HEADING = "heading"  # a Markdown (or other markup) heading
    CONTENTS = "contents"  # the table of contents at the front
    BOILERPLATE = "boilerplate"  # licence blocks and site banners: not the book's own words
    NOTES = "notes"  # footnotes and endnotes, kept apart from the text that they belong to


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One node of the section tree, in reading order.

    `start` and `end` are character offsets into the text; `end` is where the subtree ends, so a parent covers its
    children. `start_line` is 1-based; `end_line` is the last line that has a character of the section.
    """

    ordinal: int  # place in reading order, from 0
    parent: int | None  # ordinal of the parent, None at the top
    level: int  # 1 at the top of the tree; a Markdown heading keeps its own level
    kind: SectionKind
    title: str  # the heading as a reader names it, without markers or surrounding space
    start: int
    end: int
    start_line: int
    end_line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LineEnding:
    """From `first_line` (1-based) on, each line of the source ends in `width` characters (2 = CR LF, 1 = LF or CR)."""

    first_line: int
    width: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadWarning:
    """Something a person should know of a source that was read all the same."""

    code: str  # stable and short, such as "invalid-bytes"
    message: str
    line: int | None = None
    byte_offset: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", one_line(self.message))


class Source(Protocol):
    """Bytes that can be read more than once, from the start."""

    @property
    def name(self) -> str:
        """The name a person knows it by, fit for printing."""

    def open(self) -> BinaryIO:
        """Open the bytes for reading; the caller closes them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """What the caller decides about a reading."""

    encoding: str | None = None  # forced; None = found


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One reading of a source. `blocks` streams the text (LF line ends, no BOM) anew at each call."""

    media_type: str
    reader: str
    reader_version: int
    encoding: str
    title: str | None  # the document's own title where it states one
    source_sha256: bytes
    text_sha256: bytes  # of the text as UTF-8
    byte_count: int
    char_count: int
    line_count: int
    sections: tuple[Section, ...]
    line_endings: tuple[LineEnding, ...]
    warnings: tuple[ReadWarning, ...]
    blocks: Callable[[], Iterator[str]]
    authors: tuple[str, ...] = ()
    language: str | None = None  # as the document states it, such as "en-GB"
    places: Places | None = None  # the way back, of formats whose lines are not the text's


class Reader(Protocol):
    """Turns the bytes of one family of media types into a reading."""

    name: str
    version: int  # a new version makes unchanged files stale
    media_types: tuple[str, ...]

    def read(self, source: Source, options: ReadOptions) -> Reading:
        """Read the source once to the end. Raises ReadError with a message a person can act on."""
