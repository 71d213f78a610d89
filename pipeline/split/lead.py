"""Overlap: how much of the text before a piece is shown with it."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from pipeline.split.draft import Span
from pipeline.split.graphemes import clings, grapheme_ends

REACH = 16  # characters a token of overlap may take: looked at, not promised
# Words begin after white space; scripts written without spaces may be entered at any character.
WIDE = "\u2e80-\u2fff\u3003-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
WORD_START = re.compile(rf"(?<=\s)(?=\S)|(?=[{WIDE}])")

Rounds = Generator[Sequence[str], list[int], list[int]]


@dataclass(kw_only=True, slots=True)
class _Search:
    """The least start in `starts` from which the text up to the piece fits; `low` … `high` are still open."""

    text: str
    span: Span
    starts: list[int]  # ascending; the last one is the piece's own start, which always fits
    low: int
    high: int

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2


def leads(texts: Sequence[tuple[str, Span]], overlap: int, limit: int) -> Rounds:
    """For each (unit's text, piece) where the overlap begins. Sets the pieces' tokens to those of text and overlap.

    The overlap is the longest run before the piece that has at most `overlap` tokens by itself, begun at a word, or
    at any grapheme where no word fits; and short enough for overlap and piece together to stay within `limit`.
    """
    searches = [_search(text, span, overlap) for text, span in texts]
    yield from _narrowed(searches, overlap)
    again = [search for search in searches if search.high == len(search.starts) - 1 and search.span.start]
    for search in again:
        search.starts = _grapheme_starts(search.text, search.span.start, overlap)
        search.low, search.high = 0, len(search.starts) - 1
    yield from _narrowed(again, overlap)
    yield from _fitted(searches, limit)
    return [search.starts[search.high] for search in searches]


def _search(text: str, span: Span, overlap: int) -> _Search:
    stop = span.start
    begin = max(stop - overlap * REACH - 64, 0)
    starts = [found.start() for found in WORD_START.finditer(text, max(begin, 1), stop)] if not span.over else []
    starts = [at for at in starts if at < stop and not clings(text[at])]
    if begin == 0 and stop and not span.over:
        starts.insert(0, 0)
    return _Search(text=text, span=span, starts=[*starts, stop], low=0, high=len(starts))


def _grapheme_starts(text: str, stop: int, overlap: int) -> list[int]:
    begin = max(stop - overlap * REACH - 64, 0)
    ends = grapheme_ends(text, begin, stop)
    # The first may be half a grapheme when the look back began inside one.
    return [*([0] if begin == 0 else []), *ends] if ends else [stop]


def _narrowed(searches: Sequence[_Search], overlap: int) -> Generator[Sequence[str], list[int], None]:
    while open_ := [search for search in searches if search.low < search.high]:
        counts = yield [search.text[search.starts[search.middle] : search.span.start] for search in open_]
        for search, count in zip(open_, counts, strict=True):
            if count <= overlap:
                search.high = search.middle
            else:
                search.low = search.middle + 1


def _fitted(searches: Sequence[_Search], limit: int) -> Generator[Sequence[str], list[int], None]:
    """Give up overlap, a little more each round, until piece and overlap together are within the limit."""
    step = 1
    led = [search for search in searches if search.starts[search.high] < search.span.start]
    while led:
        counts = yield [search.text[search.starts[search.high] : search.span.end] for search in led]
        above = []
        for search, count in zip(led, counts, strict=True):
            if count <= limit:
                search.span.tokens = count
                continue
            search.high = min(search.high + step, len(search.starts) - 1)
            if search.starts[search.high] < search.span.start:
                above.append(search)
        led, step = above, step * 2
