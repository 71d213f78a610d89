"""What was paid, what of it in vain, and what the memo saved: by day and pipeline."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from db.values import NewAttempt
from pipeline.states import Outcome
from tests.integration.web.conftest import GLOSSARY, SUMMARY, Site, write_novel


def by_pipeline(site: Site) -> dict[str, Any]:
    today = datetime.now(UTC).date()
    with site.lab.database.read() as rows:
        found = rows.lists.usage(limit=10)
    site.web.costs.forget()
    assert site.web.costs.of(found[-1].day, found[0].day, wait_s=30) is not None
    assert {item.day for item in found} <= {today}
    return {item["pipeline"]: item for item in site.walk("/v1/usage", limit=1)}


def test_what_failed_and_what_was_known_stand_beside_what_was_paid(either_site: Site) -> None:
    site = either_site
    book = site.lab.book(write_novel(4), "one.txt")
    first = site.lab.run(SUMMARY, book)
    again = site.lab.run(SUMMARY.replace("top_sentences = 5", "top_sentences = 6"), book)
    site.lab.run(GLOSSARY, book)
    tasks = site.walk(f"/v1/jobs/{first.id}/tasks", step="summarize")
    with site.lab.database.write() as rows:
        rows.attempts.add(
            [
                NewAttempt(task["id"], 1, 1, "x", 0, 1, outcome, tokens_in=tokens, cost_micros=cost)
                for task in tasks[:2]
                for outcome, tokens, cost in (
                    (Outcome.RETRY, 10, 700),
                    (Outcome.FAILED, 5, 300),
                    (Outcome.RETRY, 0, 0),
                    (Outcome.DONE, 10, 5000),
                )
            ]
        )
    found = by_pipeline(site)
    assert (found["summary"]["failed_calls"], found["summary"]["failed_micros"]) == (4, 2000)
    assert (found["glossary"]["failed_calls"], found["glossary"]["failed_micros"]) == (0, 0)
    hits = sum(task["hit"] for job in (first, again) for task in site.walk(f"/v1/jobs/{job.id}/tasks"))
    assert found["summary"]["saved_calls"] == hits >= len(tasks)
    page = site.browser().get("/cost").text
    assert "4 tries" in page
    assert f"{found['summary']['saved_calls']} calls" in page


def test_a_page_does_not_wait_for_long_sums(site: Site, monkeypatch: Any) -> None:
    site.lab.run(SUMMARY, site.lab.book(write_novel(2)))
    monkeypatch.setattr(site.web.costs, "of", lambda *_: None)
    assert site.walk("/v1/usage")[0]["saved_calls"] is None
    page = site.browser().get("/cost").text
    assert "being added up" in page
    assert 'data-refresh="2"' in page
