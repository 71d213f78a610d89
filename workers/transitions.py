"""A finished step plans the next exactly once; a job whose steps are all through ends."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from db.database import Database, Repositories
from db.values import Step
from pipeline.states import JobState, StepState, TaskState
from workers import failpoints
from workers.planning.context import JobContext
from workers.planning.folds import plan_fold
from workers.planning.maps import plan_map
from workers.planning.merges import plan_merge
from workers.planning.plan import StepPlan


def advance(database: Database, context: JobContext) -> bool:
    """Plan what is to be planned, complete what is through, end the job; says whether anything changed."""
    changed = False
    with database.read() as rows:
        steps = rows.jobs.steps(context.job.id)
    for step in steps:
        if step.state is StepState.PLANNING:
            plan(database, context, step)
            changed = True
        elif step.state is StepState.RUNNING:
            changed |= _complete(database, context, step)
    return changed or _end(database, context)


def plan(database: Database, context: JobContext, step: Step) -> None:
    """Write the tasks of one level of a step."""
    kind = context.plan_of(step).kind
    if kind == "map":
        plan_map(database, context, step)
    elif kind == "fold":
        plan_fold(database, context, step)
    else:
        plan_merge(database, context, step)
    failpoints.reached("plan.after")


def _complete(database: Database, context: JobContext, step: Step) -> bool:
    with database.read() as rows:
        if rows.tasks.open(step.id):
            return False
    with database.write() as rows:
        if rows.tasks.open(step.id) or not rows.jobs.complete(step.id):
            return False
        plan = context.plan_of(step)
        if _holds(rows, plan, step):
            return True
        for position, level in [*_next(context, plan, step), *_waiting(rows, context, step)]:
            rows.jobs.add_step(context.job.id, position=position, level=level, name=context.plans[position].name)
        failpoints.reached("step.before")
    failpoints.reached("step.after")
    return True


def _holds(rows: Repositories, plan: StepPlan, step: Step) -> bool:
    """Does a hole of this step stop what comes after? Then the job ends here, or waits for a person."""
    if plan.on_hole == "continue" or not rows.tasks.counts([step.id])[step.id].get(TaskState.FAILED):
        return False
    if plan.on_hole == "fail":
        reason = f"step {plan.name} has holes and its policy is to fail"
        rows.jobs.move(step.job_id, to=JobState.FAILED, reason=reason, unless=(JobState.CANCELLED,))
    else:
        reason = f"step {plan.name} has holes and waits: retry or waive them"
        rows.jobs.move(step.job_id, to=JobState.HOLES, reason=reason, unless=(JobState.CANCELLED,))
    return True


def _next(context: JobContext, plan: StepPlan, step: Step) -> list[tuple[int, int]]:
    """(position, level) of the levels that come after a complete one."""
    if plan.kind == "map":
        return [(other.position, 1) for other in context.plans if other.source == plan.position and other.kind != "map"]
    return [] if plan.is_last(step.level, step.total) else [(step.position, step.level + 1)]


def _waiting(rows: Repositories, context: JobContext, step: Step) -> list[tuple[int, int]]:
    """Maps that waited for reduces, all of which are through now that `step` is."""
    steps = rows.jobs.steps(context.job.id)
    return [
        (plan.position, 0)
        for plan in context.plans
        if step.position in plan.needs and all(_is_through(context, steps, position) for position in plan.needs)
    ]


def _is_through(context: JobContext, steps: Sequence[Step], position: int) -> bool:
    levels = [step for step in steps if step.position == position]
    return (
        bool(levels)
        and all(step.state is StepState.COMPLETE for step in levels)
        and not _next(context, context.plans[position], levels[-1])
    )


def _end(database: Database, context: JobContext) -> bool:
    with database.read() as rows:
        steps = rows.jobs.steps(context.job.id)
        if not _through(context, steps):
            return False
        counts = rows.tasks.counts([step.id for step in steps])
    holes = sum(found.get(TaskState.FAILED, 0) for found in counts.values())
    with database.write() as rows:
        moved = rows.jobs.move(
            context.job.id,
            to=JobState.HOLES if holes else JobState.DONE,
            reason=None,
            unless=(JobState.FAILED, JobState.CANCELLED, JobState.HOLES, JobState.DONE),
        )
        if moved:
            merges = [plan.position for plan in context.plans if plan.kind == "merge"]
            rows.views.publish(context.job.id, merges, holes=holes > 0)
        failpoints.reached("end.before")
    failpoints.reached("end.after")
    return moved


def _through(context: JobContext, steps: Sequence[Step]) -> bool:
    """Is every step of the job complete, to its last level?"""
    if any(step.state is not StepState.COMPLETE for step in steps):
        return False
    for plan in context.plans:
        levels = [step for step in steps if step.position == plan.position]
        if not levels or (plan.kind != "map" and _next(context, plan, levels[-1])):
            return False
    return True


def begin(rows: Repositories, job_id: UUID, plans: Sequence[StepPlan]) -> None:
    """Add the steps that can be planned at once: every map that waits for no reduce. A map after a map is planned too,
    its tasks blocked."""
    for plan in plans:
        if plan.kind == "map" and not plan.needs:
            rows.jobs.add_step(job_id, position=plan.position, level=0, name=plan.name)
