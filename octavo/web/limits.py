"""How often a caller may ask."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

PER_MINUTE = 6000
CALLERS_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a caller's share: requests now, seconds until one more."""

    requests: int
    again_s: int


class RateLimit:
    """A token bucket a caller: `per_minute` at once, and as many a minute after that."""

    def __init__(self, per_minute: int = PER_MINUTE) -> None:
        self.per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._turn = threading.Lock()

    def spend(self, caller: str) -> Left | None:
        """Count a request; None when there is no share left."""
        now = time.monotonic()
        with self._turn:
            level, at = self._buckets.pop(caller, (float(self.per_minute), now))
            level = min(self.per_minute, level + (now - at) * self.per_minute / 60)
            allowed = level >= 1
            self._buckets[caller] = (level - 1 if allowed else level, now)
            while len(self._buckets) > CALLERS_KEPT:
                self._buckets.popitem(last=False)
        return Left(int(level - 1), 1) if allowed else None
