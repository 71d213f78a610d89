"""Plan a map step: set-based, a batch of pages at a time, hits resolved by one join (DESIGN §6)."""

from __future__ import annotations

from db.database import Database
from db.values import NewTask, Step
from workers.planning.context import JobContext

BATCH_CHUNKS = 10_000


def plan_map(database: Database, context: JobContext, step: Step) -> None:
    """Write the tasks of a map step from where its planning stands.

    Each batch is one transaction that moves the step's `planned` by compare-and-set, so two planners do not write one
    batch twice and a killed one loses at most a batch.
    """
    plan = context.plan_of(step)
    keys = None if plan.source is not None else plan.keys()
    selection = context.selection
    done = step.planned
    while done < selection.total:
        first_run = selection.run_at(done)
        end_run = min(selection.run_at(min(done + BATCH_CHUNKS, selection.total) - 1) + 1, len(selection.runs))
        after = selection.first(end_run - 1) + selection.runs[end_run - 1][1].chunk_count
        with database.read() as rows:
            found = selection.hashes(rows, first_run=first_run, end_run=end_run, skip=plan.skip)
        tasks = [
            NewTask(ordinal, keys.key((sha,)) if keys else None, page_id, within)
            for ordinal, page_id, within, sha in found
        ]
        with database.write() as rows:
            if not rows.jobs.planned(step.id, before=done, after=after):
                return
            rows.tasks.add(step.id, tasks)
            if keys:
                rows.tasks.resolve_hits(step.id, done, after)
        done = after
    with database.write() as rows:
        if rows.jobs.planned_whole(step.id, selection.total):
            rows.results.use(step.id)


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
