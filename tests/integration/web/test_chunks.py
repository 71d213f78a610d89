"""A chunk with what jobs made of it, the strip of a document, and how long a job still takes."""

from __future__ import annotations

import re
import zlib
from typing import Any
from uuid import UUID, uuid4

import pytest

from db.repositories.task_lists import MAP_CODES
from db.values import NewAttempt
from octavo.web.pages.picture import strip_picture
from pipeline.ops.decorators import map_op
from pipeline.retry import CallError, ErrorClass
from pipeline.states import Outcome
from tests.integration.web.conftest import GLOSSARY, PROBE, SUMMARY, Site, problem, write_novel
from workers.clock import now_ms
from workers.faces import chunks, jobs


def teach(site: Site, *bad: str) -> None:
    """An op that fails on chunks with one of these words in them."""

    @map_op(name="probe", version="1")
    def probe(text: str) -> object:
        if any(word in text for word in bad):
            raise CallError(ErrorClass.PERMANENT, "bad", "it can not be read")
        return {"length": len(text)}

    site.lab.teach(probe)


def test_a_chunk_shows_what_each_job_made_of_it(either_site: Site) -> None:
    site = either_site
    book, other = site.lab.book(write_novel(3), "one.txt"), site.lab.book(write_novel(5), "two.txt")
    first, both = site.lab.run(SUMMARY, book), site.lab.run(GLOSSARY, other, book)
    tasks = {
        (item["place"]["chunk"], item["step"]): (job.id, item)
        for job, step in ((first, "summarize"), (both, "extract"))
        for item in site.walk(f"/v1/jobs/{job.id}/tasks", step=step)
        if item["place"]["title"] == "one"
    }
    assert len(tasks) >= 6
    for chunk in {chunk for chunk, _ in tasks}:
        found = site.get(f"/v1/chunks/{chunk}/tasks")["items"]
        assert [item["pipeline"] for item in found] == ["glossary", "summary"]
        for item in found:
            job, task = tasks[chunk, item["step"]]
            assert (item["job"], item["id"], item["key"]) == (str(job), task["id"], task["key"])
            assert item["text_sha256"] == site.get(f"/v1/chunks/{chunk}")["text_sha256"]
    page = site.browser().get(f"/chunks/{chunk}").text
    for item in found:
        assert f'href="/tasks/{item["id"]}"' in page
    problem(site.client().get(f"/v1/chunks/{uuid4()}/tasks"), 404)


def test_a_chunk_that_was_edited_shows_which_job_saw_another_text(site: Site) -> None:
    text = write_novel(3)
    book = site.lab.book(text)
    site.lab.run(SUMMARY, book)
    chunk = site.walk(f"/v1/documents/{site.walk('/v1/documents')[0]['id']}/chunks")[1]
    assert "another text of it" not in site.browser().get(f"/chunks/{chunk['id']}").text
    at = (chunk["start"] + chunk["end"]) // 2
    book.write_text(text[:at] + " and the ferry was late " + text[at:], encoding="utf-8")
    site.lab.run(SUMMARY, book)
    now = site.get(f"/v1/chunks/{chunk['id']}")
    assert now["text_sha256"] != chunk["text_sha256"]
    found = site.get(f"/v1/chunks/{chunk['id']}/tasks")["items"]
    assert [item["text_sha256"] for item in found] == [now["text_sha256"], chunk["text_sha256"]]
    page = site.browser().get(f"/chunks/{chunk['id']}").text
    assert page.count("another text of it") == 1
    document = site.walk("/v1/documents")[0]["id"]
    latest, before = site.walk(f"/v1/documents/{document}/revisions")
    assert latest["changes"]["edited"] == 1
    assert before["changes"].get("edited", 0) == 0
    assert "1 edited" in site.browser().get(f"/documents/{document}").text


def test_a_strip_shows_the_worst_of_each_stretch_of_its_own_document(either_site: Site) -> None:
    site = either_site
    teach(site, "day 42", "day 130")
    long, short = site.lab.book(write_novel(30), "long.txt"), site.lab.book(write_novel(2), "short.txt")
    job = site.lab.run(PROBE, short, long)
    documents = {item["title"]: item for item in site.walk("/v1/documents")}
    states: dict[str, list[str]] = {"short": [], "long": []}
    for task in site.walk(f"/v1/jobs/{job.id}/tasks"):
        state = "hole" if task["state"] == "failed" else "hit" if task["hit"] else "done"
        states[task["place"]["title"]].append(state)
    assert "hole" not in states["short"]
    for title, wanted in states.items():
        with site.lab.database.read() as rows:
            found = [MAP_CODES[code] for code in chunks.strip(rows, UUID(documents[title]["id"]))]
        assert len(found) == min(100, len(wanted))
        worst = [0] * len(found)
        for at, state in enumerate(wanted):
            stretch = at * len(found) // len(wanted)
            worst[stretch] = max(worst[stretch], MAP_CODES.index(state))
        assert found == [MAP_CODES[code] for code in worst]
        picture = site.browser().get(f"/documents/{documents[title]['id']}/strip.png")
        assert picture.content == strip_picture([MAP_CODES.index(name) for name in found])
        data = zlib.decompress(picture.content.partition(b"IDAT")[2][:-16])
        assert [MAP_CODES[code] for code in data[1:]] == found


def test_the_library_shows_freshness_holes_and_cost(site: Site) -> None:
    teach(site, "day 42")
    book = site.lab.book(write_novel(12), "one.txt")
    site.lab.run(PROBE, book)
    document = site.walk("/v1/documents")[0]
    assert document["freshness"] is None
    latest = document["latest_job"]
    assert (latest["holes"], latest["done"]) == (1, latest["tasks"])
    page = site.browser().get("/documents").text
    assert f'src="/documents/{document["id"]}/strip.png"' in page
    assert re.search(r'alt="\d+ of \d+ tasks done, 1 hole"', page)
    assert "no view" in page
    problem(site.client().get(f"/documents/{uuid4()}/strip.png", headers={"Accept": "application/json"}), 404)


def test_pages_take_the_filters_of_the_api(site: Site) -> None:
    for name in ("one.txt", "two.txt"):
        site.lab.run(SUMMARY, site.lab.book(write_novel(2), name))
    documents = {item["title"]: item for item in site.walk("/v1/documents")}
    browser = site.browser()
    assert "No such job" in browser.get("/jobs", params={"document": str(uuid4())}).text
    page = browser.get("/jobs", params={"document": documents["one"]["id"]}).text
    assert ("<bdi>one</bdi>" in page, "<bdi>two</bdi>" in page) == (True, False)
    page = browser.get("/documents", params={"uri": documents["two"]["uri"]}).text
    assert ("<bdi>one</bdi>" in page, "<bdi>two</bdi>" in page) == (False, True)
    assert "There is no such document" in browser.get("/documents", params={"collection": "none"}).text


def ended(site: Site, job: Any, count: int, *, ago_ms: int) -> None:
    """So many tries of a job's tasks gave a result, the first of them some time ago."""
    with site.lab.database.write() as rows:
        tasks = [task.id for step in rows.jobs.steps(job.id) for task in rows.tasks.page(step.id, states=(), limit=100)]
        at = now_ms() - ago_ms
        rows.attempts.add(
            [NewAttempt(tasks[number % len(tasks)], 1, 1, "x", at, at, Outcome.DONE) for number in range(count)]
        )


@pytest.mark.parametrize(("count", "ago_ms", "told"), [(12, 30_000, True), (2, 1_000, False), (50, 90_000, False)])
def test_a_job_that_moves_says_how_long_it_still_takes(either_site: Site, count: int, ago_ms: int, told: bool) -> None:
    """By what ended in the last minute: long ago, or two tries, tell nothing."""
    site = either_site
    from tests.integration.web.test_because import planned

    job = planned(site)
    ended(site, job, count, ago_ms=ago_ms)
    (listed,) = site.walk("/v1/jobs")
    alone = site.get(f"/v1/jobs/{job.id}")
    assert (
        listed["eta_s"] == pytest.approx(alone["eta_s"], abs=2) if told else listed["eta_s"] is alone["eta_s"] is None
    )
    for path in ("/jobs", f"/jobs/{job.id}", "/"):
        assert (" left" in site.browser().get(path).text) == told
    if told:
        assert alone["pace"] == pytest.approx(12 / 30, rel=0.2)
        assert listed["eta_s"] == pytest.approx(listed["tasks"] / (12 / 30), rel=0.2)
    site.client().post(f"/v1/jobs/{job.id}/pause")
    assert site.walk("/v1/jobs")[0]["eta_s"] is None


def test_time_left_is_none_where_nothing_is_left() -> None:
    assert jobs.eta_s(10, 10, 5.0) is None
    assert jobs.eta_s(10, 5, None) is None
    assert jobs.eta_s(10, 5, 0.5) == 10


def test_a_chunk_whose_grain_did_not_cut_the_current_revision_is_shown_where_it_last_stood(site: Site) -> None:
    """A task of an older job leads to its chunk, whatever cut the book since."""
    book = site.lab.book(write_novel(3))
    job = site.lab.run(SUMMARY.replace("limit = 400", "limit = 90"), book)
    chunk = site.walk(f"/v1/jobs/{job.id}/tasks", step="summarize")[1]["place"]["chunk"]
    assert site.get(f"/v1/chunks/{chunk}")["current"] is True
    book.write_text(write_novel(4), encoding="utf-8")
    site.lab.run(GLOSSARY, book)
    found = site.get(f"/v1/chunks/{chunk}")
    assert (found["revision"], found["current"]) == (1, False)
    page = site.browser().get(f"/chunks/{chunk}").text
    assert "as it stood in revision 1" in page
    assert "revision=1#L" in page
