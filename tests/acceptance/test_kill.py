"""`kill -9` at random moments of ingest, map, merge and fold: nothing is lost, nothing is done twice.

What is killed is the process that does the work: `octavo run` itself, or, where workers do it, one of those, and with
it now and then the run that looks on.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.processes import Desk, kill_when, make_desk
from tests.acceptance.served import fleet_in
from tests.distributed.fleet import Fleet
from tests.distributed.servers import Postgres, until

BOOK = {"chapters": 60, "paragraphs": 300, "limit": 20_000}  # 3 MB: several batches of ingest, some 240 chunks


def _ingesting(desk: Desk, pages: int) -> Callable[[], bool]:
    def holds() -> bool:
        begun = desk.ask("SELECT count(*) FROM revisions WHERE state = 'building'")
        published = desk.ask("SELECT count(*) FROM documents WHERE current_revision_id IS NOT NULL")
        stored = desk.ask("SELECT count(*) FROM pages")
        return bool(begun and begun[0][0] and not published[0][0] and stored[0][0] >= pages)

    return holds


def _called(desk: Desk, kind: str, more: int) -> Callable[[], bool]:
    before = sum(desk.calls(kind).values())
    return lambda: sum(desk.calls(kind).values()) >= before + more


def _lost(desk: Desk, level: str, what: str) -> Counter[object]:
    """Lost attempts of map tasks by content, or of reduce tasks by scope."""
    return Counter(
        dict(
            desk.ask(
                f"SELECT {what}, count(*) FROM attempts JOIN tasks ON tasks.id = attempts.task_id "
                "JOIN steps ON steps.id = tasks.step_id LEFT JOIN chunks ON chunks.page_id = tasks.page_id "
                "AND chunks.ordinal = tasks.page_ordinal "
                f"WHERE outcome = 'lost' AND steps.level {level} GROUP BY 1"
            )
        )
    )


Moments = list[Callable[[], Callable[[], bool]]]


def _disturb(desk: Desk, moments: Moments) -> int:
    killed = 0
    for moment in moments:
        killed += kill_when(desk.start_run(), moment())
    return killed


def _disturb_workers(desk: Desk, fleet: Fleet, moments: Moments) -> None:
    """Two workers do the job. At each moment one of them is killed and another started, at every second the run too."""
    for _ in range(2):
        fleet.worker(slots=4, **desk.told)
    run = desk.start_run()
    for at, moment in enumerate(moments):
        condition = moment()
        until(condition, within_s=90, what=f"moment {at} to kill at")
        assert fleet.state(_job(fleet)) == "running", "the job ended before its workers could be killed"
        fleet.workers[at].kill()
        if at % 2:
            run.kill()
            run.communicate()
            run = desk.start_run()
        fleet.worker(slots=4, wait=False, **desk.told)
    desk.finish(run)


def _job(fleet: Fleet) -> str:
    return str(fleet.one("SELECT id FROM jobs"))


def _check_calls(desk: Desk, reduce: str) -> None:
    lost = _lost(desk, "= 0", desk.hexed("chunks.content_sha256"))
    for content, count in desk.calls("map").items():
        assert count <= 1 + lost[content.upper()], "a map call was repeated for a chunk whose lease was not lost"
    repeated = sum(desk.calls(reduce).values()) - len(desk.calls(reduce))
    if reduce == "fold":
        assert repeated <= sum(_lost(desk, "> 0", "tasks.scope").values())
    else:
        # A shard's call is one call for each of its keys.
        shards = int(json.loads(desk.export().splitlines()[0])["shards"])
        lost_shards = _lost(desk, "= 1", "tasks.scope")
        # A word's shard comes from the hash by which its call was written down.
        for value, count in desk.calls("merge").items():
            shard = int(value[:16], 16) % shards
            assert count <= 1 + lost_shards[shard], "a shard was merged again that was not lost"


def _end_as_if_untouched(
    tmp_path: Path, pipeline: str, reduce: str, seed: str, rounds: int, fleet: Fleet | None = None
) -> None:
    book = BOOK | {"chapters": BOOK["chapters"] * rounds}  # long enough for every kill to find it at work
    calm = make_desk(tmp_path / "calm", pipeline, **book)
    calm.run()
    desk = make_desk(tmp_path / "killed", pipeline, **book, fleet=fleet)
    dice = random.Random(seed)
    ingest = [lambda: _ingesting(desk, 0), lambda: _ingesting(desk, dice.randint(1, 40))]
    later = [lambda: _called(desk, "map", dice.randint(1, 60))] * 2 + [
        lambda: _called(desk, reduce, dice.randint(1, 4))
    ]
    later = [moment for moment in later for _ in range(rounds)]
    if fleet is None:
        assert _disturb(desk, ingest + later) == len(ingest + later), "a run ended before it could be killed"
    else:
        assert _disturb(desk, ingest) == len(ingest), "a run ended before it could be killed"
        _disturb_workers(desk, fleet, later)
    again = ("run", str(desk.book), "-p", desk.pipeline, "--json")
    command = ("resume", "last", "--json") if pipeline == "summary" else again
    done = json.loads(desk.finish(desk.start(*command)))
    assert done["state"] == "done"
    assert done["holes"] == 0
    assert desk.export() == calm.export()
    assert set(desk.calls("map")) == set(calm.calls("map"))
    assert set(desk.calls(reduce)) == set(calm.calls(reduce))
    _check_calls(desk, reduce)
    assert desk.ask("SELECT count(*) FROM tasks WHERE state != 'done'") == [(0,)], "no innocent chunk is quarantined"
    assert desk.ask("SELECT count(*) FROM key_leases") == [(0,)]
    warm = desk.run()
    assert (warm["calls"], warm["hits"]) == (0, warm["tasks"])


PIPELINES = pytest.mark.parametrize(("pipeline", "reduce"), [("summary", "fold"), ("glossary", "merge")])


@PIPELINES
def test_a_run_killed_again_and_again_ends_as_if_nobody_had_touched_it(
    tmp_path: Path, pipeline: str, reduce: str
) -> None:
    """Five moments of each pipeline, ten in all: ingest twice, map twice, merge or fold once."""
    _end_as_if_untouched(tmp_path, pipeline, reduce, "20261130", rounds=1)


@pytest.fixture
def workers(tmp_path: Path, postgres_server: Postgres) -> Iterator[Fleet]:
    """A database and a broker, for workers yet to be begun; a lease ends two seconds after its owner's death."""
    (tmp_path / "killed").mkdir()
    with fleet_in(tmp_path / "killed", postgres_server) as fleet:
        fleet.lease_s = 2.0
        yield fleet


@pytest.mark.parametrize(
    ("pipeline", "reduce"), [pytest.param("summary", "fold", marks=pytest.mark.nightly), ("glossary", "merge")]
)
def test_a_job_whose_workers_are_killed_again_and_again_ends_as_if_nobody_had_touched_it(
    tmp_path: Path, workers: Fleet, pipeline: str, reduce: str
) -> None:
    """The same five moments: ingest twice, map twice, merge or fold once."""
    _end_as_if_untouched(tmp_path, pipeline, reduce, "20261130", rounds=1, fleet=workers)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", ["one", "two", "three"])
@PIPELINES
def test_a_run_killed_at_eleven_moments_of_many_seeds_ends_as_if_nobody_had_touched_it(
    tmp_path: Path, pipeline: str, reduce: str, seed: str
) -> None:
    _end_as_if_untouched(tmp_path, pipeline, reduce, seed, rounds=3)


def test_a_chunk_that_ran_at_every_kill_runs_again_alone_and_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(tmp_path, "summary", chapters=1, paragraphs=2, limit=20_000)
    monkeypatch.setenv("PAUSE_S", "60")
    for _ in range(3):
        assert kill_when(desk.start_run(), _called(desk, "map", 1))
    monkeypatch.delenv("PAUSE_S")
    done = desk.run()
    assert (done["state"], done["holes"]) == ("done", 0)
    assert desk.ask("SELECT count(*) FROM attempts WHERE outcome = 'lost'") == [(3,)]


def test_children_of_a_killed_run_do_not_outlive_it(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, "summary", chapters=20, paragraphs=100, limit=1_000)
    process = desk.start("run", str(desk.book), "-p", "glossary", "--json")
    group = process.pid

    def begun() -> bool:
        rows = desk.ask("SELECT count(*) FROM results")
        return bool(rows and rows[0][0])

    deadline = time.monotonic() + 60
    while process.poll() is None and not begun():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()  # the process alone, not its children
    process.communicate()
    while _alive(group):
        assert time.monotonic() < deadline, "a child outlived the killed run"
        time.sleep(0.02)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
