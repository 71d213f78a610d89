"""The governor of one process: embedded mode, and tests."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping

from workers.governor.port import Ended, Limits, Permit, ProfileState, Wait
from workers.governor.profile import Profile
from workers.governor.rules import Tuning, check_tokens, find_rules, rules_for


def monotonic_ms() -> float:
    """Milliseconds of a clock that is never set back."""
    return time.monotonic_ns() / 1e6


class LocalGovernor:
    """A Governor for the threads of one process. `clock` gives milliseconds."""

    def __init__(
        self, limits: Mapping[str, Limits], *, tuning: Tuning | None = None, clock: Callable[[], float] = monotonic_ms
    ) -> None:
        self._tuning = tuning or Tuning()
        self._rules = {name: rules_for(limit, self._tuning) for name, limit in limits.items()}
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        now = clock()
        self._profiles = {name: Profile(rules, now) for name, rules in self._rules.items()}

    def acquire(
        self, profile: str, job: str, tokens: int, *, owner: str, job_limits: Limits | None = None
    ) -> Permit | Wait:
        """A permit, or how long to wait and why."""
        check_tokens(find_rules(self._rules, profile), profile, tokens)
        own = rules_for(job_limits, self._tuning) if job_limits else None
        if own:
            check_tokens(own, job, tokens)
        with self._lock:
            number = str(next(self._numbers))
            permit = Permit(id=number, profile=profile, job=job, tokens=tokens, at_ms=self._clock())
            return self._profiles[profile].acquire(permit, owner, own) or permit

    def release(self, permit: Permit, *, tokens_used: int, ended: Ended) -> None:
        """Give a permit back."""
        find_rules(self._rules, permit.profile)
        with self._lock:
            self._profiles[permit.profile].release(permit, tokens_used, ended, self._clock())

    def renew(self, owner: str) -> None:
        """Keep the owner's permits for another lease."""
        with self._lock:
            now = self._clock()
            for profile in self._profiles.values():
                profile.renew(owner, now)

    def state(self, profile: str) -> ProfileState:
        """How a profile does."""
        find_rules(self._rules, profile)
        with self._lock:
            return self._profiles[profile].state(self._clock())
