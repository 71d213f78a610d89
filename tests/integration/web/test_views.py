"""Views over HTTP: kept over documents that are in, swept, stale with a cause, removed."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.integration.web.conftest import Site, key, problem, write_novel
from workers.embedded import EmbeddedRunner
from workers.faces import begin, views
from workers.faces.child import spec_of


def add(site: Site, name: str, *documents: str, **more: Any) -> Any:
    body = {"name": name, "pipeline": "glossary", "documents": list(documents), **more}
    answer = site.client("run").post("/v1/views", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/views/{name}"
    return answer.json()


def sweep(site: Site, name: str) -> dict[str, Any]:
    """What the child process of a sweep does, here; and the refresh it begins."""
    found = views.swept(site.web.runtime, name)
    if found["job"]:
        with site.lab.database.read() as rows:
            job = rows.jobs.latest(1)[0]
        EmbeddedRunner(site.web.runtime, job.id).work()
    return found


def looked(site: Site, name: str) -> dict[str, Any]:
    """A view after it was looked at."""
    with site.lab.database.read() as rows:
        found = views.get_view(rows, name)
    assert site.web.standings.of(found, wait_s=30) is not None
    made: dict[str, Any] = site.get(f"/v1/views/{name}")
    return made


def documents_of(site: Site) -> list[str]:
    return [item["id"] for item in reversed(site.walk("/v1/documents"))]


def test_a_view_is_made_swept_stale_by_its_cause_and_renewed(either_site: Site) -> None:
    site = either_site
    book = site.lab.book(write_novel(3), "one.txt")
    site.lab.ingest(book)
    (document,) = documents_of(site)
    made = add(site, "names", document, every_s=3600)
    assert (made["pipeline"], made["selectors"], made["every_s"], made["served"]) == (
        "glossary",
        [document],
        3600,
        None,
    )
    assert looked(site, "names")["standing"]["state"] == "missing"
    sweep(site, "names")
    now = looked(site, "names")
    assert (now["standing"]["state"], now["refresh"], now["standing"]["fresh"]) == ("fresh", 1, 1)
    assert site.get(f"/v1/jobs/{now['served']}")["state"] == "done"
    book.write_text(write_novel(4), encoding="utf-8")
    site.web.standings._kept.clear()
    stale = looked(site, "names")
    assert (stale["standing"]["state"], stale["standing"]["why"]) == ("stale", ["source"])
    (row,) = site.walk("/v1/views/names/documents")
    assert (row["state"], row["why"], row["served"]) == ("stale", ["source"], 1)
    sweep(site, "names")
    assert looked(site, "names")["standing"]["state"] == "fresh"
    assert site.client("run").delete("/v1/views/names").status_code == 204
    problem(site.client().get("/v1/views/names"), 404)
    assert len(site.walk("/v1/documents")) == 1


def test_a_sweep_is_asked_for_once(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(2)))
    add(site, "names", *documents_of(site))
    client = site.client("run")
    problem(client.post("/v1/views/names/sweep"), 400)
    same = key()
    first = client.post("/v1/views/names/sweep", headers=same).json()
    assert (first["kind"], first["request"]) == ("sweep", {"view": "names"})
    assert client.post("/v1/views/names/sweep", headers=same).json()["id"] == first["id"]
    assert len(site.walk("/v1/operations")) == 1
    problem(client.post("/v1/views/none/sweep", headers=key()), 404)


def test_views_are_listed_part_by_part(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(2)))
    names = [f"v{at}" for at in (3, 1, 2, 5, 4)]
    for name in names:
        add(site, name, *documents_of(site))
    assert [item["name"] for item in site.walk("/v1/views", limit=2)] == sorted(names)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"name": "../x"}, 422),
        ({"name": "last"}, 422),
        ({"name": "a" * 65}, 422),
        ({"pipeline": "/etc/passwd"}, 422),
        ({"pipeline": "../../secret.toml"}, 422),
        ({"documents": []}, 422),
        ({"documents": ["/etc/passwd"]}, 422),
        ({"documents": [str(uuid4())]}, 404),
        ({"model": "none"}, 422),
        ({"every_s": 0}, 422),
        ({"surprise": 1}, 422),
    ],
)
def test_a_view_that_is_wrong_is_refused_and_nothing_is_kept(site: Site, change: dict[str, Any], status: int) -> None:
    site.lab.ingest(site.lab.book(write_novel(2)))
    body = {"name": "names", "pipeline": "glossary", "documents": documents_of(site)} | change
    problem(site.client("run").post("/v1/views", json=body), status)
    assert site.walk("/v1/views") == []


def test_a_name_is_taken_once(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(2)))
    add(site, "names", *documents_of(site))
    body = {"name": "names", "documents": documents_of(site)}
    assert "already" in problem(site.client("run").post("/v1/views", json=body), 422)["detail"]


def test_the_pages_keep_sweep_and_remove_a_view(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(2), "novel.txt"))
    (document,) = documents_of(site)
    browser = site.browser()
    assert "octavo view add" in browser.get("/views").text
    kept = browser.post(f"/documents/{document}/keep", data={"pipeline": "glossary", "name": "names"})
    assert kept.headers["location"].startswith("/operations/")
    assert "Sweeping names" in browser.get(kept.headers["location"]).text
    assert "Make it" in browser.get("/views/names").text
    sweep(site, "names")
    looked(site, "names")
    page = browser.get("/views/names").text
    assert "Read what it serves" in page
    assert 'href="/views/names"' in browser.get(f"/documents/{document}").text
    picture = re.search(r'src="(/jobs/[^"]+/map.png)"', browser.get(f"/documents/{document}").text)
    assert picture is not None
    assert browser.get(picture[1]).content.startswith(b"\x89PNG")
    assert "novel" in page
    assert "fresh" in browser.get("/views").text
    assert browser.post("/views/names/sweep").status_code == 303
    assert browser.post("/views/names/remove").headers["location"] == "/views"
    assert browser.get("/views/names").status_code == 404


@pytest.mark.parametrize("name", ["/etc/hostname", "../octavo.toml", "summary.toml", "", "nothing"])
def test_no_caller_names_a_file_of_this_machine_as_a_pipeline(site: Site, name: str) -> None:
    """A pipeline that is a path would tell what stands in it, in the words of an error."""
    site.lab.ingest(site.lab.book(write_novel(2)))
    (document,) = documents_of(site)
    client, browser = site.client("run"), site.browser()
    asked = [
        client.post("/v1/jobs", json={"pipeline": name, "documents": [document]}, headers=key()),
        client.post("/v1/uploads", json={"name": "b.txt", "size": 3, "pipeline": name}),
        client.post("/v1/views", json={"name": "v", "pipeline": name, "documents": [document]}),
    ]
    for answer in asked:
        assert problem(answer, 422)["detail"]
    for path, data in ((f"/documents/{document}/start", {}), (f"/documents/{document}/keep", {"name": "v"})):
        assert browser.post(path, data={"pipeline": name, **data}).status_code == 422
    with pytest.raises(Exception, match="no pipeline"):
        spec_of(name)


def test_what_a_job_or_a_refresh_would_cost_is_counted_and_shown(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(3), "novel.txt"))
    (document,) = documents_of(site)
    add(site, "names", document)
    client, browser = site.client("run"), site.browser()
    asked = [
        (client.post("/v1/plan", json={"pipeline": "glossary", "documents": [document]}).json()["id"], False),
        (client.post("/v1/views/names/plan").json()["id"], True),
        (browser.post("/views/names/plan").headers["location"].rpartition("/")[2], True),
        (
            browser.post(f"/documents/{document}/plan", data={"pipeline": "glossary"})
            .headers["location"]
            .rpartition("/")[2],
            False,
        ),
    ]
    for operation, of_view in asked:
        request = site.get(f"/v1/operations/{operation}")["request"]
        runtime = site.web.runtime
        planned = (
            begin.plan_view(runtime, request["view"])
            if of_view
            else begin.plan_over(runtime, spec_of(request["pipeline"]), [UUID(item) for item in request["documents"]])
        )
        assert planned["steps"][0]["calls_most"] > 0
        with site.lab.database.write() as rows:
            rows.web.end_operation(UUID(operation), result=planned, error=None)
        page = browser.get(f"/operations/{operation}").text
        assert "What glossary would cost" in page
        assert "extract" in page
    assert site.walk("/v1/jobs") == []
    problem(client.post("/v1/views/none/plan"), 404)
    problem(client.post("/v1/plan", json={"pipeline": "../x", "documents": [document]}), 422)


def shown(site: Site, name: str) -> Any:
    """The document of a view with one, looked at anew."""
    looked(site, name)
    (row,) = site.walk(f"/v1/views/{name}/documents")
    return row


def test_staleness_is_dismissed_with_a_note_until_anything_more_changes(either_site: Site) -> None:
    site = either_site
    book = site.lab.book(write_novel(3), "one.txt")
    site.lab.ingest(book)
    (document,) = documents_of(site)
    add(site, "names", document)
    sweep(site, "names")
    row = shown(site, "names")
    assert (row["stamp"], row["dismissed"]) == (None, None)
    client, browser, path = site.client("run"), site.browser(), "/v1/views/names/dismissals"
    book.write_text(write_novel(4), encoding="utf-8")
    site.web.standings._kept.clear()
    assert looked(site, "names")["standing"]["attention"] is True
    assert site.walk("/v1/documents")[0]["freshness"] == "stale"
    made = client.post(path, json={"note": "only a typo"})
    assert (made.status_code, made.json()["standing"]["dismissed"]) == (200, 1)
    now = looked(site, "names")["standing"]
    assert (now["state"], now["stale"], now["attention"], now["causes"]) == ("stale", 1, False, {"source": 1})
    row = shown(site, "names")
    assert (row["dismissed"]["note"], row["dismissed"]["by"]) == ("only a typo", "run")
    assert site.walk("/v1/documents")[0]["freshness"] == "dismissed"
    assert "only a typo" in browser.get("/views/names").text
    assert "stale, dismissed" in browser.get("/documents").text
    assert 'href="/views">0</a>' in browser.get("/").text
    book.write_text(write_novel(5), encoding="utf-8")
    site.web.standings._kept.clear()
    assert shown(site, "names")["dismissed"] is None
    assert looked(site, "names")["standing"]["attention"] is True
    assert 'href="/views">1</a>' in browser.get("/").text
    assert browser.post("/views/names/dismiss", data={"note": "later", "uri": row["uri"]}).status_code == 303
    assert shown(site, "names")["dismissed"]["note"] == "later"
    assert client.delete(path).status_code == 204
    assert shown(site, "names")["dismissed"] is None
    assert client.post(path, json={"note": "still", "uris": [row["uri"]]}).status_code == 200
    assert browser.post("/views/names/revive").status_code == 303
    assert shown(site, "names")["dismissed"] is None
    sweep(site, "names")
    assert looked(site, "names")["standing"]["state"] == "fresh"


def test_a_dismissal_that_is_wrong_is_refused(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(2)))
    add(site, "names", *documents_of(site))
    looked(site, "names")
    client, path = site.client("run"), "/v1/views/names/dismissals"
    problem(client.post(path, json={"note": ""}), 422)
    problem(client.post(path, json={}), 422)
    assert (
        "no document file:///none"
        in problem(client.post(path, json={"note": "x", "uris": ["file:///none"]}), 404)["detail"]
    )
    problem(site.client("read").post(path, json={"note": "x"}), 403)
    problem(client.post("/v1/views/none/dismissals", json={"note": "x"}), 404)
    problem(client.delete("/v1/views/none/dismissals"), 404)


def test_a_view_over_many_documents_is_looked_at_by_another_process(site: Site, monkeypatch: Any) -> None:
    monkeypatch.setattr("workers.faces.views.MANY", 1)
    books = [site.lab.book(write_novel(1), f"book {number}.txt") for number in range(3)]
    ids = [str(item.document.id) for item in site.lab.ingest(*books)]
    made = {"name": "many", "pipeline": "summary", "documents": ids}
    assert site.client().post("/v1/views", json=made).status_code == 201
    views.swept(site.lab.main, "many")
    asked: list[dict[str, Any]] = []
    ask = site.web.hands.ask

    def told(what: dict[str, Any]) -> dict[str, Any]:
        asked.append(what)
        return ask(what)

    monkeypatch.setattr(site.web.standings, "_ask", told)
    found = site.walk("/v1/views/many/documents", limit=2)
    assert [item["state"] for item in found] == ["missing"] * 3
    assert asked == [{"what": "stand", "view": "many"}]
