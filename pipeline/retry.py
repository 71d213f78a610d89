"""A retry is a returned decision: (error, attempt, now) to a decision."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from pipeline.errors import ModelError


class ErrorClass(StrEnum):
    """What kind of thing went wrong, which is what decides about a retry."""

    RATE_LIMITED = "rate_limited"  # the provider says: later
    TRANSIENT = "transient"  # the network, a time-out, an overloaded server
    OVERLONG = "overlong"  # the input does not fit the window
    INVALID_OUTPUT = "invalid_output"  # truncated, empty, refused, not of the schema
    PERMANENT = "permanent"  # another try gives the same
    STOP = "stop"  # no call can succeed until a person mends something: the key, the model's name, an unpaid bill


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What calls used: an answer that is no result was paid for too."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0
    calls: int = 1  # requests to the model: an input that is split takes several

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost_micros=self.cost_micros + other.cost_micros,
            calls=self.calls + other.calls,
        )


class CallError(ModelError):
    """A call failed. `used` is what it cost all the same."""

    def __init__(
        self,
        kind: ErrorClass,
        code: str,
        message: str,
        *,
        retry_after_ms: int | None = None,
        hint: str | None = None,
        used: Usage | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.code = code
        self.retry_after_ms = retry_after_ms
        self.used = used or Usage()


class RateLimitedError(CallError):
    """The provider asks for a pause. For an op's own use: `retry_after_s` is what the provider said."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        wait = None if retry_after_s is None else int(retry_after_s * 1000)
        super().__init__(ErrorClass.RATE_LIMITED, "rate_limited", message, retry_after_ms=wait)


class ProviderDownError(CallError):
    """The provider does not answer, or answers that it can not. For an op's own use."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorClass.TRANSIENT, "provider_down", message)


class PermanentError(CallError):
    """Another try would give the same. For an op's own use: the chunk becomes a hole at once."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorClass.PERMANENT, "permanent", message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What becomes of a task after an error: try again at a time, or a hole; `stop`: the job waits for a person."""

    again: bool
    not_before_ms: int | None = None
    stop: bool = False


BASE_MS = 500
CAP_MS = 60_000


def decide(error: CallError, *, attempt: int, attempts: int, now_ms: int, seed: bytes) -> Decision:
    """Decide about a task whose `attempt`-th attempt (from 1) of at most `attempts` failed.

    Transient errors wait exponentially with full jitter (Brooker, "Exponential Backoff and Jitter", AWS 2015): uniform
    in [0, min(cap, base × 2^(attempt−1))]; the jitter comes from `seed` and the attempt, so a test can repeat it.
    A rate limit waits at least what the provider asked. Invalid output is re-asked at once. What a person must mend
    first stops the job and counts against nothing.
    """
    if error.kind is ErrorClass.STOP:
        return Decision(again=True, stop=True)
    if error.kind in (ErrorClass.PERMANENT, ErrorClass.OVERLONG) or attempt >= attempts:
        return Decision(again=False)
    if error.kind is ErrorClass.INVALID_OUTPUT:
        return Decision(again=True, not_before_ms=now_ms)
    most = min(CAP_MS, BASE_MS * 2 ** (attempt - 1))
    jitter = int.from_bytes(hashlib.sha256(seed + attempt.to_bytes(4)).digest()[:4]) % (most + 1)
    return Decision(again=True, not_before_ms=now_ms + max(jitter, error.retry_after_ms or 0))
