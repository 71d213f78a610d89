"""The time, in the unit that leases are written in."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000
