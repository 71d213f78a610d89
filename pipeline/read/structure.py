"""The section tree of plain text: front, contents, volumes, chapters, boilerplate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from pipeline.read.boilerplate import Marker, stated_title
from pipeline.read.chapters import BOOK_RANK, CHAPTER_RANK, SECTION_RANK, SIDE_UNITS, Heading
from pipeline.read.contents import contents_spans, title_key
from pipeline.read.numbering import Numbered, number_warnings
from pipeline.read.reading import ReadWarning, SectionKind
from pipeline.read.scan import MAX_CANDIDATES, Candidate, Scanner
from pipeline.read.select import headings_among, without_repeats
from pipeline.read.tree import Mark, Structure, first_line, sections_from

_OUTERMOST = 0
_COLOPHON_CHARS = 5000
_HEADER_CHARS = 50_000
_MAX_EMPTY = 60  # characters to be seen below a heading that are next to nothing, where half of the others have many
_USUAL_BODY = 400
_BOOK_TITLE = re.compile(r"《([^《》\n]{1,80})》")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Special:
    """A span that is no part of the book's chapters."""

    start: int
    end: int
    line: int
    end_line: int  # the line on which `end` stands
    kind: SectionKind
    title: str  # of its last line, should its first one be out of reach
    seen: int  # characters to be seen before `end`, as a scanner counts them
    inline: bool = False


def structure_of(scanner: Scanner, line_count: int) -> Structure:
    """The structure of the text that a scanner has seen to its end. Every character is in one innermost section."""
    boilerplate = _boilerplate(scanner, line_count)
    inner = [c for c in scanner.candidates if c.marker is None and not _inside(boilerplate, c)]
    listable = [c for c in inner if c.heading.unit not in ("number", "verse")]
    spans = contents_spans(listable)
    contents = [_contents(listable[span.first], listable[span.last]) for span in spans]
    specials = sorted([*boilerplate, *contents], key=lambda special: special.start)
    headings = headings_among([c for c in inner if not _inside(contents, c)])
    headings, repeats = without_repeats(headings)
    headings = _promoted(headings)
    marks = _marks(scanner, headings, specials)
    warnings = [
        *number_warnings(_scopes(headings)),
        *(_repeat_warning(candidate) for candidate in repeats if candidate.heading.unit != "named"),
        *_thin_chapters(headings, scanner),
    ]
    if scanner.overfull:
        message = f"more than {MAX_CANDIDATES} lines look like headings; those after them were not looked at"
        warnings.append(ReadWarning(code="too-many-headings", message=message))
    return Structure(
        title=_title(scanner, boilerplate),
        sections=sections_from(marks, scanner.length, line_count),
        warnings=tuple(sorted(warnings, key=lambda warning: warning.line or 0)),
    )


def _inside(specials: Sequence[_Special], candidate: Candidate) -> bool:
    return any(special.start <= candidate.start < special.end for special in specials)


def _boilerplate(scanner: Scanner, line_count: int) -> list[_Special]:
    """Header and licence spans: from a book's end (or the text's start) to the next book's beginning."""
    spans: list[_Special] = []
    start, line, open_span, title = 0, 1, True, ""
    for candidate in scanner.candidates:
        if candidate.marker is Marker.BOOK_BEGINS:
            if open_span and (spans or candidate.start - start <= _HEADER_CHARS):
                spans.append(_header(start, line, candidate))
                open_span = False
            elif spans and candidate.start - spans[-1].end <= _HEADER_CHARS and not open_span:
                spans[-1] = _header(spans[-1].start, spans[-1].line, candidate)
        elif candidate.marker is Marker.BOOK_ENDS and not (open_span and spans):
            is_colophon = (
                candidate.heading.title.startswith("底本") and scanner.length - candidate.start > _COLOPHON_CHARS
            )
            if not is_colophon:
                start, line, open_span, title = candidate.start, candidate.line, True, candidate.heading.title[:80]
    if open_span and start:
        spans.append(_Special(start=start, end=scanner.length, line=line, end_line=line_count + 1, seen=scanner.seen, title=title,
                              kind=SectionKind.BOILERPLATE))  # fmt: skip
    return spans


def _header(start: int, line: int, marker: Candidate) -> _Special:
    return _Special(start=start, end=marker.end, line=line, end_line=marker.line + 1, seen=marker.seen, title=marker.heading.title,
                    kind=SectionKind.BOILERPLATE)  # fmt: skip


def _contents(first: Candidate, last: Candidate) -> _Special:
    return _Special(start=first.start, end=last.end, line=first.line, end_line=last.line + last.lines, seen=last.seen, title=last.heading.title,
                    kind=SectionKind.CONTENTS, inline=first.inline)  # fmt: skip


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


def _marks(scanner: Scanner, headings: Sequence[Candidate], specials: Sequence[_Special]) -> list[Mark]:
    """Marks of everything, in order, and of the front text between; the first one at offset 0."""
    has_chapters = any(candidate.heading.rank == CHAPTER_RANK for candidate in headings)
    marks: list[Mark] = []
    events: list[Candidate | _Special] = sorted([*headings, *specials], key=lambda event: event.start)
    volumes: dict[int, str] = {}
    if not events or events[0].start:
        marks.append(_front(scanner, 0, 1, _OUTERMOST))
    for index, event in enumerate(events):
        if isinstance(event, Candidate):
            following = events[index + 1] if index + 1 < len(events) else None
            marks.extend(_heading_marks(event, following, volumes, has_chapters=has_chapters))
            continue
        depth = CHAPTER_RANK if volumes and event.kind is SectionKind.CONTENTS else _OUTERMOST
        title = first_line(scanner.head[event.start : event.end]) or event.title
        marks.append(
            Mark(
                start=event.start,
                line=event.line,
                depth=depth,
                kind=event.kind,
                title=title,
                is_leaf=True,
                inline=event.inline,
            )
        )
        next_start, next_seen = (
            (events[index + 1].start, events[index + 1].seen)
            if index + 1 < len(events)
            else (scanner.length, scanner.seen)
        )
        if next_start > event.end and next_seen > event.seen:
            marks.append(_front(scanner, event.end, event.end_line, depth))
    return marks


def _front(scanner: Scanner, start: int, line: int, depth: int) -> Mark:
    return Mark(
        start=start,
        line=line,
        depth=depth,
        kind=SectionKind.FRONT,
        is_leaf=True,
        title=first_line(scanner.head[start:]),
    )


def _heading_marks(
    candidate: Candidate, following: Candidate | _Special | None, volumes: dict[int, str], *, has_chapters: bool
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


def _scopes(headings: Sequence[Candidate]) -> list[list[Numbered]]:
    """Numbered headings that count together: by unit, and by volume when the count restarts in most volumes."""
    by_unit: dict[tuple[str, int], list[list[Numbered]]] = {}
    volume = 0
    outer = ""
    for candidate in headings:
        heading = candidate.heading
        if heading.rank < CHAPTER_RANK or (heading.outer is not None and heading.outer[0] != outer):
            volume += 1
            outer = heading.outer[0] if heading.outer is not None else ""
        if heading.number is None or heading.unit == "named":
            continue
        runs = by_unit.setdefault((_family(heading), heading.rank), [])
        while heading.rank >= CHAPTER_RANK and len(runs) <= volume:
            runs.append([])
        if not runs:
            runs.append([])
        runs[-1].append(Numbered(number=heading.number, title=heading.title, line=candidate.line))
    scopes: list[list[Numbered]] = []
    for runs in by_unit.values():
        filled = [run for run in runs if run]
        restarts = sum(run[0].number <= 1 for run in filled[1:])
        scopes.extend(filled if restarts * 2 > len(filled) - 1 else [[one for run in filled for one in run]])
    return scopes


def _family(heading: Heading) -> str:
    return "side" if heading.unit in SIDE_UNITS else "chapter" if heading.rank == CHAPTER_RANK else heading.unit


def _repeat_warning(candidate: Candidate) -> ReadWarning:
    message = f"{candidate.heading.title!r} stands again right below itself"
    return ReadWarning(code="heading-repeated", message=message, line=candidate.line)


def _thin_chapters(headings: Sequence[Candidate], scanner: Scanner) -> Iterator[ReadWarning]:
    """Chapters with next to no text, in a book whose chapters have much."""
    if not headings:
        return
    behind = [*(candidate.seen for candidate in headings[1:]), scanner.seen]
    bodies = [after - candidate.seen for candidate, after in zip(headings, behind, strict=True)]
    chapters = [(c, body) for c, body in zip(headings, bodies, strict=True) if c.heading.rank >= CHAPTER_RANK]
    if len(chapters) < 10 or median(body for _, body in chapters) < _USUAL_BODY:
        return
    for candidate, body in chapters:
        if body <= _MAX_EMPTY:
            message = f"{candidate.heading.title!r} has next to no text"
            yield ReadWarning(code="chapter-empty", message=message, line=candidate.line)


def _title(scanner: Scanner, boilerplate: Sequence[_Special]) -> str | None:
    if boilerplate:
        return stated_title(scanner.head[boilerplate[0].start : boilerplate[0].end])
    found = _BOOK_TITLE.match(first_line(scanner.head))
    return found[1] if found else None
