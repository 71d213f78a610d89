"""A fold from its root down to the chunks, over HTTP and on its page."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

from tests.integration.web.conftest import SUMMARY, Site, problem, write_novel


def test_a_fold_is_walked_from_its_root_to_every_chunk(either_site: Site) -> None:
    site = either_site
    job = site.lab.run(SUMMARY, site.lab.book(write_novel(12), "novel.txt"))
    path = f"/v1/jobs/{job.id}/fold"
    (root,) = site.walk(path)
    assert root["title"] == "novel"
    seen: set[str] = set()

    def visit(name: str, parent: str | None) -> None:
        children = site.walk(f"{path}/{name}", limit=2)
        node = site.get(f"{path}/{name}")
        assert (node["node"], node["parent"], node["child_count"]) == (name, parent, len(children))
        assert name not in seen
        seen.add(name)
        for child in children:
            assert node["output"]["sentences"]
            visit(child["node"], name)

    visit(root["node"], None)
    chunks = [item["ordinal"] for item in site.walk(f"/v1/jobs/{job.id}/tasks", step="summarize")]
    assert sorted(int(name[2:]) for name in seen if name.startswith("0-")) == sorted(chunks)


def test_nodes_that_are_not_there_are_told(novel_site: Site) -> None:
    jobs: dict[str, Any] = {item["pipeline"]: item["id"] for item in novel_site.walk("/v1/jobs")}
    client = novel_site.client()
    for name in ("9-9", "x", "0--1", "1-999999", "-", "0-99999999999999999999"):
        problem(client.get(f"/v1/jobs/{jobs['summary']}/fold/{name}"), 404)
    problem(client.get(f"/v1/jobs/{jobs['summary']}/fold", params={"step": "none"}), 404)
    problem(client.get(f"/v1/jobs/{jobs['glossary']}/fold"), 404)
    problem(client.get(f"/v1/jobs/{uuid4()}/fold"), 404)


def test_the_page_of_a_fold_leads_down_to_the_lines(novel_site: Site) -> None:
    job = next(item["id"] for item in novel_site.walk("/v1/jobs") if item["pipeline"] == "summary")
    browser = novel_site.browser()
    page = browser.get(f"/jobs/{job}/fold").text
    for _ in range(10):
        found = re.search(r'<h[23]><a href="(/jobs/[^"]+/fold\?node=[^"]+)"', page)
        if found is None:
            break
        page = browser.get(found[1].replace("&amp;", "&")).text
    assert "A chunk&#39;s own output" in page
    cite = re.search(r'class="cite" href="([^"#]+)#L', page)
    assert cite is not None
    assert "<mark>" in browser.get(cite[1].replace("&amp;", "&")).text


def test_a_fold_that_is_not_done_shows_what_is_there(site: Site) -> None:
    job = site.lab.begin(SUMMARY, site.lab.book(write_novel(3)))
    assert site.walk(f"/v1/jobs/{job.id}/fold") == []
    assert "has reached its top" in site.browser().get(f"/jobs/{job.id}/fold").text
