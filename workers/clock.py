"""The time, in the unit that leases are written in."""

from __future__ import annotations

import time

_ahead: list[float] = []  # of the shared clock over this process's own steady one, in ms; empty: nobody shares


def now_ms() -> int:
    """Milliseconds since the Unix epoch, by the clock that all who share a database go by.

    Leases are times, and the clocks of hosts differ. So a process takes the database server's time now and then
    (`follow`) and counts on by its own steady clock, which nobody sets.
    """
    if _ahead:
        return int(time.monotonic() * 1000 + _ahead[0])
    return time.time_ns() // 1_000_000


def follow(shared_ms: int) -> None:
    """Go by a clock that shows `shared_ms` now."""
    _ahead[:] = [shared_ms - time.monotonic() * 1000]
