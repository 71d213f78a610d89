"""The governor of all hosts: its state lies in one Redis (6.2 or newer, or Valkey)."""

from __future__ import annotations

import dataclasses
import json
import os
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from workers.governor.port import OTHER, Circuit, Ended, Limits, Permit, ProfileState, Reason, Wait
from workers.governor.rules import Rules, Tuning, check_tokens, find_rules, rules_for
from workers.governor.scripts import Session

PREFIX = "octavo:governor"
REFUSED, LOST = 0, 2  # answers of acquire.lua; 1 is a grant


class RedisGovernor:
    """A Governor shared through Redis. Each method is one atomic script; the time is Redis's own.

    Keys are `{prefix:profile}` and that with a suffix, and expire when a profile is not used for `Tuning.forget_s`.
    After a loss of the state (FLUSHALL, a restart without persistence) the buckets start empty, and each process puts
    the permits it holds back as soon as it notices: at its next `acquire` or `renew`. A connection is made on first
    use in a process, so that none is shared over a fork. `clock` (milliseconds) replaces Redis's time in tests.

    A retried round trip does no harm: a permit's id is made here, and the second `acquire` of it finds the first.
    """

    def __init__(
        self,
        url: str,
        limits: Mapping[str, Limits],
        *,
        tuning: Tuning | None = None,
        prefix: str = PREFIX,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._url = url
        self._prefix = prefix
        self._clock = clock
        self._tuning = tuning or Tuning()
        self._rules = {name: rules_for(limit, self._tuning) for name, limit in limits.items()}
        self._sessions: dict[int, Session] = {}

    @property
    def _session(self) -> Session:
        pid = os.getpid()
        return self._sessions.get(pid) or self._sessions.setdefault(pid, Session(self._url))

    def _run(self, script: str, profile: str, *arguments: str | int | bytes) -> Any:
        now = -1 if self._clock is None else self._clock()
        key = f"{{{self._prefix}:{profile}}}"
        return self._session.run(script, key, (_encode(self._rules[profile]), repr(now), *arguments))

    def acquire(
        self, profile: str, job: str, tokens: int, *, owner: str, job_limits: Limits | None = None
    ) -> Permit | Wait:
        """A permit, or how long to wait and why."""
        check_tokens(find_rules(self._rules, profile), profile, tokens)
        own = rules_for(job_limits, self._tuning) if job_limits else None
        if own:
            check_tokens(own, job, tokens)
        session, number = self._session, f"g{uuid.uuid4().hex}"
        asked = (number, job, tokens)
        answer, now, reason, ms = self._ask(session, profile, asked, own)
        if answer == LOST:
            self._restore(session, profile, session.permits(profile))
            answer, now, reason, ms = self._ask(session, profile, asked, own)
        if answer == LOST:  # and again: let it come to rest
            return Wait(ms=self._rules[profile].poll_ms, reason=Reason.CONCURRENCY)
        if answer == REFUSED:
            return Wait(ms=ms, reason=Reason(reason))
        permit = Permit(id=number, profile=profile, job=job, tokens=tokens, at_ms=now)
        session.hold(permit, owner)
        return permit

    def _ask(
        self, session: Session, profile: str, asked: tuple[str, str, int], own: Rules | None
    ) -> tuple[int, float, str, int]:
        birth, top = session.seen.get(profile, (b"", b"0"))
        reply = self._run("acquire", profile, *asked, top, birth, _encode(own) if own else "")
        answer, birth, top, now = reply[:4]
        session.seen[profile] = birth, top
        reason, ms = reply[4:] if answer == REFUSED else (b"", 0)
        return int(answer), float(now), reason.decode(), int(ms)

    def _restore(self, session: Session, profile: str, permits: list[Permit]) -> None:
        if not permits:
            return
        self._run("restore", profile, *(item for permit in permits for item in (permit.id, permit.job, permit.tokens)))
        for permit in session.released(permits):  # by another thread meanwhile
            self._release(permit, 0, OTHER)

    def release(self, permit: Permit, *, tokens_used: int, ended: Ended) -> None:
        """Give a permit back."""
        find_rules(self._rules, permit.profile)
        self._session.drop(permit)
        self._release(permit, tokens_used, ended)

    def _release(self, permit: Permit, tokens_used: int, ended: Ended) -> None:
        retry_after = -1 if ended.retry_after_ms is None else ended.retry_after_ms
        self._run(
            "release", permit.profile, permit.id, permit.job, repr(permit.at_ms), permit.tokens, tokens_used,
            ended.how.value, retry_after,
        )  # fmt: skip

    def renew(self, owner: str) -> None:
        """Keep the owner's permits for another lease: a round trip for each profile of which it holds some."""
        session = self._session
        for profile in self._rules:
            held = {permit.id: permit for permit in session.permits(profile, owner)}
            if held:
                lost = {number.decode() for number in self._run("renew", profile, *held)}
                self._restore(session, profile, [permit for permit in session.permits(profile) if permit.id in lost])

    def state(self, profile: str) -> ProfileState:
        """How a profile does. Writes nothing."""
        rules = find_rules(self._rules, profile)
        pairs, flights, waiting, now = self._run("state", profile)
        return _state(rules, _texts(pairs), _texts(flights), waiting, float(now))

    def close(self) -> None:
        """Close this process's connections."""
        session = self._sessions.pop(os.getpid(), None)
        if session is not None:
            session.close()


@lru_cache(maxsize=4096)
def _encode(rules: Rules) -> str:
    """The rules as JSON without nulls, which Lua would take for true."""
    return json.dumps({name: value for name, value in dataclasses.asdict(rules).items() if value is not None})


def _texts(flat: list[Any]) -> dict[str, str]:
    items = [item.decode() if isinstance(item, bytes) else str(item) for item in flat]
    return dict(zip(items[::2], items[1::2], strict=True))


def _state(
    rules: Rules, fields: dict[str, str], flights: dict[str, str], waiting: list[bytes], now: float
) -> ProfileState:
    jobs = {job: int(count) for job, count in flights.items()}
    until = {name: float(fields.get(name, 0)) for name in ("open_until", "cool_until")}
    circuit = Circuit.CLOSED
    if float(fields.get("opens", 0)):
        circuit = Circuit.OPEN if now < until["open_until"] else Circuit.HALF_OPEN
    waits = {reason: int(float(fields.get(f"waits.{reason.value}", 0))) for reason in Reason}
    return ProfileState(
        in_flight=sum(jobs.values()),
        jobs=jobs,
        waiting=tuple(sorted(job.decode() for job in waiting)),
        requests_left=int(float(fields["requests.level"]) // 1) if rules.requests else None,
        tokens_left=int(float(fields["tokens.level"]) // 1) if rules.tokens else None,
        circuit=circuit,
        circuit_for_ms=0 if circuit is Circuit.CLOSED else max(0, round(until["open_until"] - now)),
        cool_for_ms=max(0, round(until["cool_until"] - now)),
        ceiling=int(float(fields.get("ceiling", 0))) or None,
        waits={reason: count for reason, count in waits.items() if count},
    )
