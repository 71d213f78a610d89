"""Bundles and traces over real indexes: what a model saw can be shown again after the book was edited."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.errors import NotFoundError
from pipeline.spec import GrainSpec
from tests.integration.conftest import Laboratory
from workers.evidence import answers, measure
from workers.evidence.chat import counting
from workers.evidence.context import Bundle, Wanted, bundle, ranked, replay

Novel = Callable[..., str]
GRAIN = GrainSpec()
QUESTION = "Who found a letter near the old harbour?"


def made(lab: Laboratory, question: str = QUESTION, budget: int = 900, **more: object) -> Bundle:
    wanted = Wanted(question=question, **more)  # type: ignore[arg-type]
    counted, count = counting(question, None, lab.main.cutting(GRAIN).counter)
    return bundle(lab.database, wanted, ranked(lab.database, wanted), budget=budget, count=count, counter=counted.name)


def test_a_trace_rebuilds_its_bundle_to_the_byte_after_the_book_was_edited(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(20))
    lab.ingest(book, limit=300)
    first = made(lab)
    assert [source.marker for source in first.sources] == ["S1", "S2", "S3"]
    lines = book.read_text().split("\n")
    for source in first.sources:
        cited = "\n".join(lines[source.start_line - 1 : source.end_line])
        assert source.text in cited
        assert source.section in ("Chapter 1", source.section)
    book.write_text("A new preface.\n\n" + novel([*range(2, 9), 40]).replace("letter", "lantern"))
    lab.ingest(book, limit=300)
    again = replay(lab.database, str(first.trace))
    assert again.evidence.encode() == first.evidence.encode()
    assert again.as_json() == first.as_json()
    assert made(lab).evidence != first.evidence
    assert replay(lab.database, "last").evidence == made(lab).evidence


def test_a_trace_holds_ids_and_scores_and_no_text(lab: Laboratory, novel: Novel) -> None:
    lab.ingest(lab.book(novel(20)), limit=300)
    first = made(lab)
    with lab.database.read() as rows:
        trace = rows.traces.get(first.trace)
    assert trace is not None
    told = str(trace.body)
    assert all(source.text[:20] not in told for source in first.sources)
    assert len(trace.body["candidates"]) > len(first.sources)
    scores = [score for _, score in trace.body["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert trace.body["tokens"] == first.tokens <= 900


def test_an_unknown_trace_is_not_found(lab: Laboratory) -> None:
    with pytest.raises(NotFoundError, match="no trace"):
        replay(lab.database, "0123")


def test_an_extractive_answer_opens_at_its_lines(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(20))
    lab.ingest(book, limit=300)
    said = answers.answer(made(lab), None)
    assert said.sufficient
    lines = book.read_text().split("\n")
    for citation in said.citations:
        cited = " ".join(lines[citation["start_line"] - 1 : citation["end_line"]])
        quotes = [quote.rpartition(" [")[0] for quote in said.text.split("\n") if f"[{citation['marker']}]" in quote]
        assert all(quote in cited for quote in quotes)
    nothing = answers.answer(made(lab, "Which emperor burned the zeppelin?"), None)
    assert not nothing.sufficient
    assert nothing.citations == ()


def test_measured_budgets_count_evidence_and_the_whole_request(lab: Laboratory, novel: Novel) -> None:
    lab.ingest(lab.book(novel(20)), limit=300)
    wanted = Wanted(question=QUESTION, most=50)
    counted, _ = counting(QUESTION, None, lab.main.cutting(GRAIN).counter)
    dry = list(measure.measure(lab.database, wanted, [200, 900, 2700], counted, chat=None, live=False))
    assert [row["budget"] for row in dry] == [200, 900, 2700]
    assert all(row["evidence_tokens"] <= row["budget"] for row in dry)
    assert [row["request_tokens"] for row in dry] == [counted.request("") + row["evidence_tokens"] for row in dry]
    with lab.database.read() as rows:
        assert rows.traces.latest(10) == [], "a dry run leaves no trace"
    live = list(measure.measure(lab.database, wanted, [900], counted, chat=None, live=True))
    assert live[0]["answer"]
    assert replay(lab.database, live[0]["trace"]).tokens == live[0]["evidence_tokens"]


def test_the_order_of_the_manifest_can_supply_the_evidence(lab: Laboratory, novel: Novel) -> None:
    (one,) = lab.ingest(lab.book(novel(5)), limit=300)
    first = made(lab, order="manifest", documents=(one.document.id,), most=4, budget=5000)
    assert [source.section for source in first.sources][:2] == ["Chapter 1", "Chapter 1"]
    assert [source.start_line for source in first.sources] == sorted(source.start_line for source in first.sources)
