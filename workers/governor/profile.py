"""One profile's permits and waits, in process."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from workers.governor.buckets import Buckets
from workers.governor.health import Health
from workers.governor.port import Ended, Permit, ProfileState, Reason, Wait
from workers.governor.rules import Rules
from workers.governor.turns import Turns


@dataclass(slots=True)
class Held:
    """A permit in flight."""

    permit: Permit
    owner: str
    until: float
    charged: bool = True  # whether the buckets hold its reservation
    own: bool = False  # whether those of its job's own limits do


class Profile:
    """The state of one profile. Not thread-safe; `lua/acquire.lua` and `lua/release.lua` do the same."""

    def __init__(self, rules: Rules, now: float) -> None:
        self._rules = rules
        self._slots: dict[str, Held] = {}
        self._lapsed: dict[str, Held] = {}  # their lease ended, but nobody released them yet
        self._jobs: Counter[str] = Counter()
        self._buckets = Buckets(rules, now)
        self._own: dict[str, Buckets] = {}  # job → the buckets of its own limits
        self._health = Health(rules)
        self._turns = Turns()
        self._waits: Counter[Reason] = Counter()

    def acquire(self, permit: Permit, owner: str, own: Rules | None) -> Wait | None:
        """Take the permit, or say how long to wait. `own` are the rules of the job's own limits."""
        now = permit.at_ms
        self._forward(now)
        wait = self._refuse(permit, own)
        if wait is not None:
            self._waits[wait.reason] += 1
            return wait
        self._slots[permit.id] = Held(permit, owner, now + self._rules.lease_ms, own=own is not None)
        self._jobs[permit.job] += 1
        self._buckets.take(permit.tokens)
        if own:
            self._own[permit.job].take(permit.tokens)
        self._health.granted(permit.id)
        cost = max(1, permit.tokens) if self._rules.tokens else 1
        self._turns.granted(permit.job, cost, now + 2 * self._rules.poll_ms)
        return None

    def _forward(self, now: float) -> None:
        """Bring everything to the present: buckets refill, leases end, jobs that no longer ask are forgotten."""
        self._buckets.refill(now)
        for held in [held for held in self._slots.values() if held.until <= now]:
            self._lapsed[held.permit.id] = held
            self._free(held.permit)
            self._settle(held, held.permit.tokens, now)
        self._turns.expire(now)

    def _settle(self, held: Held, used: int, now: float) -> None:
        self._buckets.settle(held.permit.tokens, used, charged=held.charged)
        own = self._own.get(held.permit.job)
        if own:
            own.refill(now)
            own.settle(held.permit.tokens, used, charged=held.own)

    def _free(self, permit: Permit) -> None:
        del self._slots[permit.id]
        self._jobs[permit.job] -= 1
        if self._jobs[permit.job] <= 0:
            del self._jobs[permit.job]

    def _refuse(self, permit: Permit, own: Rules | None) -> Wait | None:
        job, now = permit.job, permit.at_ms
        wait = self._health.refuse(now, self._slots)
        if wait is not None:
            return wait
        wait = self._refuse_own(permit, own) if own else None
        if wait is not None:
            self._turns.withdrawn(job)  # others need not hold back for a job that may not go on
            return wait
        wait, for_bucket = self._slot(job), False
        if wait is None:
            wait, for_bucket = self._bucket(job, permit.tokens), True
        if wait is not None:
            self._turns.refused(job, now + wait.ms + self._rules.waiting_ms, for_bucket=for_bucket)
        return wait

    def _refuse_own(self, permit: Permit, own: Rules) -> Wait | None:
        now = permit.at_ms
        if permit.job not in self._own:
            forget = [job for job, old in self._own.items() if now - old.used_at > self._rules.forget_ms]
            for job in forget:
                del self._own[job]
            self._own[permit.job] = Buckets(own, now)
        buckets = self._own[permit.job]
        buckets.follow(own, now)
        buckets.refill(now)
        if own.concurrency is not None and self._jobs[permit.job] >= own.concurrency:
            return Wait(ms=self._rules.poll_ms, reason=Reason.CONCURRENCY)
        return buckets.refuse(permit.tokens)

    def _slot(self, job: str) -> Wait | None:
        most, ceiling = self._rules.concurrency, self._health.ceiling
        slots = min(limit for limit in (most, ceiling) if limit) if most or ceiling else 0
        if not slots:
            return None
        if len(self._slots) >= slots:
            reason = Reason.CONCURRENCY if slots == most else Reason.ADAPTIVE
            return Wait(ms=self._rules.poll_ms, reason=reason)
        if self._turns.over_share(job, self._jobs, slots):
            return Wait(ms=self._rules.poll_ms, reason=Reason.FAIRNESS)
        return None

    def _bucket(self, job: str, tokens: int) -> Wait | None:
        wait = self._buckets.refuse(tokens)
        if wait is None and self._turns.out_of_turn(job):
            return Wait(ms=self._rules.poll_ms, reason=Reason.FAIRNESS)
        return wait

    def release(self, permit: Permit, tokens_used: int, ended: Ended, now: float) -> None:
        """Give the slot back and learn from the call's end."""
        self._forward(now)
        in_flight = len(self._slots)
        held = self._slots.get(permit.id)
        if held is not None:
            self._free(permit)
        self._lapsed.pop(permit.id, None)
        self._settle(held or Held(permit, "", now, charged=False), tokens_used, now)
        self._health.ended(permit, ended, now, in_flight)

    def renew(self, owner: str, now: float) -> None:
        """Keep the owner's permits for another lease; one whose lease ended holds its slot again, not its tokens."""
        for held in [held for held in self._lapsed.values() if held.owner == owner]:
            del self._lapsed[held.permit.id]
            held.charged = held.own = False
            self._slots[held.permit.id] = held
            self._jobs[held.permit.job] += 1
        for held in self._slots.values():
            if held.owner == owner:
                held.until = now + self._rules.lease_ms

    def state(self, now: float) -> ProfileState:
        """A look, which changes nothing."""
        live = [held for held in self._slots.values() if held.until > now]
        health, requests, tokens = self._health, self._buckets.requests, self._buckets.tokens
        return ProfileState(
            in_flight=len(live),
            jobs=dict(Counter(held.permit.job for held in live)),
            waiting=self._turns.waiting(now),
            requests_left=requests.left(now) if requests else None,
            tokens_left=tokens.left(now) if tokens else None,
            circuit=health.circuit(now),
            circuit_for_ms=max(0, round(health.open_until - now)) if health.opens else 0,
            cool_for_ms=max(0, round(health.cool_until - now)),
            ceiling=health.ceiling or None,
            waits=dict(self._waits),
        )
