"""Search, evidence, answers and traces over HTTP and on the pages."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest

from tests.integration.web.conftest import Site, key, problem, write_novel
from workers.faces import evidence


def test_search_finds_chunks_and_goes_on_with_its_cursor(either_site: Site) -> None:
    site = either_site
    site.lab.ingest(site.lab.book(write_novel(30), "novel.txt"), site.lab.book(write_novel([40, 41]), "other.txt"))
    first = site.get("/v1/search", q="silver coins", limit=4)
    assert first["terms"] == ["silver", "coins"]
    assert not first["indexing"]
    assert len(first["items"]) == 4
    for hit in first["items"]:
        assert "silver coins" in hit["text"]
        chunk = site.get(f"/v1/chunks/{hit['chunk']}")
        assert chunk["document"] == hit["document"]
        assert chunk["start_line"] <= hit["start_line"] <= hit["end_line"] <= chunk["end_line"]
    every = site.walk("/v1/search", q="silver coins", limit=4)
    assert len({hit["chunk"] for hit in every}) == len(every) > 8
    assert every[:4] == first["items"]
    inside = site.walk("/v1/search", q="silver coins", limit=50, document=[every[0]["document"]])
    assert {hit["document"] for hit in inside} == {every[0]["document"]}
    chapter = site.get("/v1/search", q="silver", section="Chapter 7")["items"]
    assert {hit["section"] for hit in chapter} == {"Chapter 7"}


def test_a_search_cursor_is_good_for_its_own_words_only(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(30)))
    cursor = site.get("/v1/search", q="silver", limit=2)["next_cursor"]
    client = site.client()
    assert problem(client.get("/v1/search", params={"q": "coins", "cursor": cursor}), 400)["type"].endswith("cursor")
    problem(client.get("/v1/search", params={"q": "silver", "cursor": cursor[:-3] + "AAA"}), 400)


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({}, 422),
        ({"q": ""}, 422),
        ({"q": "a" * 1001}, 422),
        ({"q": "silver", "document": str(uuid4())}, 404),
        ({"q": "silver", "document": "x"}, 422),
        ({"q": "silver", "section": "No Such Chapter"}, 422),
        ({"q": "silver", "limit": 101}, 422),
        ({"q": "silver", "colour": "red"}, 422),
    ],
)
def test_a_search_that_is_wrong_is_told(site: Site, parameters: dict[str, Any], status: int) -> None:
    site.lab.ingest(site.lab.book(write_novel(2)))
    problem(site.client().get("/v1/search", params=parameters), status)


@pytest.mark.parametrize(
    "words", ['"', "NEARBY(", "zzz* OR yyy", "'; DROP TABLE chunks; --", "\x00", "‮", "(((", "-", "🦊"]
)
def test_words_of_any_kind_are_only_words(either_site: Site, words: str) -> None:
    either_site.lab.ingest(either_site.lab.book(write_novel(2)))
    assert either_site.get("/v1/search", q=words)["items"] == []


def test_a_large_library_is_indexed_beside_the_search(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "AT_ONCE", 3)
    site.lab.ingest(site.lab.book(write_novel(30)))
    found = site.get("/v1/search", q="silver")
    assert (found["indexing"], found["items"]) == (True, [])
    assert site.get("/v1/search", q="silver")["indexing"]
    assert [item["kind"] for item in site.walk("/v1/operations")] == ["index"]
    assert "being indexed" in site.browser().get("/search?q=silver").text


def test_evidence_fits_its_budget_and_is_replayed_from_its_trace(either_site: Site) -> None:
    site = either_site
    site.lab.ingest(site.lab.book(write_novel(12)))
    body = {"question": "Who asked about the silver coins?", "budget": 300, "max_sources": 2}
    made = site.client("run").post("/v1/context", json=body).json()
    assert 0 < made["tokens"] <= 300
    assert [source["marker"] for source in made["sources"]] == ["S1", "S2"][: len(made["sources"])]
    (trace,) = site.walk("/v1/traces")
    assert (trace["id"], trace["kind"], trace["question"]) == (made["trace"], "context", body["question"])
    assert site.get(f"/v1/traces/{trace['id']}")["body"]["budget"] == 300
    assert site.get(f"/v1/traces/{trace['id']}/bundle") == made
    problem(site.client().get(f"/v1/traces/{uuid4()}"), 404)
    problem(site.client().get(f"/v1/traces/{uuid4()}/bundle"), 404)
    browser = site.browser()
    assert "silver coins" in browser.get(f"/traces/{trace['id']}").text
    assert body["question"] in browser.get("/traces").text


@pytest.mark.parametrize("path", ["/v1/context", "/v1/ask"])
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"question": " "}, 422),
        ({"documents": [str(uuid4())]}, 404),
        ({"model": "none"}, 422),
        ({"order": "random"}, 422),
        ({"budget": 0}, 422),
        ({"surprise": 1}, 422),
    ],
)
def test_a_question_that_is_wrong_is_refused_at_once(
    site: Site, path: str, change: dict[str, Any], status: int
) -> None:
    site.lab.ingest(site.lab.book(write_novel(2)))
    problem(site.client("run").post(path, json={"question": "Who?"} | change, headers=key()), status)
    assert site.walk("/v1/operations") == []


def test_a_question_is_answered_once_with_its_sources_and_lines(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(12), "novel.txt"))
    client, body = site.client("run"), {"question": "Who asked about the 62 silver coins?"}
    problem(client.post("/v1/ask", json=body), 400)
    same = key()
    asked = client.post("/v1/ask", json=body, headers=same).json()
    assert client.post("/v1/ask", json=body, headers=same).json()["id"] == asked["id"]
    assert (asked["kind"], asked["state"]) == ("ask", "waiting")
    answer = evidence.ask(site.web.runtime, asked["request"])
    with site.lab.database.write() as rows:
        rows.web.end_operation(asked["id"] and _uuid(asked["id"]), result=answer, error=None)
    result = site.get(f"/v1/operations/{asked['id']}")["result"]
    assert result["sufficient"]
    cited = result["citations"][0]
    page = site.browser().get(f"/operations/{asked['id']}").text
    link = re.search(r'href="(/documents/[^"]+/read\?lines=[^"]+)"', page)
    assert link is not None
    text = site.browser().get(link[1].replace("&amp;", "&").partition("#")[0]).text
    marked = [int(number) for number in re.findall(r'<p id="L(\d+)" class="cited">', text)]
    assert marked == list(range(cited["start_line"], cited["end_line"] + 1))


def _uuid(text: str) -> Any:
    from uuid import UUID

    return UUID(text)


def test_the_page_of_search_marks_the_words_and_leads_to_their_lines(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(6), "novel.txt"))
    browser = site.browser()
    assert "octavo ask" in browser.get("/search").text
    page = browser.get("/search", params={"q": "silver"}).text
    assert "<mark>silver</mark>" in page
    link = re.search(r'href="(/documents/[^"]+lines=(\d+)-\d+)#L', page)
    assert link is not None
    assert f'<p id="L{link[2]}" class="cited">' in browser.get(link[1].replace("&amp;", "&")).text
    assert "No chunk has" in browser.get("/search", params={"q": "unicorn"}).text
    asked = browser.post("/ask", data={"question": "silver?"})
    assert asked.headers["location"].startswith("/operations/")
    assert browser.post("/ask", data={"question": "silver?", "document": "x"}).status_code == 404
