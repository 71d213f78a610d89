"""Holes: what failed, in groups of one cause, and how a group is made ready again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from db.database import Repositories
from db.values import Job, Step
from pipeline.errors import OctavoError
from pipeline.ops.values import Json
from pipeline.states import JobState
from workers.control import NotPossibleError, reopen
from workers.faces.jobs import get_job, steps_of

LOOKED_AT = 100  # of a group's holes, for what they said
_VARYING = re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\d+(?:\.\d+)?")


class CountChangedError(OctavoError):
    """The holes are not those that were counted."""


def normalised(message: str) -> str:
    """An error's words without what differs from chunk to chunk: numbers, ids, addresses."""
    return _VARYING.sub("N", message)[:300]


def groups(rows: Repositories, *, job_ids: Sequence[UUID] = (), states: Sequence[str] = ()) -> list[dict[str, Json]]:
    """Holes by job, step and error code, the most first."""
    return [
        {
            "job": str(group.job_id),
            "pipeline": group.pipeline,
            "step": group.step,
            "level": group.level,
            "error": group.code,
            "count": group.count,
            "first": group.first,
        }
        for group in rows.task_lists.hole_groups(job_ids=job_ids, states=states)
    ]


def said(rows: Repositories, job_id: UUID, step: str, code: str) -> list[dict[str, Json]]:
    """What the tries of a group said, alike ones counted together: `{message, count}` of at most 100 looked at."""
    ids = [found.id for found in steps_of(rows, job_id, step)]
    counts = Counter(normalised(message) for message in rows.task_lists.failures(ids, code, LOOKED_AT))
    return [{"message": message, "count": count} for message, count in counts.most_common(5)]


def chosen(
    rows: Repositories, job_id: UUID, *, step: str | None, code: str | None, ordinals: Sequence[int] | None
) -> tuple[Job, list[Step], int]:
    """The job, the steps that a filter means, and how many holes it finds. Raises NotFoundError."""
    job = get_job(rows, job_id)
    steps = steps_of(rows, job_id, step)
    count = rows.tasks.count_holes([item.id for item in steps], code=code, ordinals=ordinals)
    return job, steps, count


def retry(
    rows: Repositories,
    job_id: UUID,
    *,
    step: str | None = None,
    code: str | None = None,
    ordinals: Sequence[int] | None = None,
    expected: int | None = None,
) -> int:
    """Make the holes that a filter finds ready again; gives how many. What was reduced over them is planned anew.

    Raises NotFoundError, NotPossibleError, or CountChangedError when there are not as many as were expected.
    """
    job, steps, count = chosen(rows, job_id, step=step, code=code, ordinals=ordinals)
    if job.state is JobState.CANCELLED:
        raise NotPossibleError(f"Job {job.id} is cancelled: it can not be retried")
    _as_expected(count, expected)
    if not count:
        return 0
    rows.tasks.retry_some([item.id for item in steps], code=code, ordinals=ordinals)
    every = rows.jobs.steps(job_id)
    # What failed only because the chunk's earlier step had failed waits for it again, and fails again if it does.
    rows.tasks.retry_some([item.id for item in every if item.level == 0], code="hole_before", ordinals=None)
    rows.web.note(job.id, f"{_told(count, step, code)} to be tried again")
    reopen(rows, job, every)
    return count


def waive(
    rows: Repositories,
    job_id: UUID,
    *,
    step: str | None = None,
    code: str | None = None,
    ordinals: Sequence[int] | None = None,
    expected: int | None = None,
) -> int:
    """Accept the holes that a filter finds; gives how many. Raises as `retry` does."""
    job, steps, count = chosen(rows, job_id, step=step, code=code, ordinals=ordinals)
    _as_expected(count, expected)
    if count:
        rows.tasks.waive_some([item.id for item in steps], code=code, ordinals=ordinals)
        rows.web.note(job.id, f"{_told(count, step, code)} waived")
        for item in rows.jobs.steps(job_id):
            rows.jobs.reopen(item.id)
        if job.state is not JobState.CANCELLED:
            rows.jobs.move(job.id, to=JobState.RUNNING, reason=None)
    return count


def _told(count: int, step: str | None, code: str | None) -> str:
    """So many holes, and of which kind."""
    said = f"{count} hole{'' if count == 1 else 's'}"
    return said + (f" of {step}" if step else "") + (f" ({code})" if code else "")


def _as_expected(count: int, expected: int | None) -> None:
    if expected is not None and count != expected:
        raise CountChangedError(
            f"There are {count} such holes now, not {expected}", hint="look at them again, then ask with the new count"
        )
