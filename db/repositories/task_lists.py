"""Lists of tasks and their attempts, for people and programs: bounded, and going on after the last row (keyset)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import and_, case, func, literal, select, tuple_
from sqlalchemy.engine import Connection

from db.listed import HoleGroup, TaskLine
from db.tables import (
    AttemptRow,
    JobRow,
    PipelineRow,
    ResultRow,
    StepRow,
    TaskRow,
)
from db.values import NewAttempt
from pipeline.ops.values import Json
from pipeline.states import WAITS, Outcome, TaskState

CELLS = 50_000  # of a map at most: above that a cell stands for several chunks, and the worst of them is shown
GROUPS = 200

# The state of a task as the map shows it. The higher the worse: where a cell stands for many, the worst is shown.
MAP_CODES = ("none", "hit", "done", "blocked", "ready", "queued", "running", "retrying", "cancelled", "waived", "hole")
_CODE = case(
    (and_(TaskRow.state == TaskState.DONE, TaskRow.hit.is_(True)), 1),
    (TaskRow.state == TaskState.DONE, 2),
    (TaskRow.state == TaskState.BLOCKED, 3),
    (
        and_(TaskRow.state == TaskState.READY, TaskRow.error_code.is_not(None)),
        case((TaskRow.error_code.startswith(WAITS, autoescape=True), 4), else_=7),
    ),
    (TaskRow.state == TaskState.READY, 4),
    (TaskRow.state.in_((TaskState.DISPATCHED, TaskState.WAITING_KEY)), 5),
    (TaskRow.state == TaskState.LEASED, 6),
    (TaskRow.state == TaskState.CANCELLED, 8),
    (TaskRow.state == TaskState.WAIVED, 9),
    (TaskRow.state == TaskState.FAILED, 10),
    else_=0,
)


class TaskListRepository:
    """Reads of the tasks of steps, for lists and maps."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def last_ordinal(self, step_id: int) -> int:
        """The highest ordinal of a step's tasks; -1 when it has none."""
        query = select(func.coalesce(func.max(TaskRow.ordinal), -1)).where(TaskRow.step_id == step_id)
        return int(self._connection.execute(query).scalar_one())

    def tasks(
        self,
        step_ids: Sequence[int],
        *,
        limit: int,
        after: tuple[int, int] | None = None,
        states: Sequence[str] = (),
        codes: Sequence[str] = (),
    ) -> list[TaskLine]:
        """Tasks of steps, in order of step and ordinal."""
        query = self._task_query().where(TaskRow.step_id.in_(step_ids))
        if states:
            query = query.where(TaskRow.state.in_(states))
        if codes:
            query = query.where(TaskRow.error_code.in_(codes))
        if after is not None:
            query = query.where(tuple_(TaskRow.step_id, TaskRow.ordinal) > tuple_(literal(after[0]), literal(after[1])))
        rows = self._connection.execute(query.order_by(TaskRow.step_id, TaskRow.ordinal).limit(limit))
        return [TaskLine(**row._mapping) for row in rows]

    def task(self, task_id: int) -> tuple[UUID, TaskLine] | None:
        """(job, task) by id."""
        query = self._task_query().add_columns(StepRow.job_id).where(TaskRow.id == task_id)
        for row in self._connection.execute(query):
            values = dict(row._mapping)
            return values.pop("job_id"), TaskLine(**values)
        return None

    def of_chunk(self, job_id: UUID, ordinal: int) -> list[TaskLine]:
        """The tasks of a job's map steps over the chunk at an ordinal."""
        query = self._task_query().where(StepRow.job_id == job_id, StepRow.level == 0, TaskRow.ordinal == ordinal)
        return [TaskLine(**row._mapping) for row in self._connection.execute(query.order_by(StepRow.position))]

    def worst(self, step_id: int, *, first: int, count: int, bins: int) -> dict[int, int]:
        """The worst of MAP_CODES in each of so many equal stretches of `count` tasks from an ordinal on, by stretch."""
        # The integer division of the database itself: SQLAlchemy's would be one of fractions.
        stretch = ((TaskRow.ordinal - literal(first)) * literal(bins)).op("/")(literal(count))
        query = (
            select(stretch.label("stretch"), func.max(_CODE))
            .where(TaskRow.step_id == step_id, TaskRow.ordinal >= first, TaskRow.ordinal < first + count)
            .group_by("stretch")
        )
        return {int(row[0]): int(row[1]) for row in self._connection.execute(query)}

    @staticmethod
    def _task_query() -> Any:
        return select(
            TaskRow.id,
            TaskRow.step_id,
            StepRow.name.label("step"),
            StepRow.level,
            StepRow.position,
            TaskRow.ordinal,
            TaskRow.state,
            TaskRow.hit,
            TaskRow.attempt,
            TaskRow.losses,
            TaskRow.error_code,
            TaskRow.not_before_ms,
            TaskRow.key,
            TaskRow.page_id,
            TaskRow.page_ordinal,
            TaskRow.lease_owner,
            TaskRow.lease_until_ms,
        ).join(StepRow, StepRow.id == TaskRow.step_id)

    def attempts(self, task_id: int, *, limit: int, after: int = 0) -> list[tuple[int, NewAttempt]]:
        """(id, attempt) of a task, oldest first."""
        columns = [AttemptRow.__table__.c[name] for name in NewAttempt._fields]
        query = select(AttemptRow.id, *columns).where(AttemptRow.task_id == task_id, AttemptRow.id > after)
        rows = self._connection.execute(query.order_by(AttemptRow.id).limit(limit))
        return [(row[0], NewAttempt(*row[1:])) for row in rows]

    def failures(self, step_ids: Sequence[int], code: str, limit: int) -> list[str]:
        """What the tries of the first holes of steps with a code said, at most `limit` of them."""
        holes = (
            select(TaskRow.id)
            .where(TaskRow.step_id.in_(step_ids), TaskRow.state == TaskState.FAILED, TaskRow.error_code == code)
            .order_by(TaskRow.step_id, TaskRow.ordinal)
            .limit(limit)
        )
        query = select(AttemptRow.message).where(
            AttemptRow.task_id.in_(holes.scalar_subquery()), AttemptRow.message.is_not(None)
        )
        rows = self._connection.execute(query.order_by(AttemptRow.id.desc()).limit(limit))
        return [row[0] for row in rows if row[0]]

    def hole_groups(
        self, *, job_ids: Sequence[UUID] = (), states: Sequence[str] = (), limit: int = GROUPS
    ) -> list[HoleGroup]:
        """Holes by job, step and error code, the most first: of some jobs, or of jobs in some states."""
        number = func.count()
        query = (
            select(
                StepRow.job_id,
                PipelineRow.name.label("pipeline"),
                StepRow.name.label("step"),
                StepRow.position,
                StepRow.level,
                func.coalesce(TaskRow.error_code, "").label("code"),
                number.label("count"),
                func.min(TaskRow.ordinal).label("first"),
            )
            .join(TaskRow, TaskRow.step_id == StepRow.id)
            .join(JobRow, JobRow.id == StepRow.job_id)
            .join(PipelineRow, PipelineRow.id == JobRow.pipeline_id)
            .where(TaskRow.state == TaskState.FAILED)
            .group_by(
                StepRow.job_id, PipelineRow.name, StepRow.name, StepRow.position, StepRow.level, TaskRow.error_code
            )
            .order_by(number.desc(), StepRow.job_id.desc())
            .limit(limit)
        )
        if job_ids:
            query = query.where(StepRow.job_id.in_(job_ids))
        if states:
            query = query.where(JobRow.state.in_(states))
        return [HoleGroup(**row._mapping) for row in self._connection.execute(query)]

    def states_of(self, step_id: int, total: int) -> list[tuple[int, int, int]]:
        """(first cell, cells, code of MAP_CODES) of a step's tasks in reading order, as runs of equal cells.

        Up to CELLS chunks a cell is a chunk; above that the worst of several.
        """
        if total <= CELLS:
            cells = select(TaskRow.ordinal.label("cell"), _CODE.label("code")).where(TaskRow.step_id == step_id)
        else:
            # The integer division of the database itself: SQLAlchemy's would be one of fractions.
            cell = (TaskRow.ordinal * CELLS).op("/")(literal(total))
            cells = select(cell.label("cell"), func.max(_CODE).label("code")).where(TaskRow.step_id == step_id)
            cells = cells.group_by(cell)
        inner = cells.subquery()
        order = func.row_number().over(partition_by=inner.c.code, order_by=inner.c.cell)
        islands = select(inner.c.cell, inner.c.code, (inner.c.cell - order).label("island")).subquery()
        query = (
            select(func.min(islands.c.cell), func.count(), islands.c.code)
            .group_by(islands.c.code, islands.c.island)
            .order_by(func.min(islands.c.cell))
            .limit(CELLS)
        )
        return [(int(row[0]), int(row[1]), int(row[2])) for row in self._connection.execute(query)]

    def latencies(self, step_ids: Sequence[int], sample: int = 1000) -> list[tuple[int, int, int]]:
        """(milliseconds, tokens, millionths of the currency) of the successful tries of a sample of a step's tasks."""
        tasks = (
            select(TaskRow.id)
            .where(TaskRow.step_id.in_(step_ids), TaskRow.state == TaskState.DONE, TaskRow.hit.is_(False))
            .limit(sample)
        )
        query = (
            select(
                AttemptRow.ended_ms - AttemptRow.started_ms,
                AttemptRow.tokens_in + AttemptRow.tokens_out,
                AttemptRow.cost_micros,
            )
            .where(AttemptRow.task_id.in_(tasks.scalar_subquery()), AttemptRow.outcome == "done")
            .limit(sample)
        )
        return [(int(row[0]), int(row[1]), int(row[2])) for row in self._connection.execute(query)]

    def ended_lately(self, since_ms: int, sample: int = 2000) -> dict[UUID, tuple[int, int]]:
        """(tries that gave a result, when the first of them ended) by job, of the latest tries of all since a time."""
        latest = (
            select(AttemptRow.task_id, AttemptRow.ended_ms, AttemptRow.outcome)
            .order_by(AttemptRow.id.desc())
            .limit(sample)
            .subquery()
        )
        query = (
            select(StepRow.job_id, func.count(), func.min(latest.c.ended_ms))
            .join(TaskRow, TaskRow.step_id == StepRow.id)
            .join(latest, latest.c.task_id == TaskRow.id)
            .where(latest.c.ended_ms > since_ms, latest.c.outcome == Outcome.DONE)
            .group_by(StepRow.job_id)
        )
        return {row[0]: (int(row[1]), int(row[2])) for row in self._connection.execute(query)}

    def saved(self, step_ids: Sequence[int]) -> tuple[int, int, int]:
        """(hits, tokens, millionths of the currency) that the memo saved these steps."""
        query = (
            select(
                func.count(),
                func.coalesce(func.sum(ResultRow.tokens_in + ResultRow.tokens_out), 0),
                func.coalesce(func.sum(ResultRow.cost_micros), 0),
            )
            .join_from(TaskRow, ResultRow, ResultRow.key == TaskRow.key)
            .where(TaskRow.step_id.in_(step_ids), TaskRow.state == TaskState.DONE, TaskRow.hit.is_(True))
        )
        row = self._connection.execute(query).one()
        return int(row[0]), int(row[1]), int(row[2])

    def wasted(self, step_ids: Sequence[int]) -> tuple[int, int, int]:
        """(tries, tokens, millionths of the currency) of the tries of these steps that failed and used something."""
        query = (
            select(
                func.count(),
                func.coalesce(func.sum(AttemptRow.tokens_in + AttemptRow.tokens_out), 0),
                func.coalesce(func.sum(AttemptRow.cost_micros), 0),
            )
            .join_from(AttemptRow, TaskRow, AttemptRow.task_id == TaskRow.id)
            .where(
                TaskRow.step_id.in_(step_ids),
                AttemptRow.outcome != "done",
                AttemptRow.tokens_in + AttemptRow.tokens_out > 0,
            )
        )
        row = self._connection.execute(query).one()
        return int(row[0]), int(row[1]), int(row[2])

    def result(self, key: bytes) -> dict[str, Json] | None:
        """What the memo says about a key, without the output."""
        columns = ("op", "model", "output_size", "tokens_in", "tokens_out", "cost_micros", "latency_ms", "created_at")
        query = select(*(ResultRow.__table__.c[name] for name in columns)).where(ResultRow.key == key)
        return next((dict(row._mapping) for row in self._connection.execute(query)), None)
