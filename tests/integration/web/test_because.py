"""Why a job does not move, for every reason: in lists, on its page, and to who watches."""

from __future__ import annotations

import pytest

from db.repositories.dispatches import Process
from db.values import Job
from tests.integration.web.conftest import SUMMARY, Site, write_novel
from workers import control
from workers.clock import now_ms
from workers.faces.hub import _Watched
from workers.planning.context import load_context
from workers.progress import WAIT_REASONS
from workers.transitions import plan


def because(site: Site, job: Job) -> str:
    """What the API, its list, the page and the events say alike."""
    said = site.get(f"/v1/jobs/{job.id}")["because"]
    assert next(item for item in site.walk("/v1/jobs") if item["id"] == str(job.id))["because"] == said
    page = site.browser().get(f"/jobs/{job.id}").text
    assert ("because" in page.partition('data-v="because">')[2][:20]) == bool(said)
    with site.lab.database.read() as rows:
        delta = site.web.hub.delta(rows, job.id, _Watched())
    assert delta is not None
    assert delta["because"] == said
    return str(said)


def begun(site: Site) -> Job:
    return site.lab.begin(SUMMARY, site.lab.book(write_novel(3)))


def planned(site: Site) -> Job:
    """A job whose chunks are tasks, and nobody at them."""
    job = begun(site)
    context = load_context(site.lab.database, site.lab.ops, job.id)
    with site.lab.database.read() as rows:
        steps = rows.jobs.steps(job.id)
    plan(site.lab.database, context, steps[0])
    return job


def send_back(site: Site, job: Job, code: str) -> None:
    """All tasks of a job went back for a reason, and wait for a time that is not yet."""
    with site.lab.database.write() as rows:
        steps = [step.id for step in rows.jobs.steps(job.id)]
        ids = [task.id for step in steps for task in rows.tasks.page(step, states=(), limit=100)]
        rows.tasks.lease(ids, owner="x", until_ms=now_ms() + 60_000)
        rows.tasks.again(ids, not_before_ms=now_ms() + 60_000, code=code)


def workers_at(site: Site, *, queues: str, ops: str) -> None:
    """The application is told of workers, and one says that it lives."""
    site.web.runtime.settings = site.web.runtime.settings.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"})
    now = now_ms()
    with site.lab.database.write() as rows:
        rows.dispatches.beat(
            Process(owner="w", host="h", pid=1, queues=queues, slots=4, ops=ops, started_ms=now, beat_ms=now)
        )


def test_nobody_works_on_it(site: Site) -> None:
    assert because(site, begun(site)) == "no process works on it: resume it"


def test_a_person_paused_it(either_site: Site) -> None:
    job = begun(either_site)
    control.pause(either_site.lab.database, str(job.id))
    assert because(either_site, job).startswith("paused")


@pytest.mark.parametrize("reason", WAIT_REASONS)
def test_the_governor_holds_it_back(site: Site, reason: str) -> None:
    job = planned(site)
    send_back(site, job, f"waits_{reason}")
    assert because(site, job) == WAIT_REASONS[reason]


def test_its_tries_wait_for_their_time(either_site: Site) -> None:
    job = planned(either_site)
    send_back(either_site, job, "transient")
    assert "retries wait for their time" in because(either_site, job)


def test_a_cap_or_a_fault_paused_it(site: Site) -> None:
    from pipeline.states import JobState

    job = begun(site)
    with site.lab.database.write() as rows:
        rows.jobs.move(job.id, to=JobState.PAUSED, reason="stopped at the cap of 3 calls")
    assert because(site, job) == "stopped at the cap of 3 calls"


def test_no_worker_is_alive(site: Site) -> None:
    job = begun(site)
    site.web.runtime.settings = site.web.runtime.settings.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"})
    assert because(site, job) == "no worker is alive: start one with octavo worker, or octavo up"


def test_no_worker_serves_its_queue(site: Site) -> None:
    job = begun(site)
    workers_at(site, queues="octavo.elsewhere", ops="\n".join(site.lab.ops.marks()))
    assert "no live worker serves the queue" in because(site, job)


def test_other_jobs_are_before_it_or_it_is_about_to_begin(site: Site) -> None:
    job = begun(site)
    with site.lab.database.read() as rows:
        from workers.fleet import queue_of

        model = rows.jobs.get(job.id).resolved["steps"][0]["model"]  # type: ignore[union-attr]
    workers_at(site, queues=queue_of(model, "extractive"), ops="\n".join(site.lab.ops.marks()))
    assert because(site, job) == "it is about to be taken up"
    site.lab.begin(SUMMARY, site.lab.book(write_novel(5), "other.txt"))
    assert "the workers are at another job" in because(site, job)


def test_its_last_tasks_wait_for_another_jobs_equal_ones(site: Site) -> None:
    job = planned(site)
    with site.lab.database.write() as rows:
        for step in rows.jobs.steps(job.id):
            ids = [task.id for task in rows.tasks.page(step.id, states=(), limit=100)]
            rows.tasks.wait_for_key(ids)
    assert "wait for equal ones that another job is at" in because(site, job)


def test_a_job_that_ended_waits_for_nothing(site: Site) -> None:
    job = site.lab.run(SUMMARY, site.lab.book(write_novel(2)))
    assert site.get(f"/v1/jobs/{job.id}")["because"] is None
