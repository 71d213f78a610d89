"""The gate before a call: a permit of the governor, or the task goes back to its row (DESIGN §6)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.models.errors import DOWN_CODES
from pipeline.retry import CallError, ErrorClass
from workers.execute import Work
from workers.governor.port import (
    OK,
    OTHER,
    PROVIDER_DOWN,
    Circuit,
    End,
    Ended,
    Governor,
    GovernorUnavailableError,
    Limits,
    Permit,
    Reason,
    TooManyTokensError,
    Wait,
)

PATIENCE_S = 1.0  # a slot waits at most so long; then its task goes back, and the slot does another
SHORTEST_S = 0.01
AWAY = Wait(ms=1_000, reason=Reason.CONCURRENCY)  # the governor itself does not answer


@dataclass(frozen=True, slots=True)
class Gate:
    """Asks the governor for the steps that name a limit."""

    governor: Governor
    limits: Mapping[str, Limits]
    owner: str

    def enter(self, work: Work, tokens: int) -> Permit | Wait | None:
        """A permit, None for work that needs none, or how long to wait and why. Raises CallError when overlong."""
        return self.permit(work.plan.limits, str(work.step.job_id), tokens, PATIENCE_S)

    def permit(self, name: str | None, job: str, tokens: int, patience_s: float) -> Permit | Wait | None:
        """The same by the name of the limits. `job` is who asks, among whom turns are fair."""
        if name is None or name not in self.limits:
            return None
        until = time.monotonic() + patience_s
        while True:
            found = self._ask(name, job, tokens)
            if isinstance(found, Permit):
                return found
            left = until - time.monotonic()
            if left <= 0 or found.reason is Reason.CIRCUIT:
                return found
            time.sleep(min(left, max(SHORTEST_S, found.ms / 1000)))

    def _ask(self, name: str, job: str, tokens: int) -> Permit | Wait:
        try:
            return self.governor.acquire(name, job, max(1, tokens), owner=self.owner)
        except TooManyTokensError as error:
            raise CallError(ErrorClass.OVERLONG, "over_limit", error.message) from error
        except GovernorUnavailableError:
            return AWAY

    def leave(self, permit: Permit, *, tokens: int, error: CallError | None) -> bool:
        """Give the permit back; says whether the provider is down, so that the failure counts against nobody."""
        ended = _ended(error)
        try:
            self.governor.release(permit, tokens_used=tokens, ended=ended)
            if ended.how is not End.PROVIDER_DOWN:
                return False
            return self.governor.state(permit.profile).circuit is not Circuit.CLOSED
        except GovernorUnavailableError:
            return False  # the permit comes back by its lease

    def renew(self) -> None:
        """Keep the permits of this process."""
        if self.limits:
            try:
                self.governor.renew(self.owner)
            except GovernorUnavailableError:
                return  # the next beat tries again


def _ended(error: CallError | None) -> Ended:
    if error is None:
        return OK
    if error.kind is ErrorClass.RATE_LIMITED:
        return Ended(how=End.RATE_LIMITED, retry_after_ms=error.retry_after_ms)
    return PROVIDER_DOWN if error.code in DOWN_CODES else OTHER
