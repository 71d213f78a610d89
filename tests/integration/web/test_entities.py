"""Entities over HTTP: the latest glossary, decisions that hold, and their undoing."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.integration.web.conftest import GLOSSARY, Site, problem, write_novel


@pytest.fixture
def named(either_site: Site) -> tuple[Site, str]:
    """A site with a glossary of one book."""
    either_site.lab.run(GLOSSARY, either_site.lab.book(write_novel(12), "novel.txt"))
    return either_site, either_site.walk("/v1/documents")[0]["id"]


def names(site: Site, document: str) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in site.walk(f"/v1/documents/{document}/entities", limit=3)}


def test_entities_are_listed_merged_renamed_split_and_all_of_it_is_undone(named: tuple[Site, str]) -> None:
    site, document = named
    before = names(site, document)
    first, second = list(before)[:2]
    client, path = site.client("run"), f"/v1/documents/{document}/decisions"

    def decide(kind: str, name: str, other: str) -> int:
        answer = client.post(path, json={"kind": kind, "name": name, "other": other})
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    merged = decide("merge", second, first)
    now = names(site, document)
    assert second not in now
    assert second in now[first]["aliases"]
    assert now[first]["count"] == before[first]["count"] + before[second]["count"]
    split = decide("split", second, first)
    assert second in names(site, document)
    decide("rename", first, "The First")
    assert "The First" in names(site, document)
    made = site.walk(path, limit=2)
    assert [(item["kind"], item["undone_at"]) for item in made] == [("rename", None), ("split", None), ("merge", None)]
    for number in (made[0]["id"], split, merged):
        assert client.delete(f"{path}/{number}").status_code == 204
    problem(client.delete(f"{path}/{merged}"), 404)
    assert names(site, document) == before
    assert all(item["undone_at"] for item in site.walk(path))


def test_a_decision_about_what_is_not_there_is_refused(named: tuple[Site, str]) -> None:
    site, document = named
    client, path = site.client("run"), f"/v1/documents/{document}/decisions"
    first = next(iter(names(site, document)))
    problem(client.post(path, json={"kind": "merge", "name": "Nobody", "other": first}), 422)
    problem(client.post(path, json={"kind": "merge", "name": first, "other": first}), 422)
    problem(client.post(path, json={"kind": "eat", "name": first, "other": first}), 422)
    problem(client.post(f"/v1/documents/{uuid4()}/decisions", json={"kind": "merge", "name": "a", "other": "b"}), 404)
    assert site.walk(path) == []


def test_a_document_without_a_glossary_says_how_to_make_one(site: Site) -> None:
    site.lab.ingest(site.lab.book(write_novel(2), "novel.txt"))
    document = site.walk("/v1/documents")[0]["id"]
    assert "glossary" in problem(site.client().get(f"/v1/documents/{document}/entities"), 404)["hint"]
    assert "Make a glossary" in site.browser().get(f"/documents/{document}/entities").text


def test_the_page_decides_and_undoes(novel_site: Site) -> None:
    site = novel_site
    document = site.walk("/v1/documents")[0]["id"]
    first, second = list(names(site, document))[:2]
    browser, path = site.browser(), f"/documents/{document}"
    assert first in browser.get(f"{path}/entities").text
    assert browser.get(f"{path}/entities", params={"q": "zzz"}).text.count("No name has") == 1
    done = browser.post(f"{path}/decisions", data={"kind": "merge", "name": second, "other": first})
    assert done.headers["location"] == f"{path}/entities"
    page = browser.get(f"{path}/entities").text
    assert "is the same as" in page
    number = site.walk(f"/v1/documents/{document}/decisions")[0]["id"]
    assert browser.post(f"{path}/decisions/{number}/undo").status_code == 303
    assert ", undone" in browser.get(f"{path}/entities").text
