"""Decisions are rows: they hold while every worker is down. Fairness and priority, exactly-once steps, holes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from uuid import UUID

import pytest

from pipeline.states import JobState
from tests.distributed.books import FOLD, HEAD, MAP, MERGE, ONLY_MAP, WHOLE, book
from tests.distributed.fleet import Fleet, said
from tests.distributed.servers import until
from tests.unit.governor.windows import fullest, overlap
from workers.distributed.dispatcher import LEAST_WINDOW, share
from workers.planning.context import load_context
from workers.transitions import advance

nightly = pytest.mark.nightly
Calm = Callable[[str, str], bytes]


def _begun(fleet: Fleet, text: str, name: str = "book.md", slots: int = 2) -> UUID:
    """A job that has begun, whose messages wait in the queues, and no worker is alive."""
    fleet.lease_s = 1.5
    job = fleet.begin(WHOLE, text, name)
    worker = fleet.worker(slots=slots)
    fleet.done(1)
    worker.kill()
    return job


def test_a_job_cancelled_while_the_fleet_is_down_does_no_work(fleet: Fleet) -> None:
    fleet.provider.rule("map", latency_ms=200)
    job = _begun(fleet, book(60))
    fleet.cancel(job)
    calls, keys = fleet.provider.calls(), fleet.tasks("done")
    fleet.worker()
    marker = fleet.begin(ONLY_MAP, book(5, salt="marker"), "marker.md")
    fleet.finish(marker)
    assert fleet.state(job) is JobState.CANCELLED
    assert fleet.provider.calls() == calls + 5, "a message of a cancelled job was followed"
    assert fleet.tasks("done") == keys + 5


def test_a_job_paused_and_resumed_while_the_fleet_is_down_holds_and_goes_on(fleet: Fleet, calm: Calm) -> None:
    fleet.provider.rule("map", latency_ms=100)
    text = book(60)
    job = _begun(fleet, text)
    fleet.pause(job)
    calls = fleet.provider.calls()
    worker = fleet.worker()
    marker = fleet.begin(ONLY_MAP, book(5, salt="marker"), "marker.md")
    fleet.finish(marker)
    assert fleet.state(job) is JobState.PAUSED
    assert fleet.provider.calls() == calls + 5, "a paused job went on"
    worker.kill()
    fleet.resume(job)
    fleet.worker()
    fleet.finish(job)
    fleet.check_ended_right(job, calm(WHOLE, text))


def test_a_priority_given_while_the_fleet_is_down_decides_who_goes_first_and_the_other_still_moves(
    fleet: Fleet,
) -> None:
    fleet.provider.rule("low", latency_ms=20)
    fleet.provider.rule("high", latency_ms=20)
    low = fleet.begin(ONLY_MAP, book(400, marks=["low"] * 400), "low.md")
    high = fleet.begin(ONLY_MAP, book(200, salt="h", marks=["high"] * 200), "high.md")
    assert fleet.cli("priority", str(high), "4").wait(timeout=30) == 0
    fleet.worker(slots=4, wait=False)
    fleet.finish(high)
    order = fleet.provider.order()
    last = max(at for at, mark in enumerate(order) if mark == "high")
    assert order[: last + 1].count("low") < 100, "the urgent job did not go first"
    assert order[: last + 1].count("low") > 0, "the other job stood still"
    fleet.finish(low)


@pytest.mark.parametrize("chunks", [1_500, pytest.param(50_000, marks=nightly)])
def test_a_small_job_beside_a_big_one_ends_within_a_few_windows(fleet: Fleet, chunks: int) -> None:
    fleet.provider.rule("map", latency_ms=20)
    fleet.provider.rule("small", latency_ms=20)
    big = fleet.begin(ONLY_MAP, book(chunks), "big.md")
    fleet.worker(slots=8)
    fleet.done(100)
    began = len(fleet.provider.order())
    small = fleet.begin(ONLY_MAP, book(50, salt="s", marks=["small"] * 50), "small.md")
    fleet.finish(small)
    assert fleet.state(big) is JobState.RUNNING
    last = max(at for at, mark in enumerate(fleet.provider.order()) if mark == "small")
    others = fleet.provider.order()[began:last].count("")
    assert others < 600, f"the big job did {others} calls while the small one's 50 waited"
    fleet.cancel(big)


def test_no_more_is_dispatched_than_fits_into_the_window(fleet: Fleet) -> None:
    """Whatever plan PostgreSQL makes of the statement: of a table without statistics it once took all rows."""
    job = fleet.begin(ONLY_MAP, book(200))
    advance(fleet.database, load_context(fleet.database, fleet.runtime.ops, job))
    with fleet.database.write() as rows:
        steps = [step.id for step in rows.jobs.steps(job)]
        assert len(rows.dispatches.dispatch(steps, limit=7, now_ms=1)) == 7
        assert len(rows.dispatches.ring_again(steps, before_ms=2, now_ms=2, limit=3)) == 3
    assert fleet.tasks("dispatched") == 7


def test_windows_are_shared_by_weight_and_nobody_starves() -> None:
    jobs = [UUID(int=number) for number in range(3)]
    parts = share(90, {jobs[0]: 0, jobs[1]: 1, jobs[2]: -6})
    assert parts[jobs[1]] == pytest.approx(2 * parts[jobs[0]], abs=2)
    assert parts[jobs[2]] == LEAST_WINDOW


@pytest.mark.parametrize("chunks", [0, 1, 300, *(pytest.param(count, marks=nightly) for count in (4_000, 50_000))])
def test_a_reduce_starts_once_however_many_children_there_are(fleet: Fleet, chunks: int) -> None:
    skip = 'skip = ["front", "chapter", "volume", "heading", "contents", "boilerplate"]\n'
    pipeline = HEAD.format(name="once") + MAP + ("" if chunks else skip) + MERGE + FOLD
    job = fleet.begin(pipeline, book(max(1, chunks)))
    for _ in range(2):
        fleet.worker(slots=4, wait=False)
    fleet.finish(job, within_s=60 + chunks / 50)
    assert set(fleet.provider.counts("map").values()) <= {1}
    assert set(fleet.provider.counts("fold").values()) <= {1}
    assert len(fleet.provider.counts("map")) == chunks
    levels = fleet.ask("SELECT position, level, count(*), max(state) FROM steps GROUP BY 1, 2 ORDER BY 1, 2")
    assert {count for _, _, count, _ in levels} == {1}
    assert {state for *_, state in levels} == {"complete"}
    judged = fleet.one("SELECT count(*) FROM tasks JOIN steps ON steps.id = step_id WHERE position = 1 AND level = 2")
    assert judged == 1


def test_one_failed_chunk_does_not_discard_the_reduce(fleet: Fleet) -> None:
    fleet.provider.rule("bad", fail=100)
    job = fleet.begin(WHOLE, book(30, marks=["", "", "", "bad"]))
    fleet.worker()
    fleet.finish(job, state=JobState.HOLES)
    assert fleet.ask("SELECT ordinal FROM tasks WHERE state = 'failed'") == [(3,)]
    assert b'"words"' in fleet.export(job).splitlines()[-1]
    assert fleet.provider.calls("map") == 29 + 4
    fleet.provider.rule("bad")
    retried = fleet.cli("retry", str(job))
    assert retried.wait(timeout=30) == 0
    fleet.finish(job)
    assert fleet.provider.calls("map") == 29 + 5


@pytest.mark.parametrize("command", ["status", "resume", "pause", "cancel", "export"])
def test_an_unknown_job_is_not_found(fleet: Fleet, command: str) -> None:
    process = fleet.cli(command, "01890000-0000-7000-8000-000000000000")
    _, told = process.communicate(timeout=30)
    assert process.returncode == 5, told
    assert told.startswith(b"error: There is no job")


def test_two_processes_that_plan_at_once_write_each_task_once(fleet: Fleet) -> None:
    job = fleet.begin(WHOLE, book(200))
    start = threading.Barrier(4)
    ended: list[int] = []

    def plan() -> None:
        context = load_context(fleet.database, fleet.runtime.ops, job)
        start.wait()
        while advance(fleet.database, context):
            pass
        ended.append(1)

    threads = [threading.Thread(target=plan) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ended) == 4
    assert fleet.ask("SELECT count(*), count(DISTINCT ordinal) FROM tasks") == [(200, 200)]


def test_a_job_begun_while_the_broker_is_away_is_found_when_it_is_back(fleet: Fleet, calm: Calm) -> None:
    text = book(40)
    fleet.worker(slots=4)
    fleet.redis.stop()
    job = fleet.begin(WHOLE, text)
    fleet.redis.start()
    fleet.finish(job)
    fleet.check_ended_right(job, calm(WHOLE, text))


def test_who_looks_on_waits_for_a_database_that_is_restarted(fleet: Fleet) -> None:
    fleet.provider.rule("map", latency_ms=250)
    fleet.write_book(book(60))
    (fleet.folder / "whole.toml").write_text(WHOLE)
    fleet.worker(slots=4)
    run = fleet.cli("run", "book.md", "-p", "whole.toml", "--json")
    fleet.done(4)
    fleet.postgres.restart()
    assert said(run)["state"] == "done"


def test_a_worker_without_its_database_ends_and_says_so(fleet: Fleet) -> None:
    worker = fleet.worker(
        wait=False, OCTAVO_DATABASE_URL=f"postgresql://postgres@/nothing?host={fleet.postgres.folder}"
    )
    assert worker.ended(30) == 1
    assert "error: " in worker.said()
    assert "nothing" in worker.said()


def test_a_map_after_a_map_flows_through_workers(fleet: Fleet, calm: Calm) -> None:
    second = '[[step]]\nname = "refine"\nkind = "map"\nop = "refine"\nafter = "draw"\n'
    pipeline = HEAD.format(name="chain") + MAP + second + FOLD.replace('"draw"', '"refine"')
    text = book(60)
    job = fleet.begin(pipeline, text)
    for _ in range(2):
        fleet.worker(slots=4, wait=False)
    fleet.finish(job)
    fleet.check_ended_right(job, calm(pipeline, text))
    until(lambda: set(fleet.provider.counts("refine").values()) == {1}, within_s=1, what="each is refined once")


@pytest.mark.parametrize("workers", [3, pytest.param(8, marks=nightly)])
def test_limits_hold_while_a_fleet_grows(fleet: Fleet, workers: int) -> None:
    """The provider itself counts, over a window of two seconds in place of a minute."""
    limit, window_s, at_once = 40, 2.0, 5
    (fleet.folder / "octavo.toml").write_text(
        f"[limits.api]\nrequests_per_minute = {limit}\nwindow_s = {window_s}\nconcurrency = {at_once}\n"
    )
    (fleet.folder / "limited.toml").write_text(ONLY_MAP + 'limits = "api"\n')
    fleet.write_book(book(5_000))  # more than they can do
    fleet.provider.rule("map", latency_ms=100)
    fleet.worker(slots=4)
    run = fleet.cli("run", "book.md", "-p", "limited.toml", "--json")
    for _ in range(1, workers):
        fleet.worker(slots=4)
    until(lambda: _doers(fleet) == workers, within_s=60, what="all of them take part")
    fleet.cancel(fleet.one("SELECT id FROM jobs"))
    run.wait(timeout=60)
    spans = fleet.provider.spans()
    assert overlap(spans) <= at_once
    # A call may be on its way for a moment after it was permitted: the window is shorter by so much.
    assert fullest([(begin, 1) for begin, _ in spans], (window_s - 0.25) * 1000) <= limit
    assert len(spans) > limit, "it was not put to the test"


def _doers(fleet: Fleet) -> int:
    return int(fleet.one("SELECT count(DISTINCT owner) FROM attempts"))
