"""How a provider does: a circuit breaker, a cool-down and an adaptive ceiling on calls in flight."""

from __future__ import annotations

import math
from collections.abc import Container

from workers.governor.port import Circuit, End, Ended, Permit, Reason, Wait
from workers.governor.rules import Rules


class Health:
    """What the ends of calls teach about one profile's provider. Not thread-safe; `lua/health.lua` is the same in Lua.

    *Circuit* (Nygard, "Release It!"): `downs` failures in a row within a time open it; after a back-off that doubles,
    one probe is let through; an answer to the probe closes it. A call from before it opened says nothing about now.

    *Ceiling* (additive increase, multiplicative decrease: Chiu and Jain 1989): a 429 halves what was in flight, once
    for all calls that were in flight together; `successes` good calls for each slot raise it by one, up to the limit.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.opens = 0  # how often in a row it opened; 0: closed
        self.open_until = 0.0
        self._probe = ""
        self._downs = 0
        self._first_down = 0.0
        self.ceiling = 0  # 0: not lowered
        self.cool_until = 0.0
        self._cut_at = -math.inf
        self._good = 0

    def refuse(self, now: float, slots: Container[str]) -> Wait | None:
        """Why nobody may ask the provider now. `slots` are the ids of the permits in flight."""
        if self.opens and now < self.open_until:
            return Wait(ms=math.ceil(self.open_until - now), reason=Reason.CIRCUIT)
        if self.opens and self._probe in slots:
            return Wait(ms=self._rules.poll_ms, reason=Reason.CIRCUIT)
        if now < self.cool_until:
            return Wait(ms=math.ceil(self.cool_until - now), reason=Reason.COOL_DOWN)
        return None

    def granted(self, permit_id: str) -> None:
        """A permit was given; while the circuit is not closed it is the probe."""
        if self.opens:
            self._probe = permit_id

    def ended(self, permit: Permit, ended: Ended, now: float, in_flight: int) -> None:
        """Learn from the end of a call. `in_flight` counts it still."""
        probe = permit.id == self._probe
        if ended.how is End.OTHER or (self.opens and not probe and ended.how is not End.RATE_LIMITED):
            return
        if ended.how is End.PROVIDER_DOWN:
            self._down(now)
            return
        if probe:
            self.opens = 0
            self._probe = ""
        self._downs = 0
        if ended.how is End.OK:
            self._succeeded()
        else:
            self._limited(permit.at_ms, ended.retry_after_ms, now, in_flight)

    def _down(self, now: float) -> None:
        if not self._downs or now - self._first_down > self._rules.downs_within_ms:
            self._downs = 0
            self._first_down = now
        self._downs += 1
        if self.opens or self._downs >= self._rules.downs:
            wait = self._rules.open_ms * 2.0 ** min(self.opens, 30)
            self.open_until = now + min(wait, self._rules.open_most_ms)
            self.opens += 1
            self._probe = ""

    def _succeeded(self) -> None:
        if not self.ceiling:
            return
        self._good += 1
        if self._good >= self._rules.successes * self.ceiling:
            self._good = 0
            self.ceiling += 1
            if self._rules.concurrency is not None and self.ceiling >= self._rules.concurrency:
                self.ceiling = 0

    def _limited(self, granted_ms: float, retry_after_ms: int | None, now: float, in_flight: int) -> None:
        cool = self._rules.cool_ms if retry_after_ms is None else retry_after_ms
        self.cool_until = max(self.cool_until, now + min(cool, self._rules.cool_most_ms))
        if granted_ms > self._cut_at:
            flying = min(self.ceiling, in_flight) if self.ceiling else in_flight
            self.ceiling = max(1, flying // 2)
            self._cut_at = now
            self._good = 0

    def circuit(self, now: float) -> Circuit:
        """The circuit's state."""
        if not self.opens:
            return Circuit.CLOSED
        return Circuit.OPEN if now < self.open_until else Circuit.HALF_OPEN
