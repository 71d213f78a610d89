"""One profile's permits and waits, in process."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from workers.governor.bucket import Bucket
from workers.governor.health import Health
from workers.governor.port import Ended, Permit, ProfileState, Reason, Wait
from workers.governor.rules import Rules
from workers.governor.turns import Turns

BUCKET = frozenset({Reason.REQUESTS, Reason.TOKENS})


@dataclass(slots=True)
class Held:
    """A permit in flight."""

    permit: Permit
    owner: str
    until: float
    charged: bool = True  # whether its reservation is held in the token bucket


class Profile:
    """The state of one profile. Not thread-safe; `lua/acquire.lua` and `lua/release.lua` do the same."""

    def __init__(self, rules: Rules, now: float) -> None:
        self._rules = rules
        self._slots: dict[str, Held] = {}
        self._lapsed: dict[str, Held] = {}  # their lease ended, but nobody released them yet
        self._jobs: Counter[str] = Counter()
        self._requests = Bucket(rules.requests, now) if rules.requests else None
        self._tokens = Bucket(rules.tokens, now) if rules.tokens else None
        self._health = Health(rules)
        self._turns = Turns()
        self._waits: Counter[Reason] = Counter()

    def acquire(self, permit: Permit, owner: str) -> Wait | None:
        """Take the permit, or say how long to wait."""
        now = permit.at_ms
        self._forward(now)
        wait = self._refuse(permit.job, permit.tokens, now)
        if wait is not None:
            self._waits[wait.reason] += 1
            return wait
        self._slots[permit.id] = Held(permit, owner, now + self._rules.lease_ms)
        self._jobs[permit.job] += 1
        if self._requests:
            self._requests.take(1, hold=False)
        if self._tokens:
            self._tokens.take(permit.tokens, hold=True)
        self._health.granted(permit.id)
        cost = max(1, permit.tokens) if self._tokens else 1
        self._turns.granted(permit.job, cost, now + 2 * self._rules.poll_ms)
        return None

    def _forward(self, now: float) -> None:
        """Bring everything to the present: leases end, buckets refill, jobs that no longer ask are forgotten."""
        for held in [held for held in self._slots.values() if held.until <= now]:
            self._lapsed[held.permit.id] = held
            self._free(held.permit)
            if self._tokens and held.charged:
                self._tokens.settle(held.permit.tokens, held.permit.tokens)
        if self._requests:
            self._requests.refill(now)
        if self._tokens:
            self._tokens.refill(now)
        self._turns.expire(now)

    def _free(self, permit: Permit) -> None:
        del self._slots[permit.id]
        self._jobs[permit.job] -= 1
        if self._jobs[permit.job] <= 0:
            del self._jobs[permit.job]

    def _refuse(self, job: str, tokens: int, now: float) -> Wait | None:
        wait = self._health.refuse(now, self._slots)
        if wait is not None:
            return wait
        wait, for_bucket = self._slot(job), False
        if wait is None:
            wait, for_bucket = self._bucket(job, tokens), True
        if wait is not None:
            self._turns.refused(job, now + wait.ms + self._rules.waiting_ms, for_bucket=for_bucket)
        return wait

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
        for bucket, amount, reason in (
            (self._requests, 1, Reason.REQUESTS),
            (self._tokens, tokens, Reason.TOKENS),
        ):
            wait_ms = bucket.wait_ms(amount, self._rules.poll_ms, self._rules.ask_most_ms) if bucket else 0
            if wait_ms:
                return Wait(ms=wait_ms, reason=reason)
        if self._turns.out_of_turn(job):
            return Wait(ms=self._rules.poll_ms, reason=Reason.FAIRNESS)
        return None

    def release(self, permit: Permit, tokens_used: int, ended: Ended, now: float) -> None:
        """Give the slot back and learn from the call's end."""
        self._forward(now)
        in_flight = len(self._slots)
        held = self._slots.get(permit.id)
        if held is not None:
            self._free(permit)
        self._lapsed.pop(permit.id, None)
        if self._tokens and held is not None and held.charged:
            self._tokens.settle(permit.tokens, tokens_used)
        elif self._tokens:
            self._tokens.debit(max(0, tokens_used - permit.tokens))
        self._health.ended(permit, ended, now, in_flight)

    def renew(self, owner: str, now: float) -> None:
        """Keep the owner's permits for another lease; one whose lease ended holds its slot again, not its tokens."""
        for held in [held for held in self._lapsed.values() if held.owner == owner]:
            del self._lapsed[held.permit.id]
            held.charged = False
            self._slots[held.permit.id] = held
            self._jobs[held.permit.job] += 1
        for held in self._slots.values():
            if held.owner == owner:
                held.until = now + self._rules.lease_ms

    def state(self, now: float) -> ProfileState:
        """A look, which changes nothing."""
        live = [held for held in self._slots.values() if held.until > now]
        ended = sum(held.permit.tokens for held in self._slots.values() if held.until <= now and held.charged)
        health = self._health
        return ProfileState(
            in_flight=len(live),
            jobs=dict(Counter(held.permit.job for held in live)),
            waiting=self._turns.waiting(now),
            requests_left=self._requests.left(now, 0) if self._requests else None,
            tokens_left=self._tokens.left(now, ended) if self._tokens else None,
            circuit=health.circuit(now),
            circuit_for_ms=max(0, round(health.open_until - now)) if health.opens else 0,
            cool_for_ms=max(0, round(health.cool_until - now)),
            ceiling=health.ceiling or None,
            waits=dict(self._waits),
        )
