"""Spans of the text that are no part of the book's chapters: licence blocks and tables of contents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.read.boilerplate import Marker
from pipeline.read.contents import contents_spans
from pipeline.read.reading import SectionKind
from pipeline.read.scan import Candidate, Scanner

_HEADER_CHARS = 50_000  # a header that would be longer is none
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
        if candidate.marker is Marker.BOOK_BEGINS:
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
