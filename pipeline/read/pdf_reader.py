"""The reader for PDF with a text layer."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from pipeline.errors import ReadError
from pipeline.read.decode import encoding_name
from pipeline.read.derived import Spot, TextMaker, digest_of, structure_from
from pipeline.read.epub_contents import Entry
from pipeline.read.epub_marks import contents_kinds
from pipeline.read.html_reader import heading_marks
from pipeline.read.pdf_layout import Layout, Paragraph, layout
from pipeline.read.pdf_lines import Bookmark, Extract, extract
from pipeline.read.places import PlaceKind
from pipeline.read.reading import Reading, ReadOptions, ReadWarning, SectionKind, Source
from pipeline.read.tree import Mark

MAX_BYTES = 256 << 20
_LISTED = 8
_NO_TEXT = 8  # characters a page of pictures may have: its number
_LARGER = 1.15  # than the body: a heading
_TITLE = 1.4  # of the body: the title on a first page
_LONGEST = 200
_MOST_HEADINGS = 0.25  # of all characters
_NO_TITLE = re.compile(r"untitled.*|microsoft word.*|.*\.(?:docx?|pdf|tex|dvi|indd|qxd)", re.IGNORECASE)
_NO_LETTERS = re.compile(r"[\W_]+")


class PdfReader:
    """A PDF: paragraphs put together from lines, page by page; its outline, or its larger lines, as sections."""

    name = "pdf"
    version = 1
    media_types: tuple[str, ...] = ("application/pdf",)

    def read(self, source: Source, options: ReadOptions) -> Reading:
        """Read the text layer. Raises ReadError when there is none, or the PDF is encrypted or damaged."""
        if options.encoding is not None:
            encoding_name(options.encoding)
        digest = digest_of(source)
        if digest[1] > MAX_BYTES:
            raise ReadError(f"{source.name} is a PDF of {digest[1] >> 20} MiB, more than the {MAX_BYTES >> 20} allowed")
        with source.open() as stream:
            found = extract(stream.read(), source.name)
        _check_text_layer(found, source.name)
        pages = layout(found.lines)
        maker = TextMaker(name=source.name, kind=PlaceKind.PAGE)
        for label in found.labels:
            maker.part(label)
        spots = [_add(maker, paragraph, 2) for paragraph in pages.paragraphs]
        notes = [_add(maker, note, 1 if number else 2) for number, (_, note) in enumerate(pages.notes)]
        maker.finish()
        marks = _marks(found.outline, pages, spots)
        marks = _with_contents(maker, marks, pages.paragraphs, spots)
        if notes and marks:
            marks.append(Mark(start=notes[0].start, line=notes[0].line, depth=0, kind=SectionKind.NOTES, title="Notes",
                              is_leaf=True))  # fmt: skip
        title = found.title if found.title and not _NO_TITLE.fullmatch(found.title) else _largest(pages)
        structure = structure_from(maker, marks, title or None)
        return maker.reading(self, structure, encoding="utf-8", digest=digest, warnings=_warnings(found, pages),
                             authors=[found.author] if found.author else [])  # fmt: skip


def _add(maker: TextMaker, paragraph: Paragraph, gap: int) -> Spot:
    spot = maker.add(paragraph.text, gap=gap, number=paragraph.page + 1, part=paragraph.page)
    for offset, page in paragraph.turns:
        maker.turn(spot.start + offset, number=page + 1, part=page)
    return spot


def _check_text_layer(found: Extract, name: str) -> None:
    count = len(found.labels)
    if len(found.damaged) == count:
        raise ReadError(f"{name} is a damaged PDF: none of its {count} pages can be read")
    letters = sum(len(line.text) for line in found.lines)
    if letters <= _NO_TEXT * count and letters < 200:
        pages = "its page is a picture" if count == 1 else f"its {count} pages are pictures"
        raise ReadError(
            f"{name} is a PDF without a text layer: {pages}", hint="a program for text recognition (OCR) can add one"
        )


def _warnings(found: Extract, pages: Layout) -> list[ReadWarning]:
    told = []
    for code, what, numbers in (
        ("pages-without-text", "pages without text, which may be pictures", found.empty),
        ("pages-unreadable", "pages are damaged and were left out", found.damaged),
    ):
        if numbers:
            more = f" and {len(numbers) - _LISTED} more" if len(numbers) > _LISTED else ""
            listed = ", ".join(str(number + 1) for number in numbers[:_LISTED])
            told.append(ReadWarning(code=code, message=f"{what}: {listed}{more}"))
    if pages.heads:
        message = f"{pages.heads} running heads and page numbers were left out"
        told.append(ReadWarning(code="running-heads-left-out", message=message))
    return told


def _marks(outline: Sequence[Bookmark], pages: Layout, spots: Sequence[Spot]) -> list[Mark]:
    """Marks by the outline; where there is none, by lines that are set larger than the text."""
    placed = [(mark, place) for mark, place in _located(outline, pages.paragraphs) if place is not None]
    if len(placed) > 1:
        kinds = contents_kinds([Entry(mark.title, mark.depth, "", "") for mark, _ in placed])
        marks = [
            Mark(start=spots[place].start, line=spots[place].line, depth=mark.depth + 1, kind=kind, title=mark.title)
            for (mark, place), kind in zip(placed, kinds, strict=True)
        ]
        return _distinct(sorted(marks, key=lambda mark: mark.start))
    return _distinct(heading_marks(_larger(pages, spots)))


def _distinct(marks: list[Mark]) -> list[Mark]:
    """Leave out marks that another one right at their place would leave nothing of."""
    kept: list[Mark] = []
    for mark in marks:
        if not (kept and kept[-1].start == mark.start and kept[-1].depth >= mark.depth):
            kept.append(mark)
    return kept


def _located(outline: Sequence[Bookmark], paragraphs: Sequence[Paragraph]) -> list[tuple[Bookmark, int | None]]:
    """The paragraph that each entry of an outline leads to: by its words, else by its height on the page."""
    first_of = [paragraph.page for paragraph in paragraphs]
    found: list[tuple[Bookmark, int | None]] = []
    at = 0
    for mark in outline:
        if mark.page is None:
            found.append((mark, None))
            continue
        begin, end = bisect_left(first_of, mark.page), bisect_left(first_of, mark.page + 1)
        words = _letters(mark.title)
        named = [
            index
            for index in range(begin, end)
            if words and words in _letters(paragraphs[index].text[: len(mark.title) + 40])
        ]
        below = [index for index in range(begin, end) if mark.y is None or paragraphs[index].y <= mark.y + 2]
        later = [index for index in named if index >= at]
        place = next(iter(later or named or below), begin if begin < len(paragraphs) else None)
        found.append((mark, place))
        if place is not None:
            at = max(at, place)
    return found


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text).casefold()


def _larger(pages: Layout, spots: Sequence[Spot]) -> list[tuple[Spot, int, str]]:
    """Short paragraphs that are set larger than the text: (spot, level by size, title)."""
    chosen = [
        (index, round(paragraph.height * 2) / 2)
        for index, paragraph in enumerate(pages.paragraphs)
        if paragraph.height >= _LARGER * pages.body
        and len(paragraph.text) <= _LONGEST
        and paragraph.lines <= 3
        and not paragraph.is_contents
        and any(char.isalpha() for char in paragraph.text)
    ]
    large = sum(len(pages.paragraphs[index].text) for index, _ in chosen)
    if len(chosen) < 2 or large > _MOST_HEADINGS * sum(len(paragraph.text) for paragraph in pages.paragraphs):
        return []
    sizes = Counter(size for _, size in chosen)
    levels = {size: level for level, size in enumerate(sorted(sizes, reverse=True), 1)}
    return [
        (spots[index], min(levels[size], 6), " ".join(pages.paragraphs[index].text.split())) for index, size in chosen
    ]


def _largest(pages: Layout) -> str:
    """The largest short line at the top of the first page, where it is much larger than the text; else ""."""
    first = [one for one in pages.paragraphs[:4] if one.page == pages.paragraphs[0].page and len(one.text) <= _LONGEST]
    best = max(first, key=lambda one: one.height, default=None)
    return " ".join(best.text.split()) if best is not None and best.height >= _TITLE * pages.body else ""


def _with_contents(
    maker: TextMaker, marks: list[Mark], paragraphs: Sequence[Paragraph], spots: Sequence[Spot]
) -> list[Mark]:
    """Pages of entries that lead to page numbers are a table of contents."""
    runs: list[tuple[int, int]] = []
    for index, paragraph in enumerate(paragraphs):
        if not paragraph.is_contents:
            continue
        if runs and runs[-1][1] == index:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    if not marks:
        return marks
    starts = {mark.start for mark in marks}
    for first, end in runs:
        behind = spots[end] if end < len(spots) else Spot(start=maker.length, line=maker.lines + 1)
        if any(spots[first].start <= start < behind.start for start in starts):
            continue
        title = paragraphs[first].text.split("\n", 1)[0][:80]
        marks.append(Mark(start=spots[first].start, line=spots[first].line, depth=0, kind=SectionKind.CONTENTS,
                          title=title, inset=True, end=behind.start, end_line=behind.line - 1))  # fmt: skip
    return sorted(marks, key=lambda mark: mark.start)
