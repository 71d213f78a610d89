"""The queues on which tasks wait for workers: who serves each, what waits on it, and what runs."""

from __future__ import annotations

from collections.abc import Sequence

from db.database import Repositories
from db.repositories.dispatches import Process
from pipeline.ops.values import Json
from pipeline.settings import Settings
from pipeline.states import JobState, StepState, TaskState
from workers.distributed.queues import CONTROL
from workers.fleet import queue_of_level

JOBS = 50  # running jobs whose tasks are counted


def queue_rows(rows: Repositories, settings: Settings, processes: Sequence[Process]) -> list[dict[str, Json]]:
    """`{queue, workers, slots, waiting, running}` of the queues that are served or that tasks wait on, by name.

    Tasks are counted where they are kept, in the database: a message may be lost, a task is not.
    """
    providers = {name: profile.provider for name, profile in settings.models.items()}
    found: dict[str, dict[str, Json]] = {}

    def of(queue: str) -> dict[str, Json]:
        name = queue.removeprefix("octavo.")
        return found.setdefault(name, {"queue": name, "workers": 0, "slots": 0, "waiting": 0, "running": 0})

    for process in processes:
        for queue in filter(lambda name: name and name != CONTROL, process.queues.split(",")):
            row = of(queue)
            row["workers"] += 1
            row["slots"] += process.slots
    for job in rows.jobs.latest(JOBS, states=(JobState.RUNNING,)):
        steps = [step for step in rows.jobs.steps(job.id) if step.state is not StepState.COMPLETE]
        counts = rows.tasks.counts([step.id for step in steps]) if steps else {}
        for step in steps:
            row = of(queue_of_level(job, step, providers))
            row["waiting"] += sum(counts[step.id].get(at, 0) for at in (TaskState.READY, TaskState.DISPATCHED))
            row["running"] += counts[step.id].get(TaskState.LEASED, 0)
    return [found[name] for name in sorted(found)]
