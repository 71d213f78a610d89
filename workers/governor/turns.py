"""Fairness between the jobs that wait for one profile."""

from __future__ import annotations

from collections.abc import Mapping


class Turns:
    """Who waits, and whose turn it is. Not thread-safe; `lua/turns.lua` is the same in Lua.

    *Slots* are shared max-min: a job at or above its even share gets no further slot while a job with fewer waits.

    *Buckets* are shared by start-time fair queueing (Goyal, Vin and Cheng 1996): each grant costs a job its tokens
    (or 1), and of the jobs that a bucket made wait, the one that was given least goes first. Time spent idle earns
    nothing. So a job of large calls is not starved by one of small calls.

    Nobody is queued: a job waits from a refusal until shortly after the time it was told to ask again.
    """

    def __init__(self) -> None:
        self._until: dict[str, float] = {}  # job → when it is no longer taken to wait
        self._starts: dict[str, float] = {}  # of those, the ones that wait for a bucket → their start tag
        self._finishes: dict[str, float] = {}  # job → its finish tag, where it is ahead of the virtual time
        self._virtual = 0.0

    def expire(self, now: float) -> None:
        """Forget the jobs that no longer ask."""
        for job in [job for job, until in self._until.items() if until <= now]:
            del self._until[job]
            self._starts.pop(job, None)

    def waiting(self, now: float) -> tuple[str, ...]:
        """The jobs that wait."""
        return tuple(sorted(job for job, until in self._until.items() if until > now))

    def over_share(self, job: str, flights: Mapping[str, int], slots: int) -> bool:
        """Whether a slot for `job` would be taken from a waiting job with fewer of the `slots`."""
        own = flights.get(job, 0)
        others = [flights.get(other, 0) for other in self._until if other != job]
        jobs = len(flights.keys() | self._until.keys() | {job})
        return own >= max(1, slots // jobs) and any(other < own for other in others)

    def out_of_turn(self, job: str) -> bool:
        """Whether a job that was given less waits for a bucket."""
        start = self._start(job)
        return any(tag < start for other, tag in self._starts.items() if other != job)

    def _start(self, job: str) -> float:
        return max(self._virtual, self._finishes.get(job, 0.0))

    def refused(self, job: str, until: float, *, for_bucket: bool) -> None:
        """A job was told to wait."""
        self._until[job] = until
        if for_bucket:
            self._starts[job] = self._start(job)
        else:
            self._starts.pop(job, None)

    def withdrawn(self, job: str) -> None:
        """A job waits no longer."""
        self._until.pop(job, None)
        self._starts.pop(job, None)

    def granted(self, job: str, cost: float, until: float) -> None:
        """A job was given a permit. If it waited, it may have more calls that do: it waits till `until` at most."""
        self._virtual = self._start(job)
        self._finishes = {other: tag for other, tag in self._finishes.items() if tag > self._virtual}
        self._finishes[job] = self._virtual + cost
        if job in self._until:
            self._until[job] = min(self._until[job], until)
        if job in self._starts:
            self._starts[job] = self._finishes[job]
