"""Two `octavo run` at once, on one state folder or over one fleet: no lock error, no double work, both finish."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.processes import Desk, generated_book, make_desk
from tests.acceptance.served import fleet_in
from tests.distributed.fleet import Fleet

SIZE = {"chapters": 30, "paragraphs": 40, "limit": 2_000}


@pytest.fixture(params=["embedded", "workers"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet | None]:
    """None: the processes do their jobs themselves. Else a database and a broker, for workers yet to be begun."""
    if request.param == "embedded":
        yield None
        return
    with fleet_in(tmp_path, request.getfixturevalue("postgres_server")) as made:
        yield made


def _desk(folder: Path, pipeline: str, fleet: Fleet | None) -> Desk:
    desk = make_desk(folder, pipeline, **SIZE, fleet=fleet)
    if fleet is not None:
        for _ in range(2):
            fleet.worker(slots=4, wait=False, **desk.told)
    return desk


def _both(*desks: Desk) -> list[dict[str, object]]:
    running = [desk.start_run() for desk in desks]
    return [json.loads(desk.finish(process)) for desk, process in zip(desks, running, strict=True)]


@pytest.mark.parametrize(("pipeline", "reduce"), [("summary", "fold"), ("glossary", "merge")])
def test_two_runs_of_one_book_share_one_job_and_each_call_is_made_once(
    tmp_path: Path, pipeline: str, reduce: str, fleet: Fleet | None
) -> None:
    desk = _desk(tmp_path, pipeline, fleet)
    first, second = _both(desk, desk)
    assert first["state"] == second["state"] == "done"
    assert first["job"] == second["job"]
    assert first["output"] == second["output"]
    assert set(desk.calls("map").values()) == {1}
    assert set(desk.calls(reduce).values()) == {1}
    assert desk.ask("SELECT count(*) FROM jobs") == [(1,)]
    assert desk.ask("SELECT count(*) FROM documents WHERE current_revision_id IS NOT NULL") == [(1,)]
    assert desk.ask("SELECT count(*) FROM revisions WHERE state = 'building'") == [(0,)]


def test_two_runs_of_different_books_do_not_disturb_each_other_and_share_what_is_alike(
    tmp_path: Path, fleet: Fleet | None
) -> None:
    """The second book has every chapter of the first and some more."""
    desk = _desk(tmp_path, "summary", fleet)
    longer = tmp_path / "longer.txt"
    longer.write_text(generated_book(SIZE["chapters"] + 6, SIZE["paragraphs"]))
    other = replace(desk, book=longer)
    first, second = _both(desk, other)
    assert first["state"] == second["state"] == "done"
    assert first["job"] != second["job"]
    assert set(desk.calls("map").values()) == {1}, "equal chunks of two jobs are one call"
    assert set(desk.calls("fold").values()) == {1}
    alone = make_desk(tmp_path / "alone", "summary", **SIZE)
    assert alone.run()["output"]["value"] == first["output"]["value"]


def test_a_run_of_the_same_book_with_other_parameters_does_not_cancel_the_first(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, "summary", **SIZE)
    first, second = desk.start_run(), desk.start_run("--limit", "3000")
    found = [json.loads(desk.finish(process)) for process in (first, second)]
    assert [item["state"] for item in found] == ["done", "done"]
    assert desk.ask("SELECT count(*) FROM chunkings") == [(2,)]
