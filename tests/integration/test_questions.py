"""What a merge asks after its judgement: each question a task, asked once, answered for good."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from db.values import Job
from octavo.cli.show import run_summary
from pipeline.errors import PipelineError
from pipeline.spec import parse
from pipeline.states import JobState, TaskState
from tests.integration.conftest import Laboratory
from tests.llm.judged import JUDGED
from tests.llm.server import Server
from workers.outputs.explain_nodes import explain_node
from workers.planning.preview import preview
from workers.progress import progress

BOOK = """Chapter 1

Marren looked up with green eyes. Osric looked up with grey eyes. Tobias looked up with blue eyes.
Edith looked up with hazel eyes.

Chapter 2

Marren looked up with brown eyes. In the tale Osric looked up with black eyes. Tobias looked up with red eyes.

Chapter 3

Edith looked up with amber eyes.
"""
VERDICTS = {
    "Marren": {"verdict": "conflict", "why": "Nothing says that they changed."},
    "Osric": {"verdict": "flashback", "why": "The second is a tale."},
    "Tobias": {"verdict": "not_comparable", "why": "Red from weeping."},
    "Edith": {"verdict": "change", "why": "They changed in between."},
}


@pytest.fixture(scope="module")
def stub() -> Iterator[Server]:
    """A language model that says what it is told to."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def judged(lab: Laboratory, stub: Server) -> Laboratory:
    """A laboratory with a judge."""
    stub.reset()
    stub.rules(*({"match": f"({name}; eyes", "json": verdict} for name, verdict in VERDICTS.items()))
    profile = {"provider": "openai", "base_url": stub.url, "model": "stub-1", "context_window": 8192}
    lab.options["models"] = {"extractive": {"provider": "extractive"}, "judge": profile}
    return lab


def subjects(output: dict[str, object], part: str) -> list[tuple[str, str | None]]:
    return [(row["subject"], row["verdict"]) for row in output[part]]  # type: ignore[attr-defined]


def questions(lab: Laboratory, job: Job) -> list[object]:
    return lab.tasks(job, position=1, level=3)


def test_contradictions_go_to_the_model_one_by_one_and_a_rerun_asks_nothing(judged: Laboratory, stub: Server) -> None:
    book = judged.book(BOOK)
    job = judged.run(JUDGED, book)
    assert job.state is JobState.DONE
    output = judged.output(job)
    assert subjects(output, "conflicts") == [("Marren", "conflict")]
    assert sorted(subjects(output, "dismissed")) == [
        ("Edith", "change"), ("Osric", "flashback"), ("Tobias", "not_comparable"),
    ]  # fmt: skip
    assert output["conflicts"][0]["why"] == VERDICTS["Marren"]["why"]
    assert len(stub.calls) == len(questions(judged, job)) == 4
    asked = next(call["text"] for call in stub.calls if "(Marren; eyes" in call["text"])
    assert "Marren looked up with green eyes." in asked
    assert "Marren looked up with brown eyes." in asked
    assert asked.index("green eyes") < asked.index("brown eyes")

    again = judged.run(JUDGED, judged.book(BOOK, "copy.txt"))
    assert judged.calls(again) == 0
    assert len(stub.calls) == 4
    assert subjects(judged.output(again), "conflicts") == [("Marren", "conflict")]


def test_an_edit_asks_again_about_what_stands_around_it_alone(judged: Laboratory, stub: Server) -> None:
    book = judged.book(BOOK)
    judged.run(JUDGED, book)
    book.write_text(BOOK.replace("Chapter 3\n", "Chapter 3\n\nYears went by."))
    job = judged.run(JUDGED, book)
    assert len(stub.calls) == 5
    told = [call["text"] for call in stub.calls][4]
    assert "(Edith; eyes" in told
    missed = next(task.ordinal for task in questions(judged, job) if not task.hit)
    found = explain_node(judged.database, judged.ops, f"conflicts/3/{missed}", str(job.id))
    assert (found["kind"], found["chunks"]) == ("question", 2)
    assert [change["why"] for change in found["changes"]] == ["new input"]
    assert [edit["section"] for edit in found["causes"]["edits"]] == ["Chapter 3"]


def test_what_the_model_does_not_answer_stays_as_the_rule_found_it(judged: Laboratory, stub: Server) -> None:
    rules = [{"match": f"({name}; eyes", "json": verdict} for name, verdict in VERDICTS.items()]
    stub.rules({"match": "(Osric; eyes", "json": {"verdict": "perhaps", "why": ""}}, *rules)
    job = judged.run(JUDGED.replace('model = "judge"', 'model = "judge"\nattempts = 2'), judged.book(BOOK))
    assert job.state is JobState.HOLES
    assert subjects(judged.output(job), "conflicts") == [("Marren", "conflict"), ("Osric", None)]
    assert [task.state for task in questions(judged, job)].count(TaskState.FAILED) == 1


def test_without_a_language_model_the_rule_has_judged_and_no_key_is_another(judged: Laboratory, stub: Server) -> None:
    book = judged.book(BOOK)
    plain = judged.run(JUDGED.replace('model = "judge"', 'model = "extractive"'), book)
    assert questions(judged, plain) == []
    assert len(judged.output(plain)["conflicts"]) == 4
    assert "dismissed" not in judged.output(plain)
    job = judged.run(JUDGED, book)
    for level in (1, 2):
        assert all(task.hit for task in judged.tasks(job, position=1, level=level))
    by_rule = judged.run(JUDGED.replace('model = "judge"', 'params = { judge = "rule" }'), book)
    assert judged.calls(by_rule) == 0
    assert len(stub.calls) == 4


def test_a_pipeline_whose_every_step_asks_the_model_has_slots_for_its_shards_too(judged: Laboratory) -> None:
    job = judged.run(JUDGED.replace('model = "extractive"', 'model = "judge"'), judged.book(BOOK))
    assert job.state is JobState.DONE
    assert len(judged.tasks(job, position=1, level=2)) == 1


def test_a_plan_bounds_what_will_be_asked(judged: Laboratory, stub: Server) -> None:
    spec = parse(JUDGED, "test")
    documents = judged.ingest(judged.book(BOOK), limit=200)
    facts, merge, asks = preview(
        judged.database, spec, documents, ops=judged.ops, models=judged.main, model="extractive"
    )
    assert (facts.model, merge.model, asks.model) == ("extractive", None, "judge")
    assert (asks.step, asks.calls_least, asks.exact) == ("conflicts", 0, False)
    job = judged.run(JUDGED, judged.folder / "book.txt")
    assert merge.calls_most >= sum(len(judged.tasks(job, position=1, level=level)) for level in (1, 2))
    assert asks.calls_most >= 4
    assert asks.tokens_in_most >= sum(call["tokens"] for call in stub.calls)


NAMES = """Chapter 1

Marren Oake came ashore with Osric Venn. Then Marren Oake slept, and Osric Venn waited for Marren Oake.

Chapter 2

At night Marren Oake, also spelt Marren Oak, signed. They saw Marren Oak again, and with Marren Oak went Osric Venn.

Chapter 3

Then came Osric Penn with Osric Venn. Nobody had seen Osric Penn before, and Osric Penn never spoke to Osric Venn.
"""
GLOSSARY = """
name = "alike"
[grain]
limit = 200
[[step]]
name = "extract"
kind = "map"
op = "extract"
model = "extractive"
[[step]]
name = "merge"
kind = "merge"
op = "glossary"
"""
BY_RULE = GLOSSARY + 'params = { near_names = "rule" }\n'
BY_MODEL = GLOSSARY + 'params = { near_names = "model" }\nmodel = "judge"\n'


def entries(lab: Laboratory, job: Job) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in lab.output(job)["entries"]}  # type: ignore[attr-defined]


def test_alike_names_are_one_where_a_sentence_says_so_and_the_rest_stay_two(judged: Laboratory) -> None:
    book = judged.book(NAMES)
    before = entries(judged, plain := judged.run(GLOSSARY, book))
    assert {"Marren Oake", "Marren Oak", "Osric Venn", "Osric Penn"} <= before.keys()
    assert judged.tasks(plain, position=1, level=3) == []
    job = judged.run(BY_RULE, book)
    found = entries(judged, job)
    assert {"Osric Venn", "Osric Penn"} <= found.keys()
    assert "Marren Oak" not in found
    assert found["Marren Oake"]["count"] == before["Marren Oake"]["count"] + before["Marren Oak"]["count"]
    (statement,) = found["Marren Oake"]["stated"]
    (citation,) = statement["citations"]
    assert (statement["alias"], statement["judged"], citation["section"]) == ("Marren Oak", "rule", "Chapter 2")
    assert NAMES[citation["start"] : citation["end"]] == statement["quote"]
    assert "Marren Oak," in statement["quote"]
    assert all(task.hit for level in (1, 2) for task in judged.tasks(job, position=1, level=level))
    assert judged.calls(job) == len(questions(judged, job)) == 2
    assert judged.calls(judged.run(BY_RULE, judged.book(NAMES, "copy.txt"))) == 0


def test_a_model_judges_alike_names_by_a_sentence_of_the_book_or_not_at_all(judged: Laboratory, stub: Server) -> None:
    stub.rules(
        {"match": "Marren Oak\n", "json": {"verdict": "same", "quote": "Marren Oake, also spelt Marren Oak, signed"}},
        {"match": "Osric Penn\n", "json": {"verdict": "same", "quote": "Osric Penn was Osric Venn"}},
    )
    job = judged.run(BY_MODEL, judged.book(NAMES))
    found = entries(judged, job)
    assert "Marren Oak" not in found
    assert {"Osric Venn", "Osric Penn"} <= found.keys(), "the book has no such sentence"
    assert found["Marren Oake"]["stated"][0]["judged"] == "model"
    assert len(stub.calls) == len(questions(judged, job)) == 2
    again = judged.run(BY_MODEL, judged.book(NAMES, "copy.txt"))
    assert judged.calls(again) == 0
    assert len(stub.calls) == 2


WANDERING = """Chapter 1

Marren looked up with green eyes.

Chapter 2

The fever took Marren. Marren looked up with black eyes.

Chapter 3

Again Marren looked up with black eyes.

Chapter 4

Marren looked up with green eyes.

Chapter 5

Marren looked up with hazel eyes.
"""


def values(rows: list[dict[str, object]]) -> list[tuple[str, str]]:
    return [(row["first"]["value"], row["second"]["value"]) for row in rows]  # type: ignore[index]


def test_after_a_change_that_was_judged_so_later_values_are_compared_with_the_new_one(
    judged: Laboratory, stub: Server
) -> None:
    stub.rules(
        {"match": "eyes: hazel)", "json": {"verdict": "conflict", "why": "Nobody says so."}},
        {"match": "SECOND STATEMENT (Marren; eyes: green)", "json": {"verdict": "conflict", "why": "Nobody says so."}},
        {"match": "fever", "json": {"verdict": "change", "why": "The fever changed them."}},
    )
    book = judged.book(WANDERING)
    job = judged.run(JUDGED, book)
    output = judged.output(job)
    # Without the change: green against black, green against hazel. With it black holds, and is what they are against.
    assert values(output["dismissed"]) == [("green", "black")]  # type: ignore[arg-type]
    assert sorted(values(output["conflicts"])) == [("black", "green"), ("black", "hazel")]  # type: ignore[arg-type]
    assert all(row["verdict"] == "conflict" for row in output["conflicts"])  # type: ignore[union-attr]
    rounds = [len(judged.tasks(job, position=1, level=level)) for level in (3, 4, 5)]
    assert rounds == [2, 2, 0]
    asked = len(stub.calls)
    again = judged.run(JUDGED, judged.book(WANDERING, "copy.txt"))
    assert (judged.calls(again), len(stub.calls)) == (0, asked)
    assert values(judged.output(again)["conflicts"]) == values(output["conflicts"])  # type: ignore[arg-type]


def unasked(lab: Laboratory, job: Job) -> object:
    with lab.database.read() as rows:
        return run_summary(progress(rows, job), 0.0)["unasked"]


def test_a_cap_on_questions_is_told_and_changes_no_key(judged: Laboratory, stub: Server) -> None:
    book = judged.book(BOOK)
    pipeline = JUDGED.replace('model = "judge"', 'model = "judge"\nparams = { most_questions = 3 }')
    job = judged.run(pipeline, book)
    assert len(questions(judged, job)) == len(stub.calls) == 3
    assert unasked(judged, job) == {"conflicts": 1}
    assert subjects(judged.output(job), "conflicts")[-1][1] is None, "what was not asked stays as the rule has it"
    whole = judged.run(JUDGED, book)
    assert len(stub.calls) == 4, "three answers are in the memo"
    assert unasked(judged, whole) == {}
    none = judged.run(pipeline.replace("= 3", "= 0"), book)
    assert (questions(judged, none), judged.calls(none)) == ([], 0)
    assert unasked(judged, none) == {"conflicts": 4}
    with pytest.raises(PipelineError, match="most_questions"):
        judged.run(pipeline.replace("= 3", "= -1"), book)
