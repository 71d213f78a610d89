"""Pipelines, jobs and their steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, bindparam, func, insert, null, select, update
from sqlalchemy.engine import Connection

from db.dialect import insert_new, upsert
from db.prepared import Prepared
from db.repositories.notes import add_note
from db.tables import JobDocumentRow, JobRow, PipelineRow, StepCounterRow, StepRow
from db.values import Counts, Job, Step
from pipeline.ops.values import Json
from pipeline.states import JOB_ACTIVE, JobState, StepState

_COUNTERS = ("calls", "retries", "tokens_in", "tokens_out", "cost_micros", "busy_ms")
_COUNTED = ("step_id", "owner", *_COUNTERS)
_COUNT = Prepared(
    _COUNTED,
    lambda dialect: upsert(dialect, StepCounterRow, ("step_id", "owner"), add=_COUNTERS).values(
        {name: bindparam(name) for name in _COUNTED}
    ),
)
_JOB = (*JobRow.__table__.c, PipelineRow.name, PipelineRow.spec)


_DROPPED = "of steps taken back"  # stands for an owner in the counters


class JobRepository:
    """The `pipelines`, `jobs`, `job_documents`, `steps` and `step_counters` tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def pipeline(self, *, name: str, digest: bytes, spec: dict[str, Json]) -> int:
        """The id of a pipeline's version; stored where it is not there.

        Its row stays locked to the end of the transaction, so that of two processes that begin the same job one begins
        it and the other finds it. (On SQLite a write transaction is alone anyhow.)
        """
        self._connection.execute(
            insert_new(self._connection, PipelineRow), {"name": name, "digest": digest, "spec": spec}
        )
        query = select(PipelineRow.id).where(PipelineRow.digest == digest).with_for_update()
        return self._connection.execute(query).scalar_one()

    def add(
        self,
        *,
        id: UUID,  # noqa: A002  # the column's name
        pipeline_id: int,
        selection: Sequence[tuple[UUID, int]],
        selection_sha256: bytes,
        resolved: dict[str, Json],
        retry_budget: int,
        caps: Mapping[str, int] | None = None,
        estimate: Mapping[str, Json] | None = None,
    ) -> None:
        """Store a job over (document, revision) pairs, in order."""
        self._connection.execute(
            insert(JobRow).values(
                id=id,
                pipeline_id=pipeline_id,
                selection_sha256=selection_sha256,
                state=JobState.RUNNING,
                resolved=resolved,
                priority=0,
                retry_budget=retry_budget,
                caps=dict(caps or {}),
                estimate=null() if estimate is None else dict(estimate),
                created_at=datetime.now(UTC),
            )
        )
        rows = [
            {"job_id": id, "ordinal": ordinal, "document_id": document_id, "revision_id": revision_id}
            for ordinal, (document_id, revision_id) in enumerate(selection)
        ]
        if rows:
            self._connection.execute(insert(JobDocumentRow), rows)

    def get(self, job_id: UUID) -> Job | None:
        """A job by id."""
        found = self._many(JobRow.id == job_id, 1)
        return found[0] if found else None

    def active(self, pipeline_id: int, selection_sha256: bytes) -> Job | None:
        """The running or paused job of this pipeline over this selection."""
        found = self._many(
            (JobRow.pipeline_id == pipeline_id)
            & (JobRow.selection_sha256 == selection_sha256)
            & JobRow.state.in_(JOB_ACTIVE),
            1,
        )
        return found[0] if found else None

    def active_over(self, document_ids: Sequence[UUID], pipeline: str) -> list[Job]:
        """Running or paused jobs of pipelines of this name that have one of the documents."""
        jobs = select(JobDocumentRow.job_id).where(JobDocumentRow.document_id.in_(document_ids))
        return self._many(JobRow.id.in_(jobs) & JobRow.state.in_(JOB_ACTIVE) & (PipelineRow.name == pipeline), 1000)

    def over(self, document_id: UUID, limit: int) -> list[Job]:
        """The latest jobs that had a document."""
        jobs = select(JobDocumentRow.job_id).where(JobDocumentRow.document_id == document_id)
        return self._many(JobRow.id.in_(jobs), limit)

    def latest(self, limit: int, states: Sequence[JobState] = ()) -> list[Job]:
        """Jobs, newest first."""
        return self._many(JobRow.state.in_(states) if states else None, limit)

    def _many(self, condition: Any, limit: int) -> list[Job]:
        query = select(*_JOB).join(PipelineRow, PipelineRow.id == JobRow.pipeline_id)
        if condition is not None:
            query = query.where(condition)
        return [_job(row) for row in self._connection.execute(query.order_by(JobRow.id.desc()).limit(limit))]

    def move(self, job_id: UUID, *, to: JobState, reason: str | None, unless: Sequence[JobState] = ()) -> bool:
        """Change a job's state unless it is in one of `unless`; says whether it did. What happened is noted."""
        statement = update(JobRow).where(JobRow.id == job_id, JobRow.state != to)
        if unless:
            statement = statement.where(JobRow.state.not_in(unless))
        finished = None if to in JOB_ACTIVE else datetime.now(UTC)
        done = self._connection.execute(statement.values(state=to, reason=reason, finished_at=finished))
        moved = done.rowcount == 1
        if moved:
            add_note(self._connection, job_id, {"state": str(to), "says": reason})
        return moved

    def cap(self, job_id: UUID, caps: Mapping[str, int]) -> None:
        """Change what a job may spend."""
        self._connection.execute(update(JobRow).where(JobRow.id == job_id).values(caps=dict(caps)))

    def tell(self, job_id: UUID, reason: str | None) -> None:
        """Say of a running job what is wrong with it; None: nothing."""
        self._connection.execute(
            update(JobRow)
            .where(JobRow.id == job_id, JobRow.state == JobState.RUNNING, JobRow.reason.is_distinct_from(reason))
            .values(reason=reason)
        )

    def prioritize(self, job_id: UUID, priority: int) -> None:
        """Change a job's priority."""
        self._connection.execute(update(JobRow).where(JobRow.id == job_id).values(priority=priority))

    def documents(self, job_id: UUID) -> list[tuple[UUID, int]]:
        """(document, revision) pairs of a job, in order."""
        query = select(JobDocumentRow.document_id, JobDocumentRow.revision_id).where(JobDocumentRow.job_id == job_id)
        return [(row[0], row[1]) for row in self._connection.execute(query.order_by(JobDocumentRow.ordinal))]

    def add_step(self, job_id: UUID, *, position: int, level: int, name: str) -> None:
        """Store a level of a step, to be planned; one that is there stays as it is."""
        self._connection.execute(
            insert_new(self._connection, StepRow),
            {
                "job_id": job_id,
                "position": position,
                "level": level,
                "name": name,
                "state": StepState.PLANNING,
                "planned": 0,
            },
        )

    def steps(self, job_id: UUID) -> list[Step]:
        """The steps of a job by position and level."""
        query = select(StepRow.__table__).where(StepRow.job_id == job_id).order_by(StepRow.position, StepRow.level)
        return [_step(row) for row in self._connection.execute(query)]

    def step(self, step_id: int) -> Step:
        """A step by id."""
        return _step(self._connection.execute(select(StepRow.__table__).where(StepRow.id == step_id)).one())

    def planned(self, step_id: int, *, before: int, after: int) -> bool:
        """Note that tasks up to `after` are written, if `before` still holds; says whether it did."""
        statement = update(StepRow).where(
            StepRow.id == step_id, StepRow.planned == before, StepRow.state == StepState.PLANNING
        )
        return self._connection.execute(statement.values(planned=after)).rowcount == 1

    def planned_whole(self, step_id: int, total: int, *, unasked: int = 0) -> bool:
        """Note that all tasks of a step are written, and of a merge's questions how many its cap left out; says
        whether it was still being planned."""
        statement = update(StepRow).where(StepRow.id == step_id, StepRow.state == StepState.PLANNING)
        statement = statement.values(state=StepState.RUNNING, total=total, unasked=unasked)
        return self._connection.execute(statement).rowcount == 1

    def complete(self, step_id: int) -> bool:
        """Note that a step has no open task; says whether it was running. Exactly one caller gets True."""
        statement = update(StepRow).where(StepRow.id == step_id, StepRow.state == StepState.RUNNING)
        return self._connection.execute(statement.values(state=StepState.COMPLETE)).rowcount == 1

    def reopen(self, step_id: int) -> None:
        """A step has open tasks again: its holes are being retried."""
        statement = update(StepRow).where(StepRow.id == step_id, StepRow.state == StepState.COMPLETE)
        self._connection.execute(statement.values(state=StepState.RUNNING))

    def drop_steps(self, step_ids: Sequence[int], *, heir: int) -> None:
        """Take back steps with their tasks: they were planned on outputs that are about to change.

        What was done for them was done all the same: the step `heir` counts it on.
        """
        if step_ids:
            for done in self.counts(step_ids).values():
                self.count(_DROPPED, {heir: done})
            self._connection.execute(StepRow.__table__.delete().where(StepRow.id.in_(step_ids)))  # type: ignore[attr-defined]

    def count(self, owner: str, counts: Mapping[int, Counts]) -> None:
        """Add what a process did, by step."""
        rows = [(step_id, owner, *(getattr(done, name) for name in _COUNTERS)) for step_id, done in counts.items()]
        _COUNT.many(self._connection, rows)

    def counts(self, step_ids: Sequence[int]) -> dict[int, Counts]:
        """What was done for steps, all processes together."""
        sums = [func.coalesce(func.sum(StepCounterRow.__table__.c[name]), 0).label(name) for name in _COUNTERS]
        query = select(StepCounterRow.step_id, *sums).where(StepCounterRow.step_id.in_(step_ids))
        rows = self._connection.execute(query.group_by(StepCounterRow.step_id))
        return {row.step_id: Counts(**{name: int(getattr(row, name)) for name in _COUNTERS}) for row in rows}


def _job(row: Row[Any]) -> Job:
    return Job(
        id=row.id,
        pipeline_id=row.pipeline_id,
        pipeline=row.name,
        spec=row.spec,
        selection_sha256=row.selection_sha256,
        state=JobState(row.state),
        reason=row.reason,
        resolved=row.resolved,
        priority=row.priority,
        retry_budget=row.retry_budget,
        caps=row.caps,
        estimate=row.estimate,
        created_at=row.created_at,
        finished_at=row.finished_at,
    )


def _step(row: Row[Any]) -> Step:
    return Step(
        id=row.id,
        job_id=row.job_id,
        position=row.position,
        level=row.level,
        name=row.name,
        state=StepState(row.state),
        planned=row.planned,
        total=row.total,
        unasked=row.unasked,
    )
