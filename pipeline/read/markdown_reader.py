"""The reader for Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.read.chapter_words import CHAPTER_RANK
from pipeline.read.chapters import heading_of
from pipeline.read.markdown import MarkdownScanner
from pipeline.read.markdown_blocks import MAX_HEADINGS, MarkdownHeading
from pipeline.read.reading import Reading, ReadOptions, ReadWarning, SectionKind, Source
from pipeline.read.scan import Scanner
from pipeline.read.structure import structure_of
from pipeline.read.survey import reading_of, survey, text_blocks
from pipeline.read.tree import Mark, Structure, first_line, sections_from

_TOO_MANY = ReadWarning(
    code="too-many-headings", message=f"there are more than {MAX_HEADINGS} headings; those after them are not sections"
)


class MarkdownReader:
    """Markdown in any encoding: its headings, or where it has none its chapter lines."""

    name = "markdown"
    version = 1
    media_types: tuple[str, ...] = ("text/markdown",)

    def read(self, source: Source, options: ReadOptions) -> Reading:
        """Read the source once to the end; again for chapter lines when it has no heading."""
        scanner = MarkdownScanner()

        def new_sink() -> MarkdownScanner:
            nonlocal scanner
            scanner = MarkdownScanner()
            return scanner

        found = survey(source, options, new_sink)
        scanner.finish()
        if scanner.headings:
            return reading_of(source, found, self, _structure(scanner, found.line_count))
        plain = Scanner()
        for block in text_blocks(source, found.encoding, found.source_sha256):
            plain(block)
        plain.finish()
        structure = structure_of(plain, found.line_count)
        return reading_of(source, found, self, Structure(title=scanner.title or structure.title,
                                                         sections=structure.sections,
                                                         warnings=structure.warnings))  # fmt: skip


def _structure(scanner: MarkdownScanner, line_count: int) -> Structure:
    headings = scanner.headings
    marks = [
        Mark(start=one.start, line=one.line, depth=one.level, level=one.level, kind=kind, title=one.title)
        for one, kind in zip(headings, _kinds([one.title for one in headings]), strict=True)
    ]
    if headings[0].start:
        front = first_line(scanner.head[: headings[0].start])
        marks.insert(0, Mark(start=0, line=1, depth=0, kind=SectionKind.FRONT, title=front, is_leaf=True))
    return Structure(
        title=scanner.title or _only_top_heading(headings),
        sections=sections_from(marks, scanner.length, line_count),
        warnings=(_TOO_MANY,) if scanner.overfull else (),
    )


def _kinds(titles: Sequence[str]) -> list[SectionKind]:
    """Headings that read as chapters or volumes are such at whatever level: below a book's title they stand at two.

    A prologue is one of them where the document has chapters; anywhere else such a word is a heading like others.
    """
    found = [heading_of(title) for title in titles]
    book = any(one is not None and one.sure for one in found)
    return [
        SectionKind.HEADING
        if one is None or not (one.sure or (book and one.unit == "named"))
        else SectionKind.CHAPTER
        if one.rank >= CHAPTER_RANK
        else SectionKind.VOLUME
        for one in found
    ]


def _only_top_heading(headings: Sequence[MarkdownHeading]) -> str | None:
    """The first heading names the document when it alone stands at level one."""
    tops = [heading for heading in headings if heading.level == 1]
    return tops[0].title or None if len(tops) == 1 and tops[0] is headings[0] else None
