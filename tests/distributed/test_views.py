"""Schedules are done by the workers themselves: no beat, and of several workers one does it."""

from __future__ import annotations

from tests.distributed.books import ONLY_MAP, book
from tests.distributed.fleet import Fleet
from tests.distributed.servers import until
from workers.fresh.standing import view_row


def test_a_view_with_a_schedule_is_made_and_renewed_by_whatever_worker_looks_first(fleet: Fleet) -> None:
    pipeline = fleet.folder / "view.toml"
    pipeline.write_text(ONLY_MAP)
    path = fleet.folder / "watched.md"
    path.write_text(book(12))
    with fleet.database.write() as rows:
        assert rows.views.add(name="kept", pipeline=str(pipeline), selectors=[str(path)], options={})
        view = rows.views.get("kept")
        assert view is not None
        rows.views.schedule(view.id, 1, 1)
    for _ in range(2):
        fleet.worker(slots=2)

    def refreshed(number: int) -> bool:
        with fleet.database.read() as rows:
            found = rows.views.get("kept")
            return found is not None and found.refresh >= number

    until(lambda: refreshed(1), within_s=60, what="the first refresh")
    assert fleet.provider.calls() == 12
    path.write_text(book(12).replace("Lamp 3 ", "Lantern 3 ", 1))
    until(lambda: refreshed(2), within_s=60, what="the second refresh")
    assert fleet.provider.calls() == 13, "one edited chunk, one call, whoever saw it"
    with fleet.database.read() as rows:
        found = rows.views.get("kept")
    assert found is not None
    assert view_row(fleet.runtime, found)["state"] == "fresh"
