"""What Octavo must reach (issue: the main job), and what a run measured of it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Measured = dict[str, Any]  # what benchmarks.engine.child printed


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """One requirement: `value` must be at least, or at most, `bound`."""

    what: str
    value: float
    bound: float
    at_least: bool = True
    goal: float | None = None

    @property
    def met(self) -> bool:
        """Is it?"""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def line(self) -> str:
        """One line for people."""
        goal = "" if self.goal is None else f", goal {self.goal:g}"
        sign = ">=" if self.at_least else "<="
        return f"{'ok  ' if self.met else 'MISS'} {self.what}: {self.value:,.3g} (required {sign} {self.bound:g}{goal})"


def rate(measured: Measured) -> float:
    """Chunks a second."""
    return float(measured["chunks"]) / float(measured["wall"])


def median(rounds: Sequence[Measured], what: str, name: str) -> float:
    """The median of one figure of one part over rounds."""
    return float(statistics.median(found[what][name] for found in rounds))


def engine_bounds(
    floor: Sequence[Measured], http: Sequence[Measured], noop: Sequence[Measured], edits: Measured
) -> list[Bound]:
    """The bounds on the 5,000 pieces. `floor` and `http` are of the same rounds, in order."""
    ratios = [rate(ours["cold"]) / rate(bare["cold"]) for ours, bare in zip(http, floor, strict=True)]
    pairs = zip(http, floor, strict=True)
    spent = [(ours["cold"]["cpu"] - bare["cold"]["cpu"]) / ours["cold"]["chunks"] * 1000 for ours, bare in pairs]
    others = edits["other_prompt"]["calls"]
    cpu = statistics.median(spent)
    return [
        Bound(what="20 ms calls, rate / floor's", value=statistics.median(ratios), bound=0.95),
        Bound(what="processor ms a chunk above the floor", value=cpu, bound=0.3, at_least=False, goal=0.2),
        Bound(
            what="no-op chunks/s, each checkpointed",
            value=statistics.median(rate(found["cold"]) for found in noop),
            bound=5000,
            goal=10_000,
        ),
        Bound(what="warm run s, file checked", value=median(http, "warm", "whole"), bound=0.3, at_least=False),
        Bound(what="warm run calls", value=max(found["warm"]["asked"] for found in http), bound=0, at_least=False),
        Bound(what="calls after one inserted paragraph", value=edits["insert"]["asked"], bound=2, at_least=False),
        Bound(what=f"A→B→A calls (B made {others:,})", value=edits["back"]["asked"], bound=0, at_least=False),
    ]


def long_bounds(long: Measured, short_rate: float) -> list[Bound]:
    """The bounds on a long book: the same rate, flat memory, a fast plan."""
    chunks, trail = long["cold"]["chunks"], long["trail"]
    first, last = _at(trail, chunks / 5), _at(trail, chunks * 0.99)
    ratio = rate(long["cold"]) / short_rate
    return [
        Bound(what=f"{chunks:,} chunks, rate / that of the short book", value=ratio, bound=0.95),
        Bound(what="memory at the end / at a fifth", value=last[2] / first[2], bound=1.15, at_least=False),
        Bound(what="plan and memo of a warm job, chunks/s", value=rate(long["warm"]), bound=50_000),
    ]


def _at(trail: Sequence[Sequence[float]], done: float) -> Sequence[float]:
    return min(trail, key=lambda point: abs(point[0] - done))
