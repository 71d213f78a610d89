"""What changed between two revisions, over HTTP and on its page."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.integration.web.conftest import Site, problem, write_novel


def read(site: Site, text: str) -> UUID:
    """Bring a novel in, or its next revision."""
    return site.lab.ingest(site.lab.book(text, "novel.txt"))[0].document.id


def test_edits_are_those_of_the_command_part_by_part(either_site: Site) -> None:
    site = either_site
    text = write_novel(6)
    read(site, text)
    edited = text.replace("Edith Harrow", "Edith Barrow", 2) + "\n\nChapter 99\n\nIt was the end of it.\n"
    document = read(site, edited)
    path = f"/v1/documents/{document}/changes"
    found = site.get(path)
    items = site.walk(path, limit=1)
    assert found["items"] == items[: len(found["items"])]
    assert (found["before"], found["revision"], found["more"]) == (1, 2, 0)
    assert {item["what"] for item in items} == {"edited", "added"}
    assert found["counts"]["edited"] == sum(item["what"] == "edited" for item in items)
    assert any("Barrow" in (item["after"] or "") for item in items)
    assert site.get(path, revision=2, before=1)["items"] == found["items"]
    browser = site.browser()
    page = browser.get(f"/documents/{document}/changes").text
    assert "Barrow" in page
    assert "from revision 1 to 2" in page
    assert f"/documents/{document}/changes?revision=2" in browser.get(f"/documents/{document}").text


def test_revisions_that_are_not_there_are_told(site: Site) -> None:
    document = read(site, write_novel(1))
    client = site.client()
    path = f"/v1/documents/{document}/changes"
    for query in ({}, {"revision": 1}, {"revision": 9}, {"revision": 1, "before": 7}):
        problem(client.get(path, params=query), 404)
    problem(client.get(path, params={"revision": 0}), 422)


def test_a_page_does_not_wait_for_a_long_comparison(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    read(site, "Chapter 1\n\nOne.\n")
    document = read(site, "Chapter 1\n\nTwo.\n")
    monkeypatch.setattr(site.web.edits._found, "of", lambda *_, **__: None)
    problem(site.client().get(f"/v1/documents/{document}/changes"), 503)
    assert 'data-refresh="2"' in site.browser().get(f"/documents/{document}/changes").text


def test_of_very_many_edits_the_first_are_told_and_the_rest_counted(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.faces.edits.CHANGES", 3)
    chapters = [f"Chapter {number}\n\nThe {{}} of house {number}.\n\n" for number in range(8)]
    read(site, "".join(chapters).replace("{}", "roof"))
    document = read(site, "".join(chapters).replace("{}", "door"))
    found = site.get(f"/v1/documents/{document}/changes")
    assert len(found["items"]) == 3
    assert found["more"] == found["counts"]["edited"] - 3 > 0
