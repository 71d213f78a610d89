"""What happened to a job is kept and told: states, decisions of people, processes that died."""

from __future__ import annotations

import pytest

from db.repositories.notes import NOTES_KEPT
from tests.integration.conftest import Laboratory
from tests.integration.web.conftest import PROBE, SUMMARY, Site, key, problem, write_novel
from workers.faces.hands import ChildError, Hands


def says(site: Site, job: object) -> list[str]:
    """What is told, the oldest first."""
    found = site.walk(f"/v1/jobs/{job}/history", limit=2)
    assert [item["sequence"] for item in found] == sorted((item["sequence"] for item in found), reverse=True)
    return [item["says"] or item["state"] for item in reversed(found)]


def test_states_and_decisions_are_told_in_their_order(either_site: Site) -> None:
    from pipeline.ops.decorators import map_op
    from pipeline.retry import CallError, ErrorClass

    site = either_site

    @map_op(name="probe", version="1")
    def probe(text: str) -> object:
        raise CallError(ErrorClass.PERMANENT, "bad", "no")

    site.lab.teach(probe)
    job = site.lab.begin(PROBE, site.lab.book(write_novel(2)))
    client = site.client()
    for path, body in (("pause", None), ("resume", {}), ("priority", {"priority": 2})):
        method = "PUT" if path == "priority" else "POST"
        answer = client.request(method, f"/v1/jobs/{job.id}/{path}", json=body, headers=key())
        assert answer.status_code == 200, answer.text
    site.lab.work(job)
    holes = site.get(f"/v1/jobs/{job.id}")["holes"]
    assert holes
    assert client.post(f"/v1/jobs/{job.id}/waive", json={"filter": {"error": "bad"}}, headers=key()).status_code == 202
    told = says(site, job.id)
    wanted = ["paused by a person", "running", "priority 2"]
    assert told[: len(wanted)] == wanted
    assert any("hole" in line for line in told[len(wanted) :])
    assert f"{holes} hole{'' if holes == 1 else 's'} (bad) waived" in told
    page = site.browser().get(f"/jobs/{job.id}").text
    assert "What happened" in page
    assert "paused by a person" in page


def test_notes_outlive_the_events_that_say_where_a_job_stands(site: Site) -> None:
    from db.listed import Event
    from db.repositories.web import EVENTS_KEPT

    job = site.lab.begin(SUMMARY, site.lab.book(write_novel(1)))
    with site.lab.database.write() as rows:
        rows.web.note(job.id, "something")
        for _ in range(3):
            last = rows.web.last_event(job.id)
            assert last is not None
            event = Event(job_id=job.id, sequence=last.sequence + EVENTS_KEPT, at_ms=1, kind="progress", data=b"{}")
            assert rows.web.add_event(event)
    assert says(site, job.id)[-1] == "something"
    with site.lab.database.read() as rows:
        assert len(rows.web.events(job.id, limit=100, notes=False)) == 1


def test_of_very_many_notes_the_latest_are_kept(site: Site) -> None:
    job = site.lab.begin(SUMMARY, site.lab.book(write_novel(1)))
    with site.lab.database.write() as rows:
        for number in range(NOTES_KEPT + 20):
            rows.web.note(job.id, f"note {number}")
    told = says(site, job.id)
    assert len(told) == NOTES_KEPT
    assert told[-1] == f"note {NOTES_KEPT + 19}"
    problem(site.client().get(f"/v1/jobs/{job.id}/history", params={"cursor": "x"}), 400)


def test_the_death_of_a_process_is_told_until_another_is_at_work_and_kept(
    sqlite_lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = sqlite_lab.begin(SUMMARY, sqlite_lab.book(write_novel(1)))
    hands = Hands(sqlite_lab.main, {})
    told: list[str | None] = []
    hands.noted = lambda: told.append(hands.note(job.id))
    deaths = iter([True, False])

    def ask(what: dict[str, object], job_id: object = None) -> dict[str, object]:
        if next(deaths):
            raise ChildError(cause="exit status -9")
        hands._begun(job.id)
        sqlite_lab.work(job)
        return {"state": "done"}

    monkeypatch.setattr(hands, "ask", ask)
    monkeypatch.setattr("workers.faces.hands.BACK_OFF_S", (0.01,))
    hands._work(job.id)
    assert told == [
        "its process died: another is started in 0.01 s",
        "its process died: another is being started",
        None,
    ]
    with sqlite_lab.database.read() as rows:
        notes = [event.data.decode() for event in rows.web.events(job.id, limit=10, notes=True)]
    assert any("its process died (exit status -9): another was started" in note for note in notes)
    hands.close()
