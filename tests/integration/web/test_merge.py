"""A merge from its judgement down to the chunks, over HTTP and on its page."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

from tests.integration.web.conftest import GLOSSARY, SUMMARY, Site, problem, write_novel

QUESTIONS = GLOSSARY.replace('op = "glossary"', 'op = "glossary"\nparams = { near_names = "rule" }')
CONFLICTS = GLOSSARY.replace('"extract"', '"facts"').replace('op = "glossary"', 'op = "conflicts"')
ALIKE = (
    "Chapter 1\n\nQueequeg, also spelt Quequeg, sat by Queequeg. Then Quequeg rose, and old Queequeg with Quequeg.\n"
)


def test_a_merge_is_walked_from_its_judgement_to_every_chunk(either_site: Site) -> None:
    site = either_site
    job = site.lab.run(GLOSSARY, site.lab.book(write_novel(12), "novel.txt"))
    path = f"/v1/jobs/{job.id}/merge"
    (judgement,) = site.walk(path)
    assert (judgement["node"], judgement["kind"], judgement["state"]) == ("2-0", "judgement", "done")
    shards = [child["node"] for child in site.walk(f"{path}/2-0", limit=3)]
    assert shards == [item["node"] for item in site.walk(path, level=1)]
    names: dict[str, set[str]] = {}
    below: set[str] = set()
    for shard in shards:
        found = site.get(f"{path}/{shard}")
        children = site.walk(f"{path}/{shard}", limit=7)
        assert (found["above"], found["child_count"]) == (["2-0"], len(children))
        assert found["entry_count"] >= len(found["entries"]) > 0
        counts = [entry["count"] for entry in found["entries"]]
        assert counts == sorted(counts, reverse=True)
        names[shard] = {entry["name"] for entry in found["entries"]}
        assert all(child["says"] for child in children)
        below |= {child["node"] for child in children}
    for leaf in sorted(below)[:5]:
        found = site.get(f"{path}/{leaf}")
        assert found["kind"] == "chunk"
        assert found["output"]
        for shard in found["above"]:
            assert leaf in {child["node"] for child in site.walk(f"{path}/{shard}", limit=50)}
    entries = site.walk(f"/v1/jobs/{job.id}/output")
    assert entries
    for entry in entries[:10]:
        assert any(entry["name"] in names[shard] for shard in entry["shards"]), entry


def test_questions_show_what_is_asked_and_the_text_it_rests_on(site: Site) -> None:
    job = site.lab.run(QUESTIONS, site.lab.book(ALIKE, "whale.txt"))
    path = f"/v1/jobs/{job.id}/merge"
    found = site.walk(path)
    assert {item["kind"] for item in found} == {"question"}
    question = site.get(f"{path}/{found[0]['node']}")
    assert {question["about"][which]["name"] for which in ("one", "two")} == {"Queequeg", "Quequeg"}
    assert "Quequeg" in question["text"]
    assert [child["node"][:2] for child in question["items"]] == ["0-"]
    page = site.browser().get(f"/jobs/{job.id}/merge", params={"node": found[0]["node"]}).text
    assert "What is shown" in page
    assert "also spelt" in page


@pytest.mark.parametrize("spec", [GLOSSARY, QUESTIONS, CONFLICTS])
def test_the_page_of_a_merge_leads_down_to_a_chunks_output(site: Site, spec: str) -> None:
    stated = 'Chapter 1\n\nMarren was born in Port Averil. On the docks they called Marren "the Gull".\n\n'
    job = site.lab.run(spec, site.lab.book(stated + write_novel(4), "book.txt"))
    browser = site.browser()
    step = browser.get(f"/jobs/{job.id}/steps/1").text
    assert f"/jobs/{job.id}/merge?step=merge" in step
    page = browser.get(f"/jobs/{job.id}/merge?level=1").text
    for kind in ("Shard", "Chunk"):
        link = re.search(rf'<li><a href="(/jobs/[^"]+/merge\?[^"]+)">{kind} ', page)
        assert link is not None, kind
        page = browser.get(link[1].replace("&amp;", "&")).text
    assert "What a chunk gave" in page
    assert re.search(r'href="/tasks/\d+"', page)


def test_nodes_of_a_merge_that_are_not_there_are_told(novel_site: Site) -> None:
    jobs = {item["pipeline"]: item["id"] for item in novel_site.walk("/v1/jobs")}
    client = novel_site.client()
    for name in ("9-9", "x", "0--1", "1-999999", "-", "3-0", "0-99999999999999999999", "2-1"):
        problem(client.get(f"/v1/jobs/{jobs['glossary']}/merge/{name}"), 404)
    problem(client.get(f"/v1/jobs/{jobs['glossary']}/merge", params={"step": "none"}), 404)
    problem(client.get(f"/v1/jobs/{jobs['summary']}/merge"), 404)
    problem(client.get(f"/v1/jobs/{uuid4()}/merge"), 404)
    problem(client.get(f"/v1/jobs/{jobs['glossary']}/merge", params={"level": 0}), 422)


def test_a_merge_that_is_not_planned_says_so(site: Site) -> None:
    job = site.lab.begin(GLOSSARY, site.lab.book(write_novel(3)))
    assert site.walk(f"/v1/jobs/{job.id}/merge") == []
    assert "the chunks come first" in site.browser().get(f"/jobs/{job.id}/merge").text
    done = site.lab.run(SUMMARY, site.lab.book(write_novel(3)))
    problem(site.client().get(f"/v1/jobs/{done.id}/merge"), 404)
