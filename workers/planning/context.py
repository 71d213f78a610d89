"""A job as a process works on it: its row, resolved steps and selection, loaded once."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import cached_property
from uuid import UUID

from db.database import Database
from db.sections import StoredSections
from db.values import Job, Step
from pipeline.errors import NotFoundError
from pipeline.ops.kinds import MergeOp
from pipeline.ops.registry import Registry
from workers.planning.forest import Forest
from workers.planning.partitions import Feed, shards_for
from workers.planning.plan import JUDGEMENT, QUESTIONS, StepPlan, step_plans
from workers.planning.selection import Selection, load


class JobContext:
    """What does not change while a job runs."""

    def __init__(self, job: Job, plans: tuple[StepPlan, ...], selection: Selection) -> None:
        self.job = job
        self.plans = plans
        self.selection = selection
        self._by_level: dict[int, tuple[StepPlan, ...]] = {}
        self.mentions: dict[int, dict[int, bytes]] = {}  # of steps that show entities: what was chosen while planning

    def anew(self, job: Job, ops: Registry) -> JobContext:
        """The same job as it stands now, to be read: what its documents are has not changed."""
        made = JobContext(job, tuple(step_plans(job, ops, to_read=True)), self.selection)
        if "forest" in self.__dict__:
            made.__dict__["forest"] = self.forest
        return made

    @cached_property
    def chained(self) -> bool:
        """Is there a map after a map, whose tasks become ready as the first goes on?"""
        return any(plan.kind == "map" and plan.source is not None for plan in self.plans)

    @cached_property
    def forest(self) -> Forest:
        """The sections that a fold climbs."""
        return Forest(self.selection)

    @cached_property
    def feeds(self) -> tuple[tuple[Feed, ...], ...]:
        """The merges that take the outputs of each step, by its position."""
        shards = shards_for(self.selection.total)
        return tuple(
            tuple(
                Feed(other.op, shards, other.params)
                for other in self.plans
                if other.source == plan.position and isinstance(other.op, MergeOp)
            )
            if plan.kind == "map"
            else ()
            for plan in self.plans
        )

    def plan_of(self, step: Step) -> StepPlan:
        """The resolved step of a stored level."""
        level = min(step.level, QUESTIONS) if self.plans[step.position].asks else 0
        return self._levels(step.position)[level]

    def _levels(self, position: int) -> tuple[StepPlan, ...]:
        if position not in self._by_level:  # one object a level: slots tell plans by their identity
            plan = self.plans[position]
            below = plan.at(JUDGEMENT)
            self._by_level[position] = (plan, below, below, plan.at(QUESTIONS))
        return self._by_level[position]


def load_context(
    database: Database,
    ops: Registry,
    job_id: UUID,
    *,
    to_read: bool = False,
    known: MutableMapping[int, StoredSections] | None = None,
) -> JobContext:
    """Load a job. Only `to_read` it, an op may have changed since. Raises NotFoundError for an unknown job.

    `known`: sections by revision, as `selection.load` takes them.
    """
    with database.read() as rows:
        job = rows.jobs.get(job_id)
        if job is None:
            raise NotFoundError(f"There is no job {job_id}")
        ops.include(job.resolved.get("ops", ()))  # those of the run that began it, wherever it goes on
        selection = load(rows, rows.jobs.documents(job_id), job.resolved["chunkings"], known)
    return JobContext(job, tuple(step_plans(job, ops, to_read=to_read)), selection)
