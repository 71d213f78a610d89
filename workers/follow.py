"""Follow a job that workers do: it is read from the database, so whoever looks may come and go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from uuid import UUID

from db.errors import DatabaseBusyError, DatabaseUnreachableError
from db.values import Job
from pipeline.errors import NotFoundError
from pipeline.states import JOB_ENDED, JobState
from workers.embedded import Beat
from workers.progress import JobProgress, progress
from workers.runtime import Runtime

LOOK_S = 0.25
PATIENCE_LOOKS = 240  # a minute: a database that is restarted is there again before


def follow(runtime: Runtime, job_id: UUID, on_beat: Callable[[Beat], None], stop: threading.Event) -> Job:
    """Look until the job ends or pauses, or `stop` is set; gives the job as it then is.

    A database that goes away is waited for, as the workers do. Raises StorageError when it stays away.
    """
    away = 0
    while True:
        try:
            standing = _look(runtime, job_id)
        except (DatabaseBusyError, DatabaseUnreachableError):
            away += 1
            if away > PATIENCE_LOOKS or stop.wait(LOOK_S):
                raise
            continue
        away = 0
        on_beat(Beat(progress=standing))
        job = standing.job
        if job.state in JOB_ENDED or job.state is JobState.PAUSED or stop.wait(LOOK_S):
            return job


def _look(runtime: Runtime, job_id: UUID) -> JobProgress:
    with runtime.database.read() as rows:
        job = rows.jobs.get(job_id)
        if job is None:
            raise NotFoundError(f"There is no job {job_id}")
        return progress(rows, job, runtime.settings)
