"""Plan a map step: set-based, a batch of pages at a time, hits resolved by one join (DESIGN §6)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from db.database import Database, Repositories
from db.values import NewTask, Step
from pipeline.states import StepState
from workers import failpoints
from workers.planning.context import JobContext
from workers.planning.surround import Surrounder, mentioned

BATCH_CHUNKS = 10_000
QUICK_BATCH = 1000  # planned in a few hundredths of a second
FIRST_BATCH = 250  # the sooner the first calls begin the better


def plan_map(database: Database, context: JobContext, step: Step) -> None:
    """Write the tasks of a map step from where its planning stands."""
    while plan_batch(database, context, step.id, BATCH_CHUNKS):
        pass


def plan_batch(database: Database, context: JobContext, step_id: int, most: int) -> bool:
    """Write the next tasks of a map step: about `most`, in whole pages. Says whether this planner has more to write.

    A batch is one transaction that moves the step's `planned` by compare-and-set: two planners do not write one batch
    twice and a killed one loses at most a batch. The planner that was not first leaves the rest to the other.
    """
    with database.read() as rows:
        step = rows.jobs.step(step_id)
        if step.state is not StepState.PLANNING:
            return False
        after, tasks = _next_tasks(rows, context, step, most)
    if context.plan_of(step).shows:
        tasks = _shown(database, context, step, tasks)
    with database.write() as rows:
        if not rows.jobs.planned(step.id, before=step.planned, after=after):
            return False
        rows.tasks.add(step.id, tasks)
        failpoints.reached("plan.before")
        if after < context.selection.total:
            return True
        if rows.jobs.planned_whole(step.id, context.selection.total):
            rows.results.use(step.id)
        return False


def _next_tasks(rows: Repositories, context: JobContext, step: Step, most: int) -> tuple[int, list[NewTask]]:
    """How far the next batch goes, and its tasks; those of a map after a map get their keys later."""
    plan, selection = context.plan_of(step), context.selection
    if step.planned >= selection.total:
        return selection.total, []
    first_run = selection.run_at(step.planned)
    end_run = selection.run_at(min(step.planned + most, selection.total) - 1) + 1
    found = selection.hashes(rows, first_run=first_run, end_run=end_run, skip=plan.skip)
    keys = plan.keys().of_leaves(item[3] for item in found) if plan.source is None else repeat(None, len(found))
    tasks = [
        NewTask(ordinal, key, page_id, within) for (ordinal, page_id, within, _), key in zip(found, keys, strict=True)
    ]
    return selection.first(end_run - 1) + selection.runs[end_run - 1][1].chunk_count, tasks


def _shown(database: Database, context: JobContext, step: Step, tasks: Sequence[NewTask]) -> list[NewTask]:
    """The tasks of a step that shows something with its chunks: their keys have it in, by its hash."""
    plan = context.plan_of(step)
    refs: dict[int, bytes | None] = {task.ordinal: None for task in tasks}
    if plan.entities is not None:
        found = context.mentions.get(plan.position)
        if found is None:
            found = context.mentions[plan.position] = mentioned(database, context, plan)
        refs = {ordinal: found.get(ordinal) for ordinal in refs}
    maker = plan.keys()
    with database.read() as rows:
        shown = Surrounder(context, plan).of(rows, refs)
        chunks = rows.chunks.at([(task.page_id or 0, task.page_ordinal or 0) for task in tasks])
    made = []
    for task in tasks:
        sha = chunks[task.page_id or 0, task.page_ordinal or 0].content_sha256
        key = maker.key((sha,), shown[task.ordinal].digest())
        made.append(NewTask(task.ordinal, key, task.page_id, task.page_ordinal, refs[task.ordinal]))
    return made


def unblock(database: Database, context: JobContext, step: Step, before: Step, limit: int) -> int:
    """Give keys to blocked tasks of a map after a map whose chunk is through the step before; gives how many."""
    plan = context.plan_of(step)
    with database.read() as rows:
        found = rows.tasks.blocked(step.id, before.id, limit)
        places = {ordinal: context.selection.locate(ordinal) for _, ordinal, _ in found}
        chunks = rows.chunks.at([(place.page.page_id, place.within) for place in places.values()])
    if not found:
        return 0
    maker = plan.keys()
    keys: dict[int, bytes | None] = {}
    for task_id, ordinal, output in found:
        place = places[ordinal]
        content = chunks[place.page.page_id, place.within].content_sha256
        keys[task_id] = maker.key((content, output)) if output else None
    with database.write() as rows:
        rows.tasks.unblock(keys)
        low, high = found[0][1], found[-1][1] + 1
        rows.tasks.resolve_hits(step.id, low, high)
    return len(found)
