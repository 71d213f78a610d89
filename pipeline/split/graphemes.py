"""User-perceived characters (extended grapheme clusters, UAX #29), which no cut may go through."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import regex

CLUSTER = regex.compile(r"\X")


@lru_cache(maxsize=65_536)
def clings(character: str) -> bool:
    """Whether a grapheme goes on with this character after a mark or a space (rules GB9 and GB9a)."""
    found = CLUSTER.match("." + character)
    return found is not None and found.end() > 1


def grapheme_ends(text: str, start: int, end: int) -> Sequence[int]:
    """Where the graphemes of text[start:end] end, in order; `start` must be where one begins."""
    run = text[start:end]
    if run.isascii() and "\r" not in run:
        return range(start + 1, end + 1)
    return [found.end() for found in CLUSTER.finditer(text, start, end)]
