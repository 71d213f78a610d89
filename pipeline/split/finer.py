"""Cuts inside a run of text that is too long for its limit: sentences, then clauses, words and graphemes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator

from pipeline.split.graphemes import clings, grapheme_ends
from pipeline.split.marks import CLAUSE, GRAPHEME, WORD, Place, rank, sentences

CLAUSE_END = re.compile(r"[,;:，、；：—][\"'”’」』）)]*\s*|(?<=[一-鿿])[ \u3000]+")
WORD_END = re.compile(r"\s+")
WINDOW = 8  # characters before a place that decide whether it is one of the few


def finer(text: str, start: int, end: int, step: int, size: int) -> list[Place]:
    """Places strictly between `start` and `end`: those of the step-th kind, about `size` characters apart where the
    kind leaves a choice. The last step has every grapheme."""
    return [place for place in STEPS[step](text, start, end, size) if start < place[0] < end]


def _sentences(text: str, start: int, end: int, _size: int) -> Iterable[Place]:
    return sentences(text, start, end)


def _clauses(text: str, start: int, end: int, _size: int) -> Iterator[Place]:
    for found in CLAUSE_END.finditer(text, start, end):
        at = found.end()
        if at < end and not clings(text[at]) and (text[at - 1].isspace() or not found.group()[0].isascii()):
            yield at, rank(text, at, CLAUSE)


def _few_words(text: str, start: int, end: int, size: int) -> list[Place]:
    ends = _word_ends(text, start, end)
    return _chosen(text, ends, size * len(ends) // (end - start), WORD)


def _words(text: str, start: int, end: int, _size: int) -> list[Place]:
    return [(at, rank(text, at, WORD)) for at in _word_ends(text, start, end)]


def _word_ends(text: str, start: int, end: int) -> list[int]:
    return [
        at for at in (found.end() for found in WORD_END.finditer(text, start, end)) if at < end and not clings(text[at])
    ]


def _few_graphemes(text: str, start: int, end: int, size: int) -> list[Place]:
    return _chosen(text, grapheme_ends(text, start, end), size, GRAPHEME)


def _even_graphemes(text: str, start: int, end: int, size: int) -> list[Place]:
    """Where the text has nothing to choose by (one character over and over), even lengths do as well as any."""
    return [(at, rank(text, at, GRAPHEME)) for at in grapheme_ends(text, start, end)[size - 1 :: size]]


def _graphemes(text: str, start: int, end: int, _size: int) -> list[Place]:
    return [(at, rank(text, at, GRAPHEME)) for at in grapheme_ends(text, start, end)]


def _chosen(text: str, ends: Iterable[int], one_in: int, kind: int) -> list[Place]:
    """The places, one in so many, that the characters before them choose."""
    if one_in < 2:
        return [(at, rank(text, at, kind)) for at in ends]
    crc = zlib.crc32
    return [
        (at, rank(text, at, kind))
        for at in ends
        if crc(text[max(at - WINDOW, 0) : at].encode("utf-8", "surrogatepass")) % one_in == 0
    ]


LINES = 0  # the step whose places are lines and sentences
STEPS: tuple[Callable[[str, int, int, int], Iterable[Place]], ...] = (
    _sentences,
    _clauses,
    _few_words,
    _words,
    _few_graphemes,
    _even_graphemes,
    _graphemes,
)
