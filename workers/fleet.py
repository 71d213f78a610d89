"""Who could do a job's work: the worker processes that are alive, and what they lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from db.database import Repositories
from db.repositories.dispatches import Process
from db.values import Job, Step
from pipeline.ops.registry import mark_of
from pipeline.settings import Settings
from pipeline.states import StepState
from workers.clock import now_ms
from workers.distributed.queues import CHEAP, queue_of
from workers.planning.plan import QUESTIONS

LOADING_S = 3.0  # workers take a moment to load the ops of a new job


@dataclass(frozen=True, slots=True)
class Fleet:
    """The live worker processes. `providers` are those of the models, by name."""

    processes: Sequence[Process]
    providers: Mapping[str, str]

    def lacks(self, job: Job, steps: Sequence[Step]) -> str | None:
        """What a running job waits for because no live worker has it, if anything."""
        if not self.processes:
            return "no worker is alive: start one with octavo worker, or octavo up"
        missing = min((self._unknown(job, process) for process in self.processes), key=len)
        if missing and (datetime.now(UTC) - job.created_at).total_seconds() > LOADING_S:
            return self._tell(job, missing[0])
        open_ = [step for step in steps if step.state is not StepState.COMPLETE]
        return next((told for step in open_ if (told := self._unserved(job, step))), None)

    @staticmethod
    def _unknown(job: Job, process: Process) -> list[tuple[str, str]]:
        """(step, op) of those a process does not know, all of which it must."""
        known = set(process.ops.splitlines())
        return [
            (step["name"], step["op"])
            for step in job.resolved["steps"]
            if mark_of(step["op"], step["version"]) not in known
        ]

    def _tell(self, job: Job, missing: tuple[str, str]) -> str:
        step, op = missing
        others = any(
            line.startswith(mark_of(op, "")) for process in self.processes for line in process.ops.splitlines()
        )
        if others:
            return f"no live worker has op {op!r} (step {step}) as it was when the job was planned: restart the workers"
        modules = " ".join(f"--ops {name}" for name in job.resolved.get("ops", ())) or "--ops MODULE"
        return f"no live worker knows op {op!r} (step {step}): start one with octavo worker {modules}"

    def _unserved(self, job: Job, step: Step) -> str | None:
        queue = queue_of_level(job, step, self.providers)
        if any(queue in process.queues.split(",") for process in self.processes):
            return None
        name = queue.removeprefix("octavo.")
        return (
            f"no live worker serves the queue {name!r} (step {step.name}): start one with octavo worker --queues {name}"
        )


def queue_of_level(job: Job, step: Step, providers: Mapping[str, str]) -> str:
    """The queue on which the tasks of a level wait."""
    resolved = job.resolved["steps"][step.position]
    model = resolved["model"] if "asks" not in resolved or step.level >= QUESTIONS else None
    return CHEAP if model is None else queue_of(model, providers.get(model, ""))


def fleet_of(rows: Repositories, settings: Settings) -> Fleet | None:
    """The fleet of distributed mode; None in embedded mode, where whoever runs a job does it."""
    if not settings.distributed:
        return None
    alive = rows.dispatches.processes(since_ms=now_ms() - int(settings.lease_s * 1000))
    return Fleet(alive, {name: profile.provider for name, profile in settings.models.items()})
