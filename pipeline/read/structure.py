"""The section tree of plain text: front, contents, volumes, chapters, boilerplate."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pipeline.read.boilerplate import LEGEND, Marker, stated_title
from pipeline.read.chapter_words import BOOK_RANK, CHAPTER_RANK, SECTION_RANK, SIDE_UNITS
from pipeline.read.contents import title_key
from pipeline.read.oddities import oddities
from pipeline.read.reading import SectionKind
from pipeline.read.scan import Candidate, Scanner
from pipeline.read.select import headings_among, without_repeats
from pipeline.read.spans import Span, boilerplate_spans, contents_among, insets_among, outside
from pipeline.read.tree import Mark, Structure, first_line, sections_from

_OUTERMOST = 0
_BOOK_TITLE = re.compile(r"《([^《》\n]{1,80})》")
_BODY_BELOW_TITLE = 200  # characters of a chapter's text, so that the line above it can be a title


@dataclass(frozen=True, kw_only=True, slots=True)
class PartStart:
    """Where a file begins in a text that was joined of several."""

    start: int
    line: int
    shown: int  # offset of its first character to be seen
    title: str  # of the chapter that it is if it has no heading of its own


def structure_of(scanner: Scanner, line_count: int, parts: Sequence[PartStart] = ()) -> Structure:
    """The structure of the text that a scanner has seen to its end; the scanner is used up by it.

    Every character is in one section's own text. A part without a heading is a chapter.
    """
    boilerplate = boilerplate_spans(scanner, line_count)
    outer = outside(boilerplate, scanner.candidates)
    inner = [candidate for candidate in outer if candidate.marker is None]
    contents = contents_among(inner)
    headings, repeats = without_repeats(headings_among(outside(contents, inner)))
    headings = _with_titles(_promoted(headings), scanner.seen)
    banners = outside(contents, [one for one in outer if one.marker in (Marker.SITE, Marker.NOTE)])
    warnings = oddities(headings, repeats, banners, scanner)
    spans = sorted([*boilerplate, *contents], key=lambda span: span.start)
    insets = insets_among(banners, [*headings, *spans], scanner)
    own = _marks(scanner, headings, spans)
    if parts:
        own = _with_parts(own, parts, scanner)
    marks = sorted([*own, *insets], key=lambda mark: mark.start)
    title = _title(scanner, boilerplate)
    # A library in one file has hundreds of thousands of headings: they are not kept beside their sections.
    del headings, repeats, inner, outer, banners
    scanner.candidates.clear()
    return Structure(title=title, sections=sections_from(marks, scanner.length, line_count), warnings=warnings)


def _promoted(headings: Sequence[Candidate]) -> list[Candidate]:
    """A named heading right before a chapter one, such as an epilogue with chapters of its own, holds chapters."""
    ranks = [candidate.heading.rank for candidate in headings if candidate.heading.rank < CHAPTER_RANK]
    kept = list(headings)
    for index, (candidate, following) in enumerate(pairwise(headings)):
        heading, chapter = candidate.heading, following.heading
        counts = chapter.unit not in ("named", *SIDE_UNITS) and chapter.rank >= CHAPTER_RANK and chapter.number == 1
        if heading.unit == "named" and counts and following.seen == candidate.seen and index:
            kept[index] = replace(candidate, heading=replace(heading, rank=max(ranks, default=BOOK_RANK)))
    return kept


def _with_titles(headings: Sequence[Candidate], seen: int) -> list[Candidate]:
    """Bare chapter lines joined with the titles below them, when nearly all of the book's chapters have one there."""
    if not headings:
        return []
    behind = [*(candidate.seen for candidate in headings[1:]), seen]
    bare = [candidate.heading.bare and candidate.heading.rank == CHAPTER_RANK for candidate in headings]
    titled = [
        is_bare and bool(candidate.below) and after - candidate.seen >= _BODY_BELOW_TITLE
        for candidate, after, is_bare in zip(headings, behind, bare, strict=True)
    ]
    if sum(titled) < 3 or sum(titled) < 0.8 * sum(bare):
        return list(headings)
    return [
        replace(one, heading=replace(one.heading, title=f"{one.heading.title} {one.below}")) if has_title else one
        for one, has_title in zip(headings, titled, strict=True)
    ]


def _marks(scanner: Scanner, headings: Sequence[Candidate], spans: Sequence[Span]) -> list[Mark]:
    """Marks of everything, in order, and of the front text between; the first one at offset 0."""
    has_chapters = any(candidate.heading.rank == CHAPTER_RANK for candidate in headings)
    events: list[Candidate | Span] = sorted([*headings, *spans], key=lambda event: event.start)
    following: list[Candidate | Span | None] = [*events[1:], None]
    marks: list[Mark] = []
    volumes: dict[int, str] = {}
    if not events or events[0].start:
        title = first_line(scanner.head[: events[0].start] if events else scanner.head)
        marks.append(Mark(start=0, line=1, depth=_OUTERMOST, kind=SectionKind.FRONT, title=title, is_leaf=True))
    for event, after in zip(events, following, strict=False):  # no event: `following` holds the None alone
        if isinstance(event, Candidate):
            marks.extend(_heading_marks(event, after, volumes, has_chapters=has_chapters))
        else:
            depth = CHAPTER_RANK if volumes and event.kind is SectionKind.CONTENTS else _OUTERMOST
            marks.extend(_span_marks(scanner, event, after, depth))
    return marks


def _with_parts(marks: list[Mark], parts: Sequence[PartStart], scanner: Scanner) -> list[Mark]:
    """The marks, and one where a part begins that has none: a chapter; or front text, where a heading follows it."""
    starts = [mark.start for mark in marks]
    kept = dict.fromkeys(range(len(marks)))
    fresh: list[Mark] = []
    for part, end in zip(parts, [*(part.start for part in parts[1:]), scanner.length], strict=True):
        first, last = bisect_left(starts, part.start), bisect_left(starts, end)
        inside = marks[first:last]
        if any(mark.kind in (SectionKind.CHAPTER, SectionKind.VOLUME, SectionKind.HEADING) for mark in inside):
            if inside[0].start > part.shown:
                fresh.append(_part_mark(part, SectionKind.FRONT, _front_title(scanner, part, inside[0].start)))
            continue
        if inside and inside[0].start == part.start and inside[0].kind is SectionKind.FRONT:
            del kept[first]
        if not inside or inside[0].start > part.shown or inside[0].kind is SectionKind.FRONT:
            fresh.append(_part_mark(part, SectionKind.CHAPTER, part.title))
    return sorted([*(marks[at] for at in kept), *fresh], key=lambda mark: mark.start)


def _front_title(scanner: Scanner, part: PartStart, end: int) -> str:
    return first_line(scanner.head[part.start : end]) or part.title


def _part_mark(part: PartStart, kind: SectionKind, title: str) -> Mark:
    return Mark(start=part.start, line=part.line, depth=CHAPTER_RANK, kind=kind, title=title, is_leaf=True)


def _span_marks(scanner: Scanner, span: Span, after: Candidate | Span | None, depth: int) -> Iterator[Mark]:
    """The mark of a span, and of front text between it and what comes after it; mere space goes with the span."""
    title = first_line(scanner.head[span.start : span.end]) or span.title
    yield Mark(start=span.start, line=span.line, depth=depth, kind=span.kind, title=title, is_leaf=True,
               inline=span.inline)  # fmt: skip
    next_start, next_seen = (scanner.length, scanner.seen) if after is None else (after.start, after.seen)
    between = scanner.head[span.end : next_start]
    is_empty = not between.strip() if next_start <= len(scanner.head) else next_seen <= span.seen
    if next_start > span.end and not is_empty:
        front = first_line(scanner.head[span.end : next_start])
        yield Mark(start=span.end, line=span.end_line, depth=depth, kind=SectionKind.FRONT, title=front, is_leaf=True,
                   inline=span.ends_inline)  # fmt: skip


def _heading_marks(
    candidate: Candidate, following: Candidate | Span | None, volumes: dict[int, str], *, has_chapters: bool
) -> Iterator[Mark]:
    """The mark of a heading, before it that of the volume which the same line opens. `volumes` holds the open ones."""
    heading = candidate.heading
    if heading.outer is not None:
        title, rank, number = heading.outer
        key = title_key(title) if number is None else str(number)
        if volumes.get(rank) != key:
            _open_volume(volumes, rank, key)
            yield Mark(start=candidate.start, line=candidate.line, depth=rank, kind=SectionKind.VOLUME, title=title,
                       inline=candidate.inline)  # fmt: skip
    kind = SectionKind.CHAPTER
    if heading.rank < CHAPTER_RANK:
        _open_volume(volumes, heading.rank, title_key(heading.title) if heading.number is None else str(heading.number))
        if isinstance(following, Candidate) and following.heading.rank > heading.rank:
            kind = SectionKind.VOLUME
    elif heading.rank >= SECTION_RANK and has_chapters:
        kind = SectionKind.HEADING
    yield Mark(start=candidate.start, line=candidate.line, depth=heading.rank, kind=kind, title=heading.title,
               inline=candidate.inline)  # fmt: skip


def _open_volume(volumes: dict[int, str], rank: int, key: str) -> None:
    for deeper in [open_rank for open_rank in volumes if open_rank > rank]:
        del volumes[deeper]
    volumes[rank] = key


def _title(scanner: Scanner, boilerplate: Sequence[Span]) -> str | None:
    first = first_line(scanner.head)
    if boilerplate and boilerplate[0].title == LEGEND and boilerplate[0].start:
        return first  # Aozora Bunko has the title on the first line, the author on the second
    if boilerplate:
        return stated_title(scanner.head[boilerplate[0].start : boilerplate[0].end])
    found = _BOOK_TITLE.match(first)
    return found[1] if found else None
