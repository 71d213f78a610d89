"""What people decide about a job, as rows: so it holds while every worker is down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from db.database import Database, Repositories
from db.values import Job, Step
from pipeline.errors import OctavoError
from pipeline.states import JOB_ENDED, JobState
from workers.caps import CAPPED, reached
from workers.outputs.job import find_job
from workers.progress import BY_PERSON


class NotPossibleError(OctavoError):
    """The job's state does not allow that."""


def _unless(job: Job, states: Sequence[JobState], what: str) -> None:
    if job.state in states:
        raise NotPossibleError(f"Job {job.id} is {job.state}: it can not be {what}")


def pause(database: Database, text: str) -> Job:
    """Nothing new of a job starts until it is resumed."""
    with database.write() as rows:
        job = find_job(rows, text)
        _unless(job, JOB_ENDED, "paused")
        rows.jobs.move(job.id, to=JobState.PAUSED, reason=BY_PERSON)
        rows.dispatches.recall([step.id for step in rows.jobs.steps(job.id)])
        return find_job(rows, str(job.id))


def unpause(database: Database, text: str, caps: Mapping[str, int] | None = None) -> Job:
    """A paused job may go on, with other caps where they are given. One that runs stays as it is.

    Raises NotPossibleError for a job that its caps would stop again at once.
    """
    with database.write() as rows:
        return unpause_in(rows, text, caps)


def unpause_in(rows: Repositories, text: str, caps: Mapping[str, int] | None = None) -> Job:
    """As `unpause`, in a transaction that is open."""
    job = find_job(rows, text)
    _unless(job, (JobState.CANCELLED, JobState.FAILED), "resumed")
    if caps:
        rows.jobs.cap(job.id, job.caps | dict(caps))
    _within(rows, job, job.caps | dict(caps or {}))
    if job.state is JobState.PAUSED:
        rows.jobs.move(job.id, to=JobState.RUNNING, reason=None)
    return find_job(rows, str(job.id))


def _within(rows: Repositories, job: Job, caps: Mapping[str, int]) -> None:
    if job.state is not JobState.PAUSED or not (job.reason or "").startswith(CAPPED):
        return
    asking = [step.id for step in rows.jobs.steps(job.id) if job.resolved["steps"][step.position]["model"]]
    found = reached(rows, caps, asking)
    if found is not None:
        raise NotPossibleError(f"Job {job.id} would stop again at once: it {found}")


def prioritize(database: Database, text: str, priority: int) -> Job:
    """Give a job more of the workers, or less: each step of `priority` doubles its share. Others still get theirs."""
    with database.write() as rows:
        job = find_job(rows, text)
        _unless(job, JOB_ENDED, "given a priority")
        rows.jobs.prioritize(job.id, priority)
        rows.web.note(job.id, f"priority {priority}")
        return find_job(rows, str(job.id))


def cancel(database: Database, text: str) -> Job:
    """End a job. What runs is finished into the memo; nothing new starts."""
    with database.write() as rows:
        job = find_job(rows, text)
        _unless(job, (JobState.DONE, JobState.HOLES, JobState.FAILED), "cancelled")
        rows.tasks.cancel([step.id for step in rows.jobs.steps(job.id)])
        rows.jobs.move(job.id, to=JobState.CANCELLED, reason="cancelled by a person")
        return find_job(rows, str(job.id))


def retry(database: Database, text: str) -> tuple[Job, int]:
    """Make a job's holes ready again; gives how many there were. What was reduced over them is planned anew."""
    with database.write() as rows:
        job = find_job(rows, text)
        _unless(job, (JobState.CANCELLED,), "retried")
        steps = rows.jobs.steps(job.id)
        count = rows.tasks.retry_holes([step.id for step in steps])
        if count:
            rows.web.note(job.id, f"{_holes(count)} to be tried again")
            reopen(rows, job, steps)
        return find_job(rows, str(job.id)), count


def waive(database: Database, text: str, ordinals: Sequence[int] | None) -> tuple[Job, int]:
    """Accept a job's holes: all, or those of the chunks at `ordinals`; gives how many."""
    with database.write() as rows:
        job = find_job(rows, text)
        steps = rows.jobs.steps(job.id)
        chunks = [step for step in steps if step.level == 0]
        count = rows.tasks.waive([step.id for step in (steps if ordinals is None else chunks)], ordinals)
        if count:
            rows.web.note(job.id, f"{_holes(count)} waived")
            # No output changes, so nothing is planned anew: levels complete again, and what a hole held back follows.
            for step in steps:
                rows.jobs.reopen(step.id)
            rows.jobs.move(job.id, to=JobState.RUNNING, reason=None)
        return find_job(rows, str(job.id)), count


def _holes(count: int) -> str:
    return f"{count} hole{'' if count == 1 else 's'}"


def _waited(plan: Mapping[str, Any]) -> bool:
    """Did a map wait for reduces? Then it was planned on their outputs."""
    return plan.get("entities") is not None or (plan.get("neighbours") or {}).get("summary") is not None


def reopen(rows: Repositories, job: Job, steps: Sequence[Step]) -> None:
    """Maps are open again; the levels of reduces go, for they were planned on outputs that change (the memo stays)."""
    late = {position for position, plan in enumerate(job.resolved["steps"]) if _waited(plan)}
    maps = [step for step in steps if step.level == 0 and step.position not in late]
    for step in maps:
        rows.jobs.reopen(step.id)
    rows.jobs.drop_steps([step.id for step in steps if step not in maps], heir=maps[0].id)
    rows.jobs.move(job.id, to=JobState.RUNNING, reason=None)
