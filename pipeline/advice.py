"""Which grain suits a book and a pipeline: four bounds, and the coarsest grain inside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

LARGEST = 1_000_000  # tokens: the largest limit a grain may have


class Question(StrEnum):
    """What bounds a grain."""

    SEES = "must see whole"  # the least span that an op must have before it: the grain may not be finer
    FITS = "fits the model"  # the largest that its window and its time-out allow
    POINTS = "can be pointed at"  # the least span that an item must lead back to
    CHANGES = "changes alone"  # the least span that an edit changes by itself


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Lengths in tokens."""

    count: int
    p50: int
    p99: int
    most: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """One answer: tokens that the grain's limit may not go below, or above; neither: it bounds nothing."""

    question: Question
    step: str | None  # the map step that it is about; None: the book
    least: int | None = None
    most: int | None = None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """The coarsest limit inside the bounds, in tokens; where they contradict, `conflict` says which gave way."""

    limit: int
    decided_by: Bound
    conflict: str | None


def spread(lengths: Sequence[int]) -> Spread:
    """Median, 99th percentile (nearest rank) and most of lengths; zeros for none."""
    ordered = sorted(lengths)
    if not ordered:
        return Spread(count=0, p50=0, p99=0, most=0)

    def at(share: float) -> int:
        return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]

    return Spread(count=len(ordered), p50=at(0.5), p99=at(0.99), most=ordered[-1])


def advise(bounds: Sequence[Bound]) -> Advice:
    """The coarsest grain inside the bounds. What the model can hold goes before what an op would like to see."""
    least = max((bound for bound in bounds if bound.least is not None), key=lambda bound: bound.least or 0)
    uppers = [bound for bound in bounds if bound.most is not None]
    hard = min((bound.most or 0 for bound in uppers if bound.question is Question.FITS), default=LARGEST)
    lowest = min(uppers, key=lambda bound: bound.most or 0)
    low, high = least.least or 1, lowest.most or LARGEST
    if low <= high:
        return Advice(limit=max(low, rounded(high)), decided_by=lowest, conflict=None)
    if low <= hard:
        conflict = f"{least.question} ({low}) goes before {lowest.question} ({high})"
        return Advice(limit=low, decided_by=least, conflict=conflict)
    fits = min((bound for bound in uppers if bound.question is Question.FITS), key=lambda bound: bound.most or 0)
    conflict = f"{fits.question} ({hard}) goes before {least.question} ({low}): longer ones are cut between sentences"
    return Advice(limit=max(1, rounded(hard)), decided_by=fits, conflict=conflict)


def rounded(tokens: int) -> int:
    """Down to two figures: what is measured on a book today need not be exact."""
    unit = int(10 ** max(0, len(str(tokens)) - 2))
    return min(LARGEST, tokens // unit * unit) if tokens > 0 else 1
