"""Facts and aliases by a language model: quotes that are checked, aliases whose sentence names both."""

from __future__ import annotations

from pipeline.ops.asking import Material
from pipeline.ops.llm.extraction import FACTS
from pipeline.ops.values import OpOutput
from pipeline.reduce import conflicts

TEXT = "Marren had green eyes. On the docks they called Marren “the Gull”. Nobody slept."
FACT = {"subject": "Marren", "attribute": "eyes", "value": "green", "quote": "Marren had green eyes"}
ALIAS = {"name": "Marren", "alias": "the Gull", "quote": 'they called Marren "the Gull"'}


def told(*, facts: list[dict[str, str]], aliases: list[dict[str, str]]) -> OpOutput:
    return FACTS.finish({"facts": facts, "aliases": aliases}, Material(text=TEXT))


def test_what_is_quoted_is_cited_and_what_is_not_there_is_no_evidence() -> None:
    output = told(facts=[FACT, FACT | {"value": "black", "quote": "Marren had black eyes"}], aliases=[ALIAS])
    assert [item["verified"] for item in output.value["facts"]] == [True, False]
    assert [(span.item, TEXT[span.start : span.end]) for span in output.spans] == [
        (0, "Marren had green eyes"), (2, "they called Marren “the Gull"),
    ]  # fmt: skip
    (part,) = conflicts.partition(output.value, 1).values()
    assert [(number, item["fact"]) for number, item in part] == [(0, True), (2, False)]


def test_a_sentence_that_does_not_name_both_says_nothing_of_an_alias() -> None:
    output = told(facts=[], aliases=[ALIAS, ALIAS | {"quote": "Nobody slept"}, ALIAS | {"alias": "Osric"}])
    assert [item["verified"] for item in output.value["aliases"]] == [True, False, False]


def test_the_parts_of_a_split_passage_are_joined_with_their_places() -> None:
    one, two = told(facts=[FACT], aliases=[ALIAS]), told(facts=[FACT, FACT], aliases=[ALIAS])
    assert FACTS.join is not None
    joined = FACTS.join([one, two])
    assert [len(joined.value[name]) for name in ("facts", "aliases")] == [3, 2]
    quoted = {span.item: TEXT[span.start : span.end] for span in joined.spans}
    assert [quoted[at][:6] for at in range(5)] == ["Marren"] * 3 + ["they c"] * 2
