"""Where a job stands: tasks by state, calls, tokens, rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from db.database import Repositories
from db.values import Counts, Job, Step
from pipeline.settings import Settings
from pipeline.states import TASK_OPEN, JobState, TaskState
from workers.fleet import fleet_of

BY_PERSON = "paused by a person"  # the reason of a job that somebody paused
WAIT_REASONS = {
    "circuit": "the provider is down: it is tried again by itself",
    "cool_down": "the provider asked for a pause",
    "requests": "the limit of requests is reached",
    "tokens": "the limit of tokens is reached",
    "concurrency": "the limit of calls at once is reached",
    "adaptive": "the provider refused calls: fewer are made at once for a while",
    "fairness": "it is another job's turn",
    "strange": "a worker that does not know its op was rung for it: another one will be",
}

FAULTS = ("circuit", "cool_down", "adaptive")  # of these the provider's own words tell more


@dataclass(frozen=True, kw_only=True, slots=True)
class StepProgress:
    """One level of a step."""

    step: Step
    tasks: int
    done: int
    hits: int
    holes: int
    waived: int
    retrying: int
    running: int
    rung: int  # a message rings for them, no slot has taken them yet
    counts: Counts


@dataclass(frozen=True, kw_only=True, slots=True)
class JobProgress:
    """A job and its steps."""

    job: Job
    steps: tuple[StepProgress, ...]
    waits: str | None = None  # the governor's reason, where tasks wait for it
    lacks: str | None = None  # what no live worker has, in distributed mode
    failed: str | None = None  # what the latest failed try said, where nothing runs and tries wait
    embedded: bool = True

    def total(self, name: str) -> int:
        """A number of tasks, added up over the steps."""
        return sum(int(getattr(step, name)) for step in self.steps)

    def count(self, name: str) -> int:
        """A counter, added up over the steps."""
        return sum(int(getattr(step.counts, name)) for step in self.steps)

    def waits_because(self) -> str | None:
        """Why the job does not move, where that is known."""
        if self.job.state is JobState.PAUSED and self.job.reason in (None, BY_PERSON):
            return "paused: octavo resume goes on"
        if self.job.reason:
            return self.job.reason
        if self.job.state is JobState.RUNNING and not self.total("running"):
            retrying = self.total("retrying")
            if self.lacks:
                return self.lacks
            if self.waits:
                told = WAIT_REASONS.get(self.waits, f"the governor gives no permit: {self.waits}")
                return f"{told} ({self.failed})" if self.failed and self.waits in FAULTS else told
            if retrying:
                return f"{retrying} retries wait for their time" + (f" ({self.failed})" if self.failed else "")
            if self.embedded:
                return "no process works on it: octavo resume goes on"
            if self.total("rung"):
                return "its tasks wait for a free slot of the workers"
        return None


def progress(rows: Repositories, job: Job, settings: Settings | None = None) -> JobProgress:
    """Read where a job stands; with the settings of distributed mode, what the workers lack for it too."""
    steps = rows.jobs.steps(job.id)
    ids = [step.id for step in steps]
    tasks = rows.tasks.counts(ids)
    counts = rows.jobs.counts(ids)
    fleet = fleet_of(rows, settings) if settings and job.state is JobState.RUNNING else None
    retrying = any(found.get("retrying") for found in tasks.values())
    still = retrying and not any(found.get(TaskState.LEASED) for found in tasks.values())
    return JobProgress(
        job=job,
        steps=tuple(_step(step, tasks[step.id], counts.get(step.id, Counts())) for step in steps),
        waits=rows.tasks.waits(ids) if retrying else None,
        failed=rows.attempts.latest_fault(ids) if still else None,
        lacks=fleet.lacks(job, steps) if fleet else None,
        embedded=settings is None or not settings.distributed,
    )


def _step(step: Step, found: dict[str, int], counts: Counts) -> StepProgress:
    states: Sequence[TaskState] = list(TaskState)
    return StepProgress(
        step=step,
        tasks=sum(found.get(state, 0) for state in states),
        done=sum(found.get(state, 0) for state in states if state not in TASK_OPEN),
        hits=found.get("hits", 0),
        holes=found.get(TaskState.FAILED, 0),
        waived=found.get(TaskState.WAIVED, 0),
        retrying=found.get("retrying", 0),
        running=found.get(TaskState.LEASED, 0),
        rung=found.get(TaskState.DISPATCHED, 0),
        counts=counts,
    )
