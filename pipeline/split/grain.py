"""What the splitter takes and gives: grains, units of text, pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Grain:
    """A declared chunking policy. Token counts are those of the named tokenizer."""

    name: str
    limit: int = 1000  # tokens, overlap included
    overlap: int = 0  # tokens of the text before a chunk shown with it
    heading_level: int = 1  # Markdown headings down to this level always start a chunk


@dataclass(frozen=True, kw_only=True, slots=True)
class Preferred:
    """A place where a cut is liked best, such as a sub-heading: offset into the unit, and its heading level."""

    offset: int
    level: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """A run of text between two places that always start a chunk. No chunk crosses its ends."""

    text: str
    preferred: tuple[Preferred, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A chunk's span within its unit: the core is text[start:end]; text[lead:start] is overlap."""

    lead: int  # ≤ start; equal when there is no overlap
    start: int
    end: int
    tokens: int  # exact, of text[lead:end]
    over: bool = False  # one grapheme (or one unbreakable piece) above the limit: kept and flagged


class TokenCounter(Protocol):
    """Counts tokens exactly."""

    identity: str  # changes whenever a count could change (the hash of the tokenizer's bytes)
    name: str  # what a person calls it

    def count(self, text: str) -> int:
        """Tokens of `text`, special tokens left out."""

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in order; uses both cores where it can."""
