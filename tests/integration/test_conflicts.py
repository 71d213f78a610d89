"""The conflicts pipeline on the engine: quotes, lines and chapters of both sides."""

from __future__ import annotations

import json

from octavo import map_op
from pipeline.models.extractive import facts
from pipeline.ops.values import OpOutput
from pipeline.spec import load
from pipeline.states import JobState
from tests.integration.conftest import Laboratory

BOOK = """Chapter 1

Marren looked up with green eyes. Marren was born in Port Averil.

Chapter 2

Rain fell. On the docks they called Marren "the Gull". Nobody slept.

Chapter 3

The poison turned Osric's eyes from grey to black.

Chapter 4

Osric's eyes were black. The Gull looked up with
brown eyes.
"""


@map_op(version=1)
def told_facts(text: str) -> OpOutput:
    """The built-in rule as an op of one's own."""
    return facts(text)


PIPELINE = """
name = "told"
[grain]
limit = 90
[[step]]
name = "facts"
kind = "map"
op = "told_facts"
[[step]]
name = "conflicts"
kind = "merge"
op = "conflicts"
"""


def test_both_sides_of_a_contradiction_open_at_their_lines(lab: Laboratory) -> None:
    lab.teach(told_facts)
    book = lab.book(BOOK)
    job = lab.run(PIPELINE, book)
    assert job.state is JobState.DONE
    output = lab.output(job)
    (conflict,) = output["conflicts"]
    assert (conflict["subject"], conflict["attribute"]) == ("Marren", "eyes")
    assert (conflict["first"]["value"], conflict["second"]["value"]) == ("green", "brown")
    lines = BOOK.split("\n")
    for side in (conflict["first"], conflict["second"]):
        (citation,) = side["citations"]
        assert " ".join(BOOK[citation["start"] : citation["end"]].split()) == side["quote"]
        assert side["quote"].split()[0] in lines[citation["start_line"] - 1]
    assert conflict["second"]["citations"][0]["section"] == "Chapter 4"
    assert conflict["second"]["citations"][0]["end_line"] == conflict["second"]["citations"][0]["start_line"] + 1
    (alias,) = output["aliases"]
    assert (alias["name"], alias["alias"], alias["citations"][0]["section"]) == ("Marren", "the Gull", "Chapter 2")


def test_an_explaining_chapter_takes_the_contradiction_away_and_costs_its_chunks_only(lab: Laboratory) -> None:
    lab.teach(told_facts)
    book = lab.book(BOOK)
    lab.run(PIPELINE, book)
    book.write_text(BOOK.replace("Rain fell.", "From that day Marren's eyes were brown."))
    job = lab.run(PIPELINE, book)
    assert lab.output(job)["conflicts"] == []
    copied = lab.run(PIPELINE, lab.book(book.read_text(), "copy.txt"))
    assert lab.calls(copied) == 0
    assert json.dumps(lab.output(copied)["aliases"][0]["quote"]) == json.dumps(lab.output(job)["aliases"][0]["quote"])


def test_the_built_in_pipeline_runs_by_rule(lab: Laboratory) -> None:
    job = lab.run(load("conflicts"), lab.book(BOOK))
    assert job.state is JobState.DONE
    assert [alias["alias"] for alias in lab.output(job)["aliases"]] == ["the Gull"]
