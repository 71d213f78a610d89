"""Calls of a model outside jobs (a question, a test): under the profile's limits, and counted in `octavo usage`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from db.database import Database
from pipeline.models.errors import fault
from pipeline.retry import CallError, ErrorClass, Usage, decide
from workers.clock import now_ms
from workers.gate import AWAY, Gate
from workers.governor.port import Permit, Reason, Wait

PATIENCE_S = 60.0  # a person waits at most so long for a limit, or for a server that says: later
TRIES = 3
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Direct:
    """Asks one profile's model for one command."""

    kind: str  # ask, measure, test or probe
    model: str
    limits: str | None  # the name of those that hold the profile
    gate: Gate
    lease_s: float
    database: Callable[[], Database]  # made on first use: a test of a model needs none before it was asked
    tell: Callable[[str], None] = lambda _text: None  # what a person who waits is told

    def call(
        self, make: Callable[[], tuple[T, Usage]], *, tokens: int, document: UUID | None = None, tries: int = TRIES
    ) -> T:
        """Make a call that may use so many `tokens`; `document` is whose text is sent, where it is one document's.

        One that a server puts off (rate limited, overloaded) is tried again, as a task of a job is. Raises CallError.
        """
        for number in range(1, tries + 1):
            try:
                return self._governed(make, tokens, document)
            except CallError as error:
                wait_s = self._again_s(error, number, tries)
                if wait_s is None:
                    raise
                self.tell(f"{error.code}: trying again in {wait_s:.1f} s")
                time.sleep(wait_s)
        raise AssertionError("unreachable: the last try raises")

    @staticmethod
    def _again_s(error: CallError, number: int, tries: int) -> float | None:
        put_off = error.kind is ErrorClass.RATE_LIMITED or error.code == "overloaded"
        if not put_off or not error.used.calls:  # it was not even asked: waited for already
            return None
        decision = decide(error, attempt=number, attempts=tries, now_ms=0, seed=b"direct")
        wait_s = (decision.not_before_ms or 0) / 1000
        return wait_s if decision.again and wait_s <= PATIENCE_S else None

    def _governed(self, make: Callable[[], tuple[T, Usage]], tokens: int, document: UUID | None) -> T:
        with self._permit(tokens) as permit:
            used, failed = Usage(calls=0), None
            try:
                answer, used = make()
            except CallError as error:
                used, failed = error.used, error
                raise
            finally:
                if permit is not None:
                    self.gate.leave(permit, tokens=used.tokens_in + used.tokens_out or tokens, error=failed)
                self._note(used, failed, document)
            return answer

    @contextmanager
    def _permit(self, tokens: int) -> Iterator[Permit | None]:
        found = self.gate.permit(self.limits, self.kind, tokens, PATIENCE_S)
        if isinstance(found, Wait):
            raise _put_off(self.model, found)
        ended = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(ended,), name="octavo-permit", daemon=True)
        if found is not None:
            keeper.start()
        try:
            yield found
        finally:
            ended.set()

    def _keep(self, ended: threading.Event) -> None:
        """Renew the permit for as long as the call takes."""
        while not ended.wait(self.lease_s / 3):
            self.gate.renew()

    def _note(self, used: Usage, failed: CallError | None, document: UUID | None) -> None:
        if not used.calls:
            return
        with self.database().write() as rows:
            rows.usage.add_direct(
                kind=self.kind,
                model=self.model,
                document_id=document,
                calls=used.calls,
                tokens_in=used.tokens_in,
                tokens_out=used.tokens_out,
                cost_micros=used.cost_micros,
                error_code=failed.code if failed else None,
                ended_ms=now_ms(),
            )


def _put_off(model: str, wait: Wait) -> CallError:
    if wait is AWAY:
        told = "The broker that shares out the limits can not be reached"
        return fault("overloaded", told, hint="octavo doctor looks at it", used=Usage(calls=0))
    hint = f"try again in {max(1, round(wait.ms / 1000))} s"
    if wait.reason is Reason.CIRCUIT:
        return fault("overloaded", f"Model {model!r} was down just now", hint=hint, used=Usage(calls=0))
    told = f"The limits of model {model!r} leave no room now ({wait.reason.value})"
    return fault("rate_limited", told, hint=hint, used=Usage(calls=0))
