"""Spans of the text that are no part of the book's chapters: licence blocks and tables of contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.read.boilerplate import Marker, legend_around
from pipeline.read.contents import contents_spans
from pipeline.read.reading import SectionKind
from pipeline.read.scan import Candidate, Scanner, visible
from pipeline.read.tree import Mark

_HEADER_CHARS = 50_000  # a header that would be longer is none
_INNERMOST = 1000
_COLOPHON_CHARS = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One such span. What stands behind it and before the next heading is front matter if it is more than space."""

    start: int
    end: int
    line: int
    end_line: int  # the line on which `end` stands
    kind: SectionKind
    title: str  # of its marker line, should its first line be out of reach
    seen: int  # characters to be seen before `end`, as the scanner counts them
    inline: bool = False  # `start` is within a line
    ends_inline: bool = False  # `end` is within a line


def boilerplate_spans(scanner: Scanner, line_count: int) -> list[Span]:
    """Header and licence spans: from the text's start, or the end of a book, to where the next book begins."""
    spans: list[Span] = []
    opened: Candidate | None = None  # where the last book ended
    for candidate in scanner.candidates:
        if candidate.marker is Marker.LEGEND and opened is None:
            spans.extend(_legend(candidate, scanner.head))
        elif candidate.marker is Marker.BOOK_BEGINS:
            if opened is not None or (not spans and candidate.start <= _HEADER_CHARS):
                spans.append(_header(opened, candidate))
                opened = None
            elif spans and candidate.start - spans[-1].end <= _HEADER_CHARS:
                spans[-1] = _longer(spans[-1], candidate)  # a second notice right behind the first
        elif candidate.marker is Marker.BOOK_ENDS and opened is None and _is_end(candidate, scanner.length):
            opened = candidate
    if opened is not None:
        spans.append(
            Span(
                start=opened.start,
                end=scanner.length,
                line=opened.line,
                end_line=line_count + 1,
                kind=SectionKind.BOILERPLATE,
                title=opened.heading.title[:80],
                seen=scanner.seen,
                inline=opened.inline,
            )
        )
    return spans


def contents_among(candidates: Sequence[Candidate]) -> list[Span]:
    """The tables of contents."""
    listable = [candidate for candidate in candidates if candidate.heading.unit not in ("number", "verse")]
    spans = []
    for found in contents_spans(listable):
        first, last = listable[found.first], listable[found.last]
        spans.append(
            Span(
                start=first.start,
                end=last.end,
                line=first.line,
                end_line=last.end_line,
                kind=SectionKind.CONTENTS,
                title=first.heading.title[:80],
                seen=last.seen,
                inline=first.inline,
                ends_inline=last.ends_inline,
            )
        )
    return spans


def insets_among(candidates: Sequence[Candidate], events: Sequence[Candidate | Span], scanner: Scanner) -> list[Mark]:
    """The marks of banners and notes that stand between the book's own lines; `events` are headings and spans."""
    banners = [candidate for candidate in candidates if candidate.marker in (Marker.SITE, Marker.NOTE)]
    behind = sorted([*banners, *events], key=lambda event: event.start)
    following = {id(one): after for one, after in pairwise(behind)}
    return [_inset(candidate, following.get(id(candidate)), scanner.seen) for candidate in banners]


def _inset(candidate: Candidate, after: Candidate | Span | None, seen: int) -> Mark:
    """Mere space behind a banner goes with it; else what is around it goes on."""
    last = (seen if after is None else after.seen) <= candidate.seen
    return Mark(
        start=candidate.start,
        line=candidate.line,
        depth=_INNERMOST,
        kind=SectionKind.BOILERPLATE,
        title=candidate.heading.title[:80],
        inline=candidate.inline,
        inset=True,
        end=None if last else candidate.end,
        end_line=candidate.end_line - (not candidate.ends_inline),
    )


def outside(spans: Sequence[Span], candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that stand in none of the spans; both are in reading order."""
    kept, index = [], 0
    for candidate in candidates:
        while index < len(spans) and spans[index].end <= candidate.start:
            index += 1
        if index == len(spans) or candidate.start < spans[index].start:
            kept.append(candidate)
    return kept


def _is_end(candidate: Candidate, length: int) -> bool:
    """A colophon stands at the very end; "End of Project Gutenberg" may stand between two books."""
    return not candidate.heading.title.startswith("底本") or length - candidate.start <= _COLOPHON_CHARS


def _legend(marker: Candidate, head: str) -> Iterator[Span]:
    found = legend_around(head, marker.start)
    if found is None:
        return
    start, end = found
    yield Span(
        start=start,
        end=end,
        line=marker.line - 1,
        end_line=marker.line + head.count("\n", marker.start, end),
        kind=SectionKind.BOILERPLATE,
        title=marker.heading.title,
        seen=marker.seen + visible(head[marker.end : end]),
    )


def _header(opened: Candidate | None, marker: Candidate) -> Span:
    return Span(
        start=0 if opened is None else opened.start,
        end=marker.end,
        line=1 if opened is None else opened.line,
        end_line=marker.end_line,
        kind=SectionKind.BOILERPLATE,
        title=(marker if opened is None else opened).heading.title[:80],
        seen=marker.seen,
        inline=opened is not None and opened.inline,
        ends_inline=marker.ends_inline,
    )


def _longer(span: Span, marker: Candidate) -> Span:
    return Span(
        start=span.start,
        end=marker.end,
        line=span.line,
        end_line=marker.end_line,
        kind=span.kind,
        title=span.title,
        seen=marker.seen,
        inline=span.inline,
        ends_inline=marker.ends_inline,
    )
