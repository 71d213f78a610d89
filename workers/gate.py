"""The gate before a call: a permit of the governor, or the task goes back to its row (DESIGN §6)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

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
    quiet: dict[str, tuple[float, Reason]] = field(
        default_factory=dict
    )  # until when this process saw that none may ask

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

    def leave(self, permit: Permit, *, tokens: int, error: CallError | None, called: bool = True) -> bool:
        """Give the permit back; says whether the provider is down, so that the failure counts against nobody.

        Not `called`: the permit was not used, and nothing was learnt.
        """
        ended = _ended(error) if called else OTHER
        try:
            self.governor.release(permit, tokens_used=tokens, ended=ended)
            if ended.how not in (End.PROVIDER_DOWN, End.RATE_LIMITED):
                return False
            state = self.governor.state(permit.profile)
        except GovernorUnavailableError:
            return False  # the permit comes back by its lease
        if state.circuit_for_ms or state.cool_for_ms:
            reason = Reason.CIRCUIT if state.circuit_for_ms else Reason.COOL_DOWN
            until = time.monotonic() + max(state.circuit_for_ms, state.cool_for_ms) / 1000
            self.quiet[permit.profile] = (until, reason)
        return ended.how is End.PROVIDER_DOWN and state.circuit is not Circuit.CLOSED

    def silent(self, permit: Permit) -> Wait | None:
        """Is the provider to be let alone by now? For a call that has its permit and waited for its slot since."""
        until, reason = self.quiet.get(permit.profile, (0.0, Reason.CIRCUIT))
        left = until - time.monotonic()
        return Wait(ms=math.ceil(left * 1000), reason=reason) if left > 0 else None

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
