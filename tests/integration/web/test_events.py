"""Server-sent events: told live, replayed after Last-Event-ID, reset where that is gone, 204 when all is seen."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn

from db.listed import Event
from db.repositories import web as kept
from db.values import Job
from octavo.web.api import events
from octavo.web.app import create_app
from tests.integration.web.conftest import SUMMARY, Site, write_novel
from workers import control
from workers.embedded import EmbeddedRunner


def begun(site: Site) -> Job:
    return site.lab.begin(SUMMARY, site.lab.book(write_novel(3)))


def store(site: Site, job: Job, count: int, *, end: bool = False) -> None:
    """Events of a job up to a number, as a hub stores them: after what was noted of it."""
    with site.lab.database.read() as rows:
        last = rows.web.last_event(job.id)
    for number in range(last.sequence + 1 if last else 1, count + 1):
        kind = "end" if end and number == count else "progress"
        data = json.dumps({"done": number}).encode()
        with site.lab.database.write() as rows:
            assert rows.web.add_event(Event(job_id=job.id, sequence=number, at_ms=number, kind=kind, data=data))


def first_told(site: Site, job: Job, said: str | None) -> list[tuple[int | None, str]] | None:
    """(id, kind) of what a viewer is told at once who comes back with this `Last-Event-ID`."""
    found = events._begin(site.web, job.id, said)
    return None if found is None else [parsed(part.decode()) for part in found]


def parsed(text: str) -> tuple[int | None, str]:
    fields = dict(line.split(": ", 1) for line in text.strip().split("\n"))
    return (int(fields["id"]) if "id" in fields else None), fields["event"]


def test_who_comes_back_gets_what_was_missed_and_nothing_twice(either_site: Site) -> None:
    job = begun(either_site)
    store(either_site, job, 7)
    assert first_told(either_site, job, "4") == [(5, "progress"), (6, "progress"), (7, "progress")]
    assert first_told(either_site, job, "7") == []
    assert first_told(either_site, job, "0") == [(number, "progress") for number in range(1, 8)]


def test_who_comes_for_the_first_time_gets_the_latest(site: Site) -> None:
    job = begun(site)
    assert first_told(site, job, None) == []
    store(site, job, 7)
    assert first_told(site, job, None) == [(7, "progress")]


@pytest.mark.parametrize("said", ["", "x", "-1", "8", "٣", "1e3", "9" * 40, "9223372036854775807", "4 "])
def test_an_id_that_can_not_be_gone_on_from_is_told_to_begin_anew(site: Site, said: str) -> None:
    job = begun(site)
    store(site, job, 7)
    found = first_told(site, job, said)
    assert found is not None
    assert found[0] == (None, "reset")
    assert found[1] == (7, "progress")


def test_what_is_no_longer_kept_is_a_reset(either_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "EVENTS_KEPT", 5)
    job = begun(either_site)
    store(either_site, job, 20)
    with either_site.lab.database.read() as rows:
        first = rows.web.first_event(job.id)
    assert first is not None
    assert first > 10
    assert first_told(either_site, job, "3") == [(None, "reset"), (20, "progress")]
    assert first_told(either_site, job, str(first - 1)) == [(n, "progress") for n in range(first, 21)]


def test_it_is_204_when_the_end_was_seen_and_only_then(either_site: Site) -> None:
    job = begun(either_site)
    control.cancel(either_site.lab.database, str(job.id))
    store(either_site, job, 3, end=True)
    client = either_site.client("read")
    path = f"/v1/jobs/{job.id}/events"
    answer = client.get(path, headers={"Last-Event-ID": "3"})
    assert (answer.status_code, answer.content) == (204, b"")
    missed = client.get(path, headers={"Last-Event-ID": "1"})
    assert missed.headers["content-type"].startswith("text/event-stream")
    assert [parsed(part) for part in missed.text.split("\n\n")[1:-1]] == [(2, "progress"), (3, "end")]
    assert [parsed(part) for part in client.get(path).text.split("\n\n")[1:-1]] == [(3, "end")]


def test_an_end_after_which_the_job_went_on_is_told_as_none(either_site: Site) -> None:
    """Its holes were retried: who looks then is to see it go on, not to be sent away with the end of before."""
    job = begun(either_site)
    store(either_site, job, 3, end=True)
    assert first_told(either_site, job, None) == [(3, "progress")]
    assert first_told(either_site, job, "1") == [(2, "progress"), (3, "progress")]
    assert first_told(either_site, job, "99") == [(None, "reset"), (3, "progress")]
    assert first_told(either_site, job, "3") == []
    control.cancel(either_site.lab.database, str(job.id))  # which is noted
    store(either_site, job, 5, end=True)
    assert first_told(either_site, job, "1") == [(2, "progress"), (3, "progress"), (4, "note"), (5, "end")]
    assert first_told(either_site, job, "5") is None


def test_who_saw_no_end_is_not_sent_away_though_the_job_has_ended(either_site: Site) -> None:
    """Nobody watched when it ended: what is kept is not the end, so the hub is to tell it."""
    job = begun(either_site)
    store(either_site, job, 3)
    control.cancel(either_site.lab.database, str(job.id))
    assert first_told(either_site, job, "3") == [(4, "note")]
    assert first_told(either_site, job, "4") == []


def test_a_viewer_who_reads_too_slowly_is_told_to_look_anew_and_holds_nobody_up(site: Site) -> None:
    async def slow() -> None:
        viewer = events._Viewer()
        for number in range(events.WAITING_MOST * 3):
            viewer.put(Event(job_id=begun_job, sequence=number, at_ms=0, kind="progress", data=b"{}"))
        first = await viewer.next()
        assert first.sequence == events.WAITING_MOST * 2
        assert viewer.reset() == events.RESET
        assert viewer.reset() == b""
        rest = [(await viewer.next()).sequence for _ in range(events.WAITING_MOST - 1)]
        assert rest[-1] == events.WAITING_MOST * 3 - 1

    begun_job = begun(site).id
    asyncio.run(slow())


@contextmanager
def served(site: Site) -> Iterator[str]:
    """The application on a port of this machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(site.web)  # its own: a server starts what belongs to it
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()


def test_a_job_is_watched_to_its_end_by_two_at_once_and_both_are_told_the_same(either_site: Site) -> None:
    site = either_site
    job = begun(site)
    told: dict[int, list[dict[str, Any]]] = {0: [], 1: []}

    def watch(who: int, address: str) -> None:
        headers = {"Authorization": f"Bearer {site.token('read')}"}
        with httpx.stream("GET", f"{address}/v1/jobs/{job.id}/events", headers=headers, timeout=60) as answer:
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    told[who].append({"id": int(line[4:])})
                elif line.startswith("data: ") and told[who]:
                    told[who][-1]["data"] = json.loads(line[6:])

    site.token("read")
    with served(site) as address:
        viewers = [threading.Thread(target=watch, args=(who, address)) for who in told]
        for viewer in viewers:
            viewer.start()
        until = time.monotonic() + 30
        while site.web.hub.viewers() < 2 or not all(told.values()):
            assert time.monotonic() < until
            threading.Event().wait(0.02)
        EmbeddedRunner(site.lab.runtime(), job.id).work()
        for viewer in viewers:
            viewer.join(60)
    assert told[0][-1] == told[1][-1]
    last = told[0][-1]["data"]
    assert (last["state"], last["done"]) == ("done", last["tasks"])
    assert [item["id"] for item in told[0]] == sorted({item["id"] for item in told[0]})
    assert site.web.hub.viewers() == 0
