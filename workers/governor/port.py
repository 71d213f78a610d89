"""What callers of the governor see: its values, its errors and the protocol both implementations follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from pipeline.errors import NotFoundError, OctavoError, SettingsError


class GovernorUnavailableError(OctavoError):
    """The governor's Redis can not be reached; wait and ask again."""


class TooManyTokensError(OctavoError):
    """A call asks for more tokens than the limit can ever give it."""


class UnknownProfileError(NotFoundError):
    """There is no such model profile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a provider allows one model profile. None: no such limit. Raises SettingsError for a limit below 1."""

    concurrency: int | None = None  # calls in flight
    requests_per_minute: int | None = None  # calls begun in any `window_s`
    tokens_per_minute: int | None = None  # tokens of them, input and output, in any `window_s`
    window_s: float = 60  # the minute; tests shrink it

    def __post_init__(self) -> None:
        for name in ("concurrency", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"The limit {name} is {value}", hint="give 1 or more, or leave it out")
        if self.window_s <= 0:
            raise SettingsError(f"The limit window_s is {self.window_s}", hint="give the seconds of the window")


@dataclass(frozen=True, kw_only=True, slots=True)
class Permit:
    """Leave to make one call. It holds a slot until it is released or its lease ends."""

    id: str
    profile: str
    job: str
    tokens: int  # reserved: input and the most the answer may have
    at_ms: float  # when it was given, by the governor's clock


class Reason(StrEnum):
    """Why there is no permit now."""

    CONCURRENCY = "concurrency"  # all slots are taken
    REQUESTS = "requests"  # the request bucket is short
    TOKENS = "tokens"  # the token bucket is short
    CIRCUIT = "circuit"  # the provider is down
    COOL_DOWN = "cool_down"  # the provider said: later
    ADAPTIVE = "adaptive"  # fewer slots than allowed, since it said so
    FAIRNESS = "fairness"  # it is another job's turn


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """No permit now. Ask again after `ms`: when one may be free, not a promise."""

    ms: int
    reason: Reason


class End(StrEnum):
    """How a call ended, as far as the provider's health tells."""

    OK = "ok"
    RATE_LIMITED = "rate_limited"  # 429
    PROVIDER_DOWN = "provider_down"  # no connection, 5xx, a time-out
    OTHER = "other"  # any other error, or no call was made


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a call ended. `retry_after_ms` is what a rate-limiting provider asked for."""

    how: End
    retry_after_ms: int | None = None


OK = Ended(how=End.OK)
PROVIDER_DOWN = Ended(how=End.PROVIDER_DOWN)
OTHER = Ended(how=End.OTHER)


class Circuit(StrEnum):
    """What is thought of the provider."""

    CLOSED = "closed"  # it answers
    OPEN = "open"  # it is down; nobody asks it
    HALF_OPEN = "half_open"  # one probe may ask it


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileState:
    """A moment's look at one profile, for status pages and metrics."""

    in_flight: int
    jobs: Mapping[str, int] = field(default_factory=dict)  # in flight of each job
    waiting: tuple[str, ...] = ()  # jobs that were refused lately
    requests_left: int | None = None  # that could begin at once; None: no limit
    tokens_left: int | None = None  # below 0 after calls that used more than they had reserved
    circuit: Circuit = Circuit.CLOSED
    circuit_for_ms: int = 0  # until a probe may be sent
    cool_for_ms: int = 0  # until the provider may be asked again after a 429
    ceiling: int | None = None  # the adaptive one; None: not lowered
    waits: Mapping[Reason, int] = field(default_factory=dict)  # refusals by reason since the state began


class Governor(Protocol):
    """Gives and takes back permits. Safe to call from many threads; no method blocks on a limit."""

    def acquire(
        self, profile: str, job: str, tokens: int, *, owner: str, job_limits: Limits | None = None
    ) -> Permit | Wait:
        """A permit for one call of `job` that may use `tokens` (input and output), or how long to wait and why.

        `owner` is the process whose `renew` keeps the permit. `job_limits` hold this job's calls to this profile; give
        them with each call of the job. Raises UnknownProfileError, TooManyTokensError (this call can never be made),
        GovernorUnavailableError.
        """
        ...

    def release(self, permit: Permit, *, tokens_used: int, ended: Ended) -> None:
        """Give the slot back, correct the reservation by what was used, and learn how the provider does.

        To release a permit twice, or one whose lease ended, is harmless. Raises GovernorUnavailableError; the permit
        then comes back by its lease, so it need not be tried again.
        """
        ...

    def renew(self, owner: str) -> None:
        """The heartbeat: keep the permits that `owner` holds for another lease. Raises GovernorUnavailableError."""
        ...

    def state(self, profile: str) -> ProfileState:
        """How a profile does. Raises UnknownProfileError, GovernorUnavailableError."""
        ...
