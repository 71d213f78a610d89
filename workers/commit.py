"""Commit outcomes: one transaction for a group of them (DESIGN §6)."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence, Set
from uuid import UUID

from db.database import Database, Repositories
from db.errors import DatabaseBusyError, DatabaseUnreachableError
from db.values import Counts, NewAttempt
from pipeline.errors import OctavoError, StorageError
from pipeline.retry import Decision, ErrorClass, decide
from pipeline.states import JOB_ENDED, JobState, Outcome
from workers import failpoints
from workers.clock import now_ms
from workers.execute import Done, Failed, Returned, Work

log = logging.getLogger(__name__)

GROUP = 512  # outcomes in one transaction at most
ENOUGH = 128  # so many do not wait for more
LINGER_S = 0.05  # an outcome waits at most so long for company: a commit costs much, a row in it little
AGAIN_S = 0.5  # between tries to reach a database that went away
PATIENCE_S = 60.0  # outputs in hand are kept and tried again so long

Called = Done | Failed
Ended = Called | Returned


def commit(rows: Repositories, owner: str, group: Sequence[Ended]) -> int:
    """Write a group of outcomes; gives how many were ours to write.

    An outcome whose task was leased anew (another epoch) changes nothing: its holder was taken for dead.
    """
    epochs = rows.tasks.epochs([item.work.claim.id for item in group])
    live = [item for item in group if epochs.get(item.work.claim.id) == item.work.claim.epoch]
    done = [item for item in live if isinstance(item, Done)]
    failed = [item for item in live if isinstance(item, Failed)]
    returned = [item for item in live if isinstance(item, Returned)]
    rows.results.add([item.result for item in done])
    rows.results.add_partitions([partition for item in done for partition in item.partitions])
    rows.tasks.finish([item.work.claim.id for item in done])
    rows.leases.release([item.work.claim.key for item in live], owner=owner)
    rows.tasks.finish_waiting([item.work.claim.key for item in done])
    attempts = [_attempt(owner, item, Outcome.DONE) for item in done]
    budgets = _Budgets(rows)
    attempts += [_settle(rows, owner, item, budgets) for item in failed]
    attempts += [_attempt(owner, item, Outcome.RETURNED) for item in returned if item.called]
    for item in returned:
        rows.tasks.give_back([item.work.claim.id], not_before_ms=item.not_before_ms, code=item.reason)
    rows.attempts.add(attempts)
    if len(live) < len(group):  # a task that is gone, or leased anew, may have left its key taken
        stale = [item.work.claim for item in group if epochs.get(item.work.claim.id) != item.work.claim.epoch]
        rows.leases.give_up([(claim.key, claim.id, claim.epoch) for claim in stale], owner=owner)
    rows.tasks.free_waiting([item.work.claim.key for item in live if not isinstance(item, Done)])
    rows.jobs.count(owner, _counts(live, {item.task_id for item in attempts if item.outcome is Outcome.RETRY}))
    return len(live)


class _Budgets:
    """What the jobs of a group may still spend on retries, those granted in this very transaction counted."""

    def __init__(self, rows: Repositories) -> None:
        self._rows = rows
        self._left: dict[UUID, int] = {}

    def spend(self, job_id: UUID) -> bool:
        """Take one retry out of a job's budget; says whether there was one left."""
        if job_id not in self._left:
            job = self._rows.jobs.get(job_id)
            steps = [step.id for step in self._rows.jobs.steps(job_id)]
            spent = sum(counts.retries for counts in self._rows.jobs.counts(steps).values())
            self._left[job_id] = job.retry_budget - spent if job is not None else 0
        self._left[job_id] -= 1
        return self._left[job_id] >= 0


def _settle(rows: Repositories, owner: str, item: Failed, budgets: _Budgets) -> NewAttempt:
    claim = item.work.claim
    decision = _decision(item)
    if decision.stop:
        return _stop(rows, owner, item)
    if decision.again and budgets.spend(item.work.step.job_id):
        rows.tasks.again([claim.id], not_before_ms=decision.not_before_ms, code=item.error.code)
        return _attempt(owner, item, Outcome.RETRY)
    rows.tasks.fail([claim.id], item.error.code)
    if item.error.kind is ErrorClass.OVERLONG and item.work.plan.on_overlong == "fail":
        reason = f"step {item.work.plan.name}: {item.error.message}"
        rows.jobs.move(item.work.step.job_id, to=JobState.FAILED, reason=reason, unless=JOB_ENDED)
    return _attempt(owner, item, Outcome.FAILED)


def _stop(rows: Repositories, owner: str, item: Failed) -> NewAttempt:
    """No call of this job can succeed now: the task is as if never taken, the job waits for a person."""
    rows.tasks.give_back([item.work.claim.id], code=item.error.code)
    hint = f" ({item.error.hint})" if item.error.hint else ""
    reason = f"{item.error.code}: {item.error.message}{hint}"
    job_id = item.work.step.job_id
    if rows.jobs.move(job_id, to=JobState.PAUSED, reason=reason, unless=(*JOB_ENDED, JobState.PAUSED)):
        rows.dispatches.recall([step.id for step in rows.jobs.steps(job_id)])
    return _attempt(owner, item, Outcome.RETURNED)


def _decision(item: Failed) -> Decision:
    claim, plan = item.work.claim, item.work.plan
    attempt = claim.attempt - claim.losses
    return decide(item.error, attempt=attempt, attempts=plan.attempts, now_ms=now_ms(), seed=claim.key)


def _attempt(owner: str, item: Ended, outcome: Outcome) -> NewAttempt:
    claim = item.work.claim
    error = item.error if isinstance(item, Failed) else None
    code = item.reason if isinstance(item, Returned) else error.code if error else None
    tokens_in, tokens_out, cost_micros, calls = _used(item)
    return NewAttempt(
        task_id=claim.id,
        number=claim.attempt,
        epoch=claim.epoch,
        owner=owner,
        started_ms=item.started_ms,
        ended_ms=item.ended_ms,
        outcome=outcome,
        error_code=code,
        message=error.message if error else None,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost_micros=cost_micros,
        calls=calls,
    )


def _used(item: Ended) -> tuple[int, int, int, int]:
    """(tokens in, tokens out, cost, calls) of an attempt: one that gave no result was paid for too."""
    if isinstance(item, Done):
        found = item.result
        return found.tokens_in, found.tokens_out, found.cost_micros, item.calls
    if isinstance(item, Failed):
        used = item.error.used
        return used.tokens_in, used.tokens_out, used.cost_micros, used.calls
    return 0, 0, 0, int(item.called)


def _counts(live: Sequence[Ended], again: Set[int]) -> dict[int, Counts]:
    counts: dict[int, Counts] = {}
    for item in live:
        step = counts.setdefault(item.work.step.id, Counts())
        if isinstance(item, Returned) and not item.called:
            continue
        tokens_in, tokens_out, cost_micros, calls = _used(item)
        step.calls += calls
        step.busy_ms += item.ended_ms - item.started_ms
        step.tokens_in += tokens_in
        step.tokens_out += tokens_out
        step.cost_micros += cost_micros
        step.retries += item.work.claim.id in again
    return counts


class Committer:
    """A thread that commits what the slots hand over, in groups.

    `ended` is told of every group that was committed. `in_flight` says how many tasks are taken and not committed: when
    half of them are in hand they are committed at once, for then new ones are to be claimed.
    """

    def __init__(
        self,
        database: Database,
        owner: str,
        ended: Callable[[Sequence[Work]], None],
        in_flight: Callable[[], int] = lambda: 0,
        observe: Callable[[float, int], None] = lambda _seconds, _tasks: None,
    ) -> None:
        self._database = database
        self._owner = owner
        self._ended = ended
        self._in_flight = in_flight
        self._observe = observe
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
        if not self._enough.is_set() and self._is_enough():
            self._enough.set()

    def _is_enough(self) -> bool:
        count = len(self._inbox)
        return count >= ENOUGH or count * 2 >= self._in_flight()

    def close(self) -> None:
        """Commit what was handed over and end the thread."""
        self._closing.set()
        self._some.set()
        self._enough.set()
        self._thread.join()

    def _serve(self) -> None:
        while not (self._closing.is_set() and not self._inbox):
            self._some.wait()
            # What was handed over while the last group was in flight is measured against what is in flight now.
            if not self._is_enough():
                self._enough.wait(LINGER_S)
            # Cleared before the inbox is emptied: what comes later rings again.
            self._some.clear()
            self._enough.clear()
            group = [self._inbox.popleft() for _ in range(min(len(self._inbox), GROUP))]
            if group and self.failure is None:
                self._commit(group)
            if group:
                self._ended([item.work for item in group])
            if self._closing.is_set():
                self._some.set()
                self._enough.set()
            elif self._inbox:
                self._some.set()

    def _commit(self, group: Sequence[Ended]) -> None:
        waited = 0.0
        while True:
            began = time.perf_counter()
            try:
                with self._database.write() as rows:
                    commit(rows, self._owner, group)
                    failpoints.reached("commit.before")
                failpoints.reached("commit.after")
                self._observe(time.perf_counter() - began, len(group))
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
