"""Refreshes by workers: a provider that is down leaves the old result, and what is fresh costs no call."""

from __future__ import annotations

from tests.distributed.books import MAP, ONLY_MAP, WHOLE, book
from tests.distributed.fleet import Fleet
from tests.distributed.servers import until
from workers.fresh.standing import view_row
from workers.fresh.sweep import sweep
from workers.outputs.job import find_output

PATIENT = ONLY_MAP.replace(MAP, MAP + "attempts = 100\n")


def test_a_provider_that_is_down_leaves_the_old_result_and_the_refresh_goes_on_when_it_is_back(fleet: Fleet) -> None:
    pipeline = fleet.folder / "view.toml"
    pipeline.write_text(PATIENT)
    path = fleet.write_book(book(8), "watched.md")
    with fleet.database.write() as rows:
        rows.views.add(name="kept", pipeline=str(pipeline), selectors=[str(path)], options={})

    def view():
        with fleet.database.read() as rows:
            found = rows.views.get("kept")
        assert found is not None
        return found

    def served() -> bytes:
        with fleet.database.read() as rows:
            return fleet.export(find_output(rows, "kept").id)

    fleet.worker(slots=4)
    fleet.worker(slots=4)
    sweep(fleet.runtime, view())
    until(lambda: view().refresh == 1, within_s=60, what="the first refresh")
    old = served()
    fleet.provider.rule("map", fail=1_000_000)
    path.write_text(book(8).replace("Lamp 3 ", "Lantern 3 ", 1))
    job = sweep(fleet.runtime, view()).job
    assert job is not None
    until(lambda: fleet.attempts("retry") >= 2, within_s=60, what="tries that fail")
    assert served() == old
    assert view_row(fleet.runtime, view())["job_state"] == "running"
    assert sweep(fleet.runtime, view()).joined, "it goes on, it is not begun anew"
    fleet.provider.rule("map", fail=0)
    until(lambda: view().refresh == 2, within_s=120, what="the refresh after it is back")
    assert served() != old
    assert view_row(fleet.runtime, view())["state"] == "fresh"
    fleet.check_nothing_left()


def test_what_eight_workers_did_costs_no_call_when_it_is_asked_for_again(fleet: Fleet) -> None:
    for _ in range(8):
        fleet.worker(slots=2, wait=False)
    # All at once they take a while to come up on a busy machine.
    until(lambda: fleet.one("SELECT count(*) FROM processes") >= 8, within_s=240, what="eight workers beat")
    text = book(60)
    fleet.finish(fleet.begin(WHOLE, text), within_s=120)
    made = fleet.provider.calls("map") + fleet.provider.calls("fold")
    assert made >= 60
    fleet.finish(fleet.begin(WHOLE, text), within_s=60)
    fleet.finish(fleet.begin(WHOLE, text, "copy.md"), within_s=60)
    assert fleet.provider.calls("map") + fleet.provider.calls("fold") == made
