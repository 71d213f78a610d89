"""What tests of the governor share: a clock that they set, and the count of what fell into any sliding window."""

from __future__ import annotations

from collections.abc import Iterable


class Clock:
    """Milliseconds that pass only when a test says so."""

    def __init__(self, now: float = 1_800_000_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds * 1000


def fullest(events: Iterable[tuple[float, float]], window_ms: float) -> float:
    """The largest sum of amounts in any closed window of this length, of events (time, amount)."""
    ordered = sorted(events)
    most = total = 0.0
    first = 0
    for time, amount in ordered:
        total += amount
        while ordered[first][0] < time - window_ms:
            total -= ordered[first][1]
            first += 1
        most = max(most, total)
    return most


def overlap(intervals: Iterable[tuple[float, float]]) -> int:
    """The most intervals (begin, end) that hold at one time; one that ends as another begins does not overlap it."""
    steps = sorted(step for begin, end in intervals for step in ((begin, 1), (end, -1)))
    most = present = 0
    for _, change in sorted(steps, key=lambda step: (step[0], step[1])):
        present += change
        most = max(most, present)
    return most
