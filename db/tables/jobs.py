"""Pipelines, jobs, steps, tasks and attempts."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from db.base import BIG, Base, Big, BigId, Hash, Said


class PipelineRow(Base):
    """One version of a pipeline, as it was when a job used it."""

    __tablename__ = "pipelines"

    id: Mapped[BigId]
    name: Mapped[str]
    digest: Mapped[Hash] = mapped_column(unique=True)
    spec: Mapped[dict[str, object]] = mapped_column(JSON)


class JobRow(Base):
    """One refresh of a pipeline over a selection of documents."""

    __tablename__ = "jobs"
    __table_args__ = (Index("ix_jobs_pipeline_id_state", "pipeline_id", "state"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    pipeline_id: Mapped[int] = mapped_column(ForeignKey("pipelines.id"))
    selection_sha256: Mapped[Hash]  # of the ordered documents and revisions: the same selection joins the same job
    state: Mapped[str] = mapped_column(index=True)
    reason: Mapped[Said | None]  # why it is paused, failed or cancelled
    resolved: Mapped[dict[str, object]] = mapped_column(JSON)  # ops, versions and model identities, resolved once
    priority: Mapped[int]
    retry_budget: Mapped[int]  # attempts beyond the first that the whole job may spend
    caps: Mapped[dict[str, int]] = mapped_column(JSON)  # max_calls, max_tokens, max_cost_micros: those that are set
    estimate: Mapped[dict[str, object] | None] = mapped_column(JSON)  # of calls, tokens, cost before it began
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class JobDocumentRow(Base):
    """A document of a job's selection, at the revision the job works on."""

    __tablename__ = "job_documents"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    ordinal: Mapped[int] = mapped_column(primary_key=True)
    document_id: Mapped[UUID] = mapped_column(ForeignKey("documents.id"), index=True)
    revision_id: Mapped[int] = mapped_column(BIG, ForeignKey("revisions.id"))


class StepRow(Base):
    """One level of a step of a job: level 0 for a map, 1 and up for the levels of a reduce."""

    __tablename__ = "steps"
    # An id is never given twice, for zombies hold steps and tasks by their ids after the rows are gone.
    __table_args__ = (UniqueConstraint("job_id", "position", "level"), {"sqlite_autoincrement": True})

    id: Mapped[BigId]
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    position: Mapped[int]  # of the step in the pipeline
    level: Mapped[int]
    name: Mapped[str]
    state: Mapped[str]
    planned: Mapped[Big]  # tasks written so far: a killed planner goes on from here
    total: Mapped[int | None] = mapped_column(BIG)  # known when the level is planned whole
    unasked: Mapped[Big] = mapped_column(server_default="0")  # questions of a merge that its cap left out


class StepCounterRow(Base):
    """What one process did for one step. Summed on read, so that no row is updated by every chunk of every worker."""

    __tablename__ = "step_counters"

    step_id: Mapped[int] = mapped_column(BIG, ForeignKey("steps.id", ondelete="CASCADE"), primary_key=True)
    owner: Mapped[str] = mapped_column(primary_key=True)
    calls: Mapped[Big]
    retries: Mapped[Big]
    tokens_in: Mapped[Big]
    tokens_out: Mapped[Big]
    cost_micros: Mapped[Big]
    busy_ms: Mapped[Big]


class TaskRow(Base):
    """The durable row of one unit of work: one chunk, or one reduce node."""

    __tablename__ = "tasks"
    __table_args__ = (
        UniqueConstraint("step_id", "ordinal"),
        Index("ix_tasks_step_id_state_ordinal", "step_id", "state", "ordinal"),
        Index(
            "ix_tasks_waiting_key",
            "key",
            sqlite_where=text("state = 'waiting_key'"),
            postgresql_where=text("state = 'waiting_key'"),
        ),
        Index(
            "ix_tasks_lease_owner",
            "lease_owner",
            sqlite_where=text("lease_owner IS NOT NULL"),
            postgresql_where=text("lease_owner IS NOT NULL"),
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[BigId]
    step_id: Mapped[int] = mapped_column(BIG, ForeignKey("steps.id", ondelete="CASCADE"))
    ordinal: Mapped[Big]
    key: Mapped[bytes | None] = mapped_column(LargeBinary(32))  # None while blocked
    state: Mapped[str]
    hit: Mapped[bool]  # its result was there before it ran
    attempt: Mapped[int]  # attempts started
    losses: Mapped[int]  # leases lost: two, and it runs alone
    epoch: Mapped[int]  # fencing number of the lease
    dispatch: Mapped[int]  # number of the latest message; one with another number is dropped
    dispatched_ms: Mapped[int | None] = mapped_column(BIG)
    lease_owner: Mapped[str | None]
    lease_until_ms: Mapped[int | None] = mapped_column(BIG)
    not_before_ms: Mapped[int | None] = mapped_column(BIG)
    error_code: Mapped[str | None]
    page_id: Mapped[int | None] = mapped_column(BIG)  # of a map task: its chunk
    page_ordinal: Mapped[int | None]
    inputs: Mapped[bytes | None]  # of a reduce node: its children, as (level, ordinal) pairs
    scope: Mapped[int | None] = mapped_column(BIG)  # of a fold node: its section; of a merge node: its shard


class ProcessRow(Base):
    """A worker process that beats: what serves which queues now."""

    __tablename__ = "processes"

    owner: Mapped[str] = mapped_column(primary_key=True)  # the nonce on its leases
    host: Mapped[str]
    pid: Mapped[int]
    queues: Mapped[str]
    slots: Mapped[int]
    ops: Mapped[str] = mapped_column(server_default="")  # name@version of each op it knows, a line each
    started_ms: Mapped[Big]
    beat_ms: Mapped[Big]


class AttemptRow(Base):
    """One try of a task: the history that a monitor forgets."""

    __tablename__ = "attempts"

    id: Mapped[BigId]
    task_id: Mapped[int] = mapped_column(BIG, ForeignKey("tasks.id", ondelete="CASCADE"), index=True)
    number: Mapped[int]
    epoch: Mapped[int]
    owner: Mapped[str]
    started_ms: Mapped[Big]
    ended_ms: Mapped[Big]
    outcome: Mapped[str]
    error_code: Mapped[str | None]
    message: Mapped[Said | None]
    tokens_in: Mapped[Big]
    tokens_out: Mapped[Big]
    cost_micros: Mapped[Big]
    calls: Mapped[int] = mapped_column(server_default="1")  # requests to the model
