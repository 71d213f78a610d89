"""A job that can not go on says why: no worker, none that knows its op, none for its queue, a merge that breaks."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from pipeline.states import JobState
from tests.distributed.books import HEAD, MAP, MERGE, ONLY_MAP, book
from tests.distributed.fleet import Fleet
from tests.distributed.servers import until
from workers.clock import now_ms
from workers.faces.queues import queue_rows
from workers.outputs.job import find_job
from workers.progress import progress

OPS = """
from octavo import map_op, reduce_op

@map_op(version={version})
def own(text):
    return {{"items": text.split()[:3]}}

@reduce_op(version=1, key=lambda item: item["no such field"])
def broken(items):
    return len(items)
"""
OWN = HEAD.format(name="own") + MAP.replace('"draw"', '"own"')


def _because(fleet: Fleet, job: UUID | str) -> str:
    """Why a job waits, as `octavo status` says."""
    with fleet.database.read() as rows:
        return str(progress(rows, find_job(rows, str(job)), fleet.runtime.settings).waits_because())


def _queues(fleet: Fleet) -> dict[str, Any]:
    """The queues, as the page of workers and the API show them."""
    with fleet.database.read() as rows:
        alive = rows.dispatches.processes(since_ms=now_ms() - int(fleet.lease_s * 1000), limit=100)
        return {str(row["queue"]): row for row in queue_rows(rows, fleet.runtime.settings, alive)}


def _says(fleet: Fleet, job: UUID | str, what: str) -> None:
    until(lambda: what in _because(fleet, job), within_s=40, what=f"status says {what!r}")


def _own_ops(fleet: Fleet, version: int = 1) -> dict[str, str]:
    """A folder with a module that only those find who are told of it."""
    folder = fleet.folder / f"own-{version}"
    folder.mkdir()
    (folder / "own_ops.py").write_text(OPS.format(version=version))
    return {"PYTHONPATH": f"{folder}:{fleet.environment()['PYTHONPATH']}", "OCTAVO_OPS": "own_ops"}


def _run(fleet: Fleet, pipeline: str, text: str, **environment: str) -> str:
    fleet.write_book(text)
    (fleet.folder / "own.toml").write_text(pipeline)
    run = fleet.cli("run", "book.md", "-p", "own.toml", "--json", **environment)

    def begun() -> list[tuple[str]]:
        assert run.poll() is None, run.communicate()
        return fleet.ask("SELECT id FROM jobs")

    return str(until(begun, within_s=60, what="the job is begun")[0][0])


def test_a_job_waits_for_a_worker_that_knows_its_op_says_so_and_goes_on_when_one_comes(fleet: Fleet) -> None:
    fleet.lease_s = 2.0
    own = _own_ops(fleet)
    job = _run(fleet, OWN, book(40), **own)
    _says(fleet, job, "no worker is alive")
    told, _ = fleet.cli("status", job, "--json").communicate(timeout=120)
    assert "no worker is alive" in json.loads(told)["because"]
    strange = fleet.worker(slots=2)
    _says(fleet, job, "no live worker knows op 'own' (step own): start one with octavo worker --ops own_ops")
    other = fleet.begin(ONLY_MAP, book(20), "other.md")
    fleet.finish(other)
    assert fleet.state(job) is JobState.RUNNING
    fleet.worker(slots=2, wait=False, **own)
    fleet.finish(job)
    assert strange.process.poll() is None
    assert fleet.attempts("lost") == 0, "a worker that does not know an op must lose no lease over it"


def test_a_worker_with_another_version_of_the_op_is_named(fleet: Fleet) -> None:
    fleet.lease_s = 2.0
    job = _run(fleet, OWN, book(10), **_own_ops(fleet))
    fleet.worker(slots=2, **_own_ops(fleet, version=2))
    _says(fleet, job, "no live worker has op 'own' (step own) as it was when the job was planned")


def test_a_job_without_a_worker_for_its_queue_says_so(fleet: Fleet) -> None:
    fleet.lease_s = 2.0
    job = fleet.begin(ONLY_MAP, book(10))
    fleet.worker("--queues", "control,compute", slots=2)
    _says(fleet, job, "no live worker serves the queue 'cheap' (step draw)")
    idle = {"queue": "compute", "workers": 1, "slots": 2, "waiting": 0, "running": 0}
    waiting = {"queue": "cheap", "workers": 0, "slots": 0, "waiting": 10, "running": 0}
    until(lambda: _queues(fleet) == {"cheap": waiting, "compute": idle}, within_s=40, what="ten tasks wait")
    fleet.worker("--queues", "cheap", slots=3, wait=False)
    fleet.finish(job)
    served = {"queue": "cheap", "workers": 1, "slots": 3, "waiting": 0, "running": 0}
    assert _queues(fleet) == {"cheap": served, "compute": idle}


def test_a_merge_that_can_not_be_planned_ends_its_job_and_says_why(fleet: Fleet) -> None:
    own = _own_ops(fleet)
    job = _run(fleet, OWN + MERGE.replace('"tally"', '"broken"').replace('"draw"', '"own"'), book(10), **own)
    worker = fleet.worker(slots=2, **own)
    fleet.finish(job, state=JobState.FAILED)
    assert "The key of op 'broken' can not be found" in _because(fleet, job)
    fleet.finish(fleet.begin(ONLY_MAP, book(10, salt="x"), "other.md"))
    assert worker.process.poll() is None
