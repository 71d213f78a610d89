"""Dispatch: which tasks a message rings for, and the processes that serve them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.engine import Connection

from db.dialect import batches, insert_new
from db.prepared import ids_for
from db.repositories.task_statements import RUNG, SUSPECT_LOSSES
from db.tables import JobRow, ProcessRow, TaskRow
from db.values import Claim
from pipeline.states import JobState, TaskState


@dataclass(frozen=True, slots=True)
class Bell:
    """A message to be sent: it holds the task's id and the number of this dispatch, nothing else."""

    task_id: int
    dispatch: int
    step_id: int
    ordinal: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """A worker process."""

    owner: str
    host: str
    pid: int
    queues: str
    slots: int
    ops: str  # name@version of each op it knows, a line each
    started_ms: int
    beat_ms: int


class DispatchRepository:
    """The dispatch side of the `tasks` table, and the `processes` table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def _locks(self) -> bool:
        return self._connection.dialect.name == "postgresql"

    def running(self) -> list[tuple[UUID, int]]:
        """(job, priority) of running jobs, the most urgent first, then the oldest."""
        query = select(JobRow.id, JobRow.priority).where(JobRow.state == JobState.RUNNING)
        return [(row[0], row[1]) for row in self._connection.execute(query.order_by(JobRow.priority.desc(), JobRow.id))]

    def hold_job(self, job_id: UUID) -> dict[str, int] | None:
        """Hold a running job for this transaction; gives its caps. None: it runs no more, or another holds it."""
        query: Any = select(JobRow.caps).where(JobRow.id == job_id, JobRow.state == JobState.RUNNING)
        if self._locks:
            query = query.with_for_update(skip_locked=True)
        found = self._connection.execute(query).first()
        return None if found is None else dict(found[0])

    def in_flight(self, step_ids: Sequence[int]) -> int:
        """How many tasks of steps are rung for or held."""
        query = select(func.count()).where(
            TaskRow.step_id.in_(step_ids), TaskRow.state.in_((TaskState.DISPATCHED, TaskState.LEASED))
        )
        return self._connection.execute(query).scalar_one()

    def waiting(self, step_ids: Sequence[int], *, now_ms: int) -> bool:
        """Has one of the steps a task that is ready and due?"""
        query = select(TaskRow.id).where(TaskRow.step_id.in_(step_ids), TaskRow.state == TaskState.READY, _due(now_ms))
        return self._connection.execute(query.limit(1)).first() is not None

    def dispatch(self, step_ids: Sequence[int], *, limit: int, now_ms: int, suspects: bool = False) -> list[Bell]:
        """Mark ready tasks that are due as dispatched, in order, and give the messages to be sent after the commit."""
        bells: list[Bell] = []
        for step_id in sorted(step_ids):
            if limit - len(bells) <= 0:
                break
            losses = TaskRow.losses >= SUSPECT_LOSSES if suspects else TaskRow.losses < SUSPECT_LOSSES
            chosen = (
                select(TaskRow.id)
                .where(TaskRow.step_id == step_id, TaskRow.state == TaskState.READY, _due(now_ms), losses)
                .order_by(TaskRow.ordinal)
                .limit(limit - len(bells))
            )
            if self._locks:
                chosen = chosen.with_for_update(skip_locked=True)
            bells += self._mark(chosen, TaskState.READY, now_ms)
        return bells

    def _mark(self, chosen: Any, state: TaskState, now_ms: int) -> list[Bell]:
        # As a CTE it runs once: a subquery with LIMIT and SKIP LOCKED may be run again for every row of the table, and
        # then marks all of them, a limit's worth at a time.
        which = select(chosen.cte("chosen").c.id)
        statement = (
            update(TaskRow)
            .where(TaskRow.id.in_(which), TaskRow.state == state)
            .values(state=TaskState.DISPATCHED, dispatch=TaskRow.dispatch + 1, dispatched_ms=now_ms, not_before_ms=None)
            .returning(TaskRow.id, TaskRow.dispatch, TaskRow.step_id, TaskRow.ordinal)
        )
        found = [Bell(*row) for row in self._connection.execute(statement).all()]
        return sorted(found, key=lambda bell: (bell.step_id, bell.ordinal))

    def recall(self, step_ids: Sequence[int]) -> None:
        """Tasks that were rung for and are not yet held are ready again: their messages count no more."""
        statement = update(TaskRow).where(TaskRow.step_id.in_(step_ids), TaskRow.state == TaskState.DISPATCHED)
        self._connection.execute(statement.values(state=TaskState.READY))

    def defer(self, task_ids: Sequence[int], *, not_before_ms: int, code: str) -> None:
        """Tasks that were rung for where they can not be done are ready again, from a time on."""
        for part in batches(task_ids):
            statement = update(TaskRow).where(TaskRow.id.in_(part), TaskRow.state == TaskState.DISPATCHED)
            values = {"state": TaskState.READY, "not_before_ms": not_before_ms, "error_code": code}
            self._connection.execute(statement.values(**values))

    def clock_ms(self) -> int:
        """The database server's time: the one clock that all hosts share."""
        if not self._locks:
            return time.time_ns() // 1_000_000  # SQLite is no server: its time is ours
        return int(self._connection.execute(select(func.extract("epoch", func.clock_timestamp()) * 1000)).scalar_one())

    def silent(self, step_ids: Sequence[int], *, before_ms: int) -> int:
        """How many tasks of steps were rung for before a time and are not yet held."""
        query = select(func.count()).where(
            TaskRow.step_id.in_(step_ids), TaskRow.state == TaskState.DISPATCHED, TaskRow.dispatched_ms < before_ms
        )
        return self._connection.execute(query).scalar_one()

    def ring_again(self, step_ids: Sequence[int], *, before_ms: int, now_ms: int, limit: int) -> list[Bell]:
        """New messages for tasks that were rung for before a time and are not yet held: the old ones count no more."""
        chosen = (
            select(TaskRow.id)
            .where(
                TaskRow.step_id.in_(step_ids),
                TaskRow.state == TaskState.DISPATCHED,
                TaskRow.dispatched_ms < before_ms,
            )
            .limit(limit)
        )
        if self._locks:
            chosen = chosen.with_for_update(skip_locked=True)
        return self._mark(chosen, TaskState.DISPATCHED, now_ms)

    def rung(self, bells: Sequence[tuple[int, int]]) -> list[Claim]:
        """The tasks of messages (id, dispatch) that still count, locked for this transaction, as candidates."""
        numbers = dict(bells)
        if not numbers:
            return []
        rows = RUNG.one(self._connection, (ids_for(self._connection, sorted(numbers)),)).all()
        return [Claim(*tuple(row)[1:]) for row in rows if numbers[row[1]] == row[0]]

    def beat(self, process: Process) -> None:
        """Note that a process lives."""
        row = {name: getattr(process, name) for name in Process.__dataclass_fields__}
        self._connection.execute(insert_new(self._connection, ProcessRow), row)
        self._connection.execute(
            update(ProcessRow).where(ProcessRow.owner == process.owner).values(beat_ms=process.beat_ms, ops=process.ops)
        )

    def processes(self, *, since_ms: int, limit: int | None = None) -> list[Process]:
        """The processes that beat since a time."""
        query = select(ProcessRow.__table__).where(ProcessRow.beat_ms >= since_ms).order_by(ProcessRow.owner)
        query = query.limit(limit)
        return [Process(**row) for row in self._connection.execute(query).mappings()]

    def forget(self, *, before_ms: int) -> None:
        """Drop the rows of processes that have not beaten since a time."""
        self._connection.execute(delete(ProcessRow).where(ProcessRow.beat_ms < before_ms))

    def leave(self, owner: str) -> None:
        """Drop the row of a process that ends."""
        self._connection.execute(delete(ProcessRow).where(ProcessRow.owner == owner))


def _due(now_ms: int) -> Any:
    return TaskRow.not_before_ms.is_(None) | (TaskRow.not_before_ms <= now_ms)
