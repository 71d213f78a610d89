"""The numbers that both implementations go by: limits and tuning, turned into flows in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from workers.governor.port import Limits, TooManyTokensError, UnknownProfileError

MOST = 0.9  # the largest part of a token limit that may be burst; the rest is the rate, which must not come to nothing
SLACK = 1e-9  # keeps the rounding of floats below the limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """How the governor behaves inside the limits."""

    burst: float = 0.1  # the part of a limit that may be taken at once; the rest flows evenly
    lease_s: float = 30  # a permit that is not renewed so long comes back
    waiting_s: float = 2  # a job that was told to wait is waited for so long after the time it was told
    poll_ms: int = 200  # when to ask again for what only another call's end can free
    ask_most_ms: int = 5_000  # no wait for a bucket is told longer, so that a job that went away is not waited for long
    successes: int = 20  # good calls for each slot that the adaptive ceiling rises
    cool_ms: int = 1_000  # the pause after a 429 without Retry-After
    cool_most_ms: int = 600_000  # no Retry-After is followed for longer
    downs: int = 5  # failures in a row that open the circuit
    downs_within_s: float = 60  # counted from the first of them
    open_ms: int = 2_000  # until the first probe; doubles with each that fails
    open_most_ms: int = 120_000
    forget_s: float = 3_600  # state of a profile that nobody uses is dropped; at least two windows and leases


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow:
    """One limit as a bucket (see `workers.governor.bucket`): `total` in any window, at most `burst` of it at once."""

    total: float
    burst: float
    most: float  # what the burst may grow to
    window_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """All that decides about the permits of one profile."""

    concurrency: int | None
    requests: Flow | None
    tokens: Flow | None
    lease_ms: float
    waiting_ms: float
    poll_ms: int
    ask_most_ms: int
    successes: int
    cool_ms: int
    cool_most_ms: int
    downs: int
    downs_within_ms: float
    open_ms: int
    open_most_ms: int
    forget_ms: int


@lru_cache(maxsize=4096)
def rules_for(limits: Limits, tuning: Tuning) -> Rules:
    """The rules of a profile, or of one job's own limits."""
    window_ms = limits.window_s * 1000
    forget_s = max(tuning.forget_s, 2 * limits.window_s, 2 * tuning.lease_s)
    return Rules(
        concurrency=limits.concurrency,
        requests=_requests(limits.requests_per_minute, tuning.burst, window_ms),
        tokens=_tokens(limits.tokens_per_minute, tuning.burst, window_ms),
        lease_ms=tuning.lease_s * 1000,
        waiting_ms=tuning.waiting_s * 1000,
        poll_ms=tuning.poll_ms,
        ask_most_ms=tuning.ask_most_ms,
        successes=tuning.successes,
        cool_ms=tuning.cool_ms,
        cool_most_ms=tuning.cool_most_ms,
        downs=tuning.downs,
        downs_within_ms=tuning.downs_within_s * 1000,
        open_ms=tuning.open_ms,
        open_most_ms=tuning.open_most_ms,
        forget_ms=int(forget_s * 1000),
    )


def _requests(limit: int | None, part: float, window_ms: float) -> Flow | None:
    """Requests are whole, so what flows may be anything below limit + 1: then at most `limit` of them fit."""
    if limit is None:
        return None
    burst = max(1.0, limit * part)
    return Flow(total=(limit + 1) * (1 - SLACK), burst=burst, most=burst, window_ms=window_ms)


def _tokens(limit: int | None, part: float, window_ms: float) -> Flow | None:
    if limit is None:
        return None
    most = limit * MOST
    return Flow(total=limit * (1 - SLACK), burst=min(max(1.0, limit * part), most), most=most, window_ms=window_ms)


def find_rules(rules: Mapping[str, Rules], profile: str) -> Rules:
    """The rules of a profile by name."""
    try:
        return rules[profile]
    except KeyError:
        known = ", ".join(sorted(rules))
        raise UnknownProfileError(f"There is no model profile {profile!r}", hint=f"known: {known}") from None


def check_tokens(rules: Rules, name: str, tokens: int) -> None:
    """Raise TooManyTokensError for a call that no wait would help. `name` is the profile, or the job with limits."""
    if rules.tokens is not None and tokens > rules.tokens.most:
        raise TooManyTokensError(
            f"A call may use {tokens} tokens, and the limit of {name!r} can give one call {int(rules.tokens.most)}",
            hint="lower max_tokens or the grain's limit, or raise tokens_per_minute if the provider allows more",
        )
