"""Commit outcomes: one transaction for a group of them (DESIGN §6)."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence

from db.database import Database, Repositories
from db.errors import DatabaseBusyError, DatabaseUnreachableError
from db.values import Counts, NewAttempt
from pipeline.errors import OctavoError, StorageError
from pipeline.retry import Decision, decide
from pipeline.states import Outcome
from workers.clock import now_ms
from workers.execute import Done, Failed, Work

log = logging.getLogger(__name__)

GROUP = 512  # outcomes in one transaction at most
ENOUGH = 128  # so many do not wait for more
LINGER_S = 0.02  # an outcome waits at most so long for company: a commit costs much, a row in it little
AGAIN_S = 0.5  # between tries to reach a database that went away
PATIENCE_S = 60.0  # outputs in hand are kept and tried again so long

Ended = Done | Failed


def commit(rows: Repositories, owner: str, group: Sequence[Ended]) -> int:
    """Write a group of outcomes; gives how many were ours to write.

    An outcome whose task was leased anew (another epoch) changes nothing: its holder was taken for dead.
    """
    epochs = rows.tasks.epochs([item.work.claim.id for item in group])
    live = [item for item in group if epochs.get(item.work.claim.id) == item.work.claim.epoch]
    done = [item for item in live if isinstance(item, Done)]
    failed = [item for item in live if isinstance(item, Failed)]
    rows.results.add([item.result for item in done])
    rows.tasks.finish([item.work.claim.id for item in done])
    rows.tasks.finish_waiting([item.work.claim.key for item in done])
    attempts = [_attempt(owner, item, Outcome.DONE) for item in done]
    attempts += [_settle(rows, owner, item) for item in failed]
    rows.tasks.add_attempts(attempts)
    rows.leases.release([item.work.claim.key for item in live], owner=owner)
    rows.tasks.free_waiting([item.work.claim.key for item in failed])
    rows.jobs.count(owner, _counts(live))
    return len(live)


def _settle(rows: Repositories, owner: str, item: Failed) -> NewAttempt:
    claim = item.work.claim
    decision = _decision(rows, item)
    if decision.again:
        rows.tasks.again([claim.id], not_before_ms=decision.not_before_ms, code=item.error.code)
        return _attempt(owner, item, Outcome.RETRY)
    rows.tasks.fail([claim.id], item.error.code)
    return _attempt(owner, item, Outcome.FAILED)


def _decision(rows: Repositories, item: Failed) -> Decision:
    claim, plan = item.work.claim, item.work.plan
    attempt = claim.attempt - claim.losses
    decision = decide(item.error, attempt=attempt, attempts=plan.attempts, now_ms=now_ms(), seed=claim.key)
    if decision.again:
        job = rows.jobs.get(item.work.step.job_id)
        steps = [step.id for step in rows.jobs.steps(item.work.step.job_id)]
        spent = sum(counts.retries for counts in rows.jobs.counts(steps).values())
        if job is not None and spent >= job.retry_budget:
            return Decision(again=False)
    return decision


def _attempt(owner: str, item: Ended, outcome: Outcome) -> NewAttempt:
    claim = item.work.claim
    error = item.error if isinstance(item, Failed) else None
    return NewAttempt(
        task_id=claim.id,
        number=claim.attempt,
        epoch=claim.epoch,
        owner=owner,
        started_ms=item.started_ms,
        ended_ms=item.ended_ms,
        outcome=outcome,
        error_code=error.code if error else None,
        message=error.message if error else None,
        tokens_in=item.result.tokens_in if isinstance(item, Done) else 0,
        tokens_out=item.result.tokens_out if isinstance(item, Done) else 0,
    )


def _counts(live: Sequence[Ended]) -> dict[int, Counts]:
    counts: dict[int, Counts] = {}
    for item in live:
        step = counts.setdefault(item.work.step.id, Counts())
        step.calls += 1
        step.busy_ms += item.ended_ms - item.started_ms
        if isinstance(item, Done):
            step.tokens_in += item.result.tokens_in
            step.tokens_out += item.result.tokens_out
            step.cost_micros += item.result.cost_micros
        if item.work.claim.attempt - item.work.claim.losses > 1:
            step.retries += 1
    return counts


class Committer:
    """A thread that commits what the slots hand over, in groups.

    `ended` is told of every group that was committed. `in_flight` says how many tasks are taken and not committed: when
    all of them are in hand, nothing more will come and the group is committed at once.
    """

    def __init__(
        self,
        database: Database,
        owner: str,
        ended: Callable[[Sequence[Work]], None],
        in_flight: Callable[[], int] = lambda: 0,
    ) -> None:
        self._database = database
        self._owner = owner
        self._ended = ended
        self._in_flight = in_flight
        self._inbox: deque[Ended] = deque()
        self._some = threading.Event()
        self._enough = threading.Event()
        self._closing = threading.Event()
        self.failure: OctavoError | None = None
        self._thread = threading.Thread(target=self._serve, name="octavo-commit", daemon=True)
        self._thread.start()

    def submit(self, outcome: Ended) -> None:
        """Hand over an outcome; returns at once."""
        self._inbox.append(outcome)
        if not self._some.is_set():
            self._some.set()
        count = len(self._inbox)
        if (count >= ENOUGH or count >= self._in_flight()) and not self._enough.is_set():
            self._enough.set()

    def close(self) -> None:
        """Commit what was handed over and end the thread."""
        self._closing.set()
        self._some.set()
        self._enough.set()
        self._thread.join()

    def _serve(self) -> None:
        while not (self._closing.is_set() and not self._inbox):
            self._some.wait()
            self._enough.wait(LINGER_S)
            # Cleared before the inbox is emptied: what comes later rings again.
            self._some.clear()
            self._enough.clear()
            group = [self._inbox.popleft() for _ in range(min(len(self._inbox), GROUP))]
            if group and self.failure is None:
                self._commit(group)
            if group:
                self._ended([item.work for item in group])
            if self._inbox or self._closing.is_set():
                self._some.set()

    def _commit(self, group: Sequence[Ended]) -> None:
        waited = 0.0
        while True:
            try:
                with self._database.write() as rows:
                    commit(rows, self._owner, group)
                return
            except (DatabaseBusyError, DatabaseUnreachableError) as error:
                if waited >= PATIENCE_S or self._closing.wait(AGAIN_S):
                    self.failure = error
                    return
                waited += AGAIN_S
            except StorageError as error:
                self.failure = error
                return
            except Exception as error:  # noqa: BLE001  # a thread that dies in silence would leave the run hanging
                self.failure = StorageError("Results could not be committed", cause=f"{type(error).__name__}: {error}")
                return
