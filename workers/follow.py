"""Follow a job that workers do: it is read from the database, so whoever looks may come and go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from uuid import UUID

from db.database import Database
from db.values import Job
from pipeline.errors import NotFoundError
from pipeline.states import JOB_ENDED, JobState
from workers.embedded import Beat
from workers.progress import progress

LOOK_S = 0.25


def follow(database: Database, job_id: UUID, on_beat: Callable[[Beat], None], stop: threading.Event) -> Job:
    """Look until the job ends or pauses, or `stop` is set; gives the job as it then is."""
    while True:
        with database.read() as rows:
            job = rows.jobs.get(job_id)
            if job is None:
                raise NotFoundError(f"There is no job {job_id}")
            standing = progress(rows, job)
        on_beat(Beat(progress=standing))
        if job.state in JOB_ENDED or job.state is JobState.PAUSED or stop.wait(LOOK_S):
            return job
