"""Killed on either side of every commit, the job still ends right: with another worker, or with the next `run`."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.distributed.books import WHOLE, book
from tests.distributed.fleet import Fleet, said
from workers import failpoints

CHUNKS = 60
OF_RUN = ("begin.before", "begin.after")  # reached by `octavo run`; the others by a worker
OF_RECONCILE = ("reconcile.before", "reconcile.after")  # reached when a lease was lost
# Of many workers one plans and dispatches: the worker that is armed must be the only one.
OF_FIRST = ("plan.before", "plan.after", "dispatch.before", "dispatch.after", "send.after")
OF_LAST = ("step.before", "step.after", "end.before", "end.after")
OF_TASKS = (
    "bell",
    "lease.before",
    "lease.after",
    "call.before",
    "call.after",
    "commit.before",
    "commit.after",
    "answered",
)


def _killed_at(fleet: Fleet, name: str) -> None:
    worker = fleet.worker(slots=4, wait=False, OCTAVO_FAILPOINT=name)
    assert worker.ended(60) == -signal.SIGKILL, f"{name}: {worker.said()}"


# Each worker here may hold a task as it dies, and a task's third loss would end it: so they die in several jobs.
TURNS = {
    "as it begins": (*OF_FIRST, "call.after:3", "reconcile.before"),
    "as leases are voided": ("call.after:3", "reconcile.after", "end.before"),
    "as steps end": ("step.before", "step.after", "end.after"),
}


@pytest.mark.parametrize("turn", TURNS)
def test_workers_killed_one_after_the_other_at_the_turns_of_a_job_leave_nothing_undone(
    fleet: Fleet, calm: Callable[[str, str], bytes], turn: str
) -> None:
    fleet.lease_s = 1.5
    text = book(CHUNKS)
    job = fleet.begin(WHOLE, text)
    for name in TURNS[turn]:
        _killed_at(fleet, name)
    fleet.worker(slots=4, wait=False)
    fleet.finish(job)
    fleet.check_ended_right(job, calm(WHOLE, text))


def test_workers_killed_one_after_the_other_on_each_side_of_a_task_leave_nothing_undone(
    fleet: Fleet, calm: Callable[[str, str], bytes]
) -> None:
    """Beside them one worker goes on, so that each of them meets other tasks: a task's third loss would end it."""
    fleet.lease_s = 1.5
    fleet.provider.rule("map", latency_ms=500)  # so that the job outlasts eight workers that start slowly
    text = book(250)
    job = fleet.begin(WHOLE, text)
    fleet.worker(slots=1, wait=False)
    for name in OF_TASKS:
        _killed_at(fleet, name)
    assert fleet.tasks("ready", "dispatched", "blocked") > 0, "the job ended before all points were reached"
    fleet.provider.rule("map", latency_ms=0)
    fleet.finish(job)
    fleet.check_ended_right(job, calm(WHOLE, text))


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in failpoints.NAMES if name not in OF_RUN])
def test_a_worker_killed_at_a_failpoint_leaves_nothing_undone(
    fleet: Fleet, calm: Callable[[str, str], bytes], name: str
) -> None:
    text = book(CHUNKS)
    job = fleet.begin(WHOLE, text)
    if name in OF_RECONCILE:
        _killed_at(fleet, "call.after:3")
    _killed_at(fleet, name)
    fleet.worker(slots=4, wait=False)
    fleet.finish(job, within_s=60)
    fleet.check_ended_right(job, calm(WHOLE, text))


@pytest.mark.parametrize("name", OF_RUN)
def test_a_run_killed_as_it_begins_a_job_is_run_again(
    fleet: Fleet, calm: Callable[[str, str], bytes], name: str
) -> None:
    text = book(CHUNKS)
    fleet.write_book(text)
    (fleet.folder / "whole.toml").write_text(WHOLE)
    command = ("run", "book.md", "-p", "whole.toml", "--json")
    killed = fleet.cli(*command, OCTAVO_FAILPOINT=name)
    _, err = killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL, err.decode()
    fleet.worker(slots=4, wait=False)
    if name == "begin.before":
        assert fleet.ask("SELECT 1 FROM jobs") == []
        assert said(fleet.cli(*command))["state"] == "done"
    (job,) = fleet.ask("SELECT id FROM jobs")
    fleet.finish(job[0])
    fleet.check_ended_right(job[0], calm(WHOLE, text))


def test_a_failpoint_that_there_is_not_is_refused(fleet: Fleet) -> None:
    worker = fleet.worker(wait=False, OCTAVO_FAILPOINT="nowhere")
    assert worker.ended() != 0
    assert "There is no failpoint 'nowhere'" in worker.said()


def test_every_failpoint_is_fired() -> None:
    assert set(OF_RUN + OF_FIRST + OF_RECONCILE + OF_LAST + OF_TASKS) == set(failpoints.NAMES)
    assert set(OF_FIRST + OF_RECONCILE + OF_LAST) < {name for names in TURNS.values() for name in names}
