"""Answers are read from whatever stands around them, and what is not whole never becomes a result."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import PipelineError
from pipeline.models.llm import answers
from pipeline.retry import CallError

SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}}},
    "required": ["items"],
    "additionalProperties": False,
}
VALUE = {"items": ["a", "b }"]}
TEXT = json.dumps(VALUE)
ANY = {"type": "object"}


def code(answer: str, schema: object = SCHEMA) -> str:
    with pytest.raises(CallError) as raised:
        answers.read_json(answer, schema)
    return raised.value.code


@pytest.mark.parametrize(
    "answer",
    [
        TEXT,
        f"\n  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\nI hope this helps!",
        f"Here [as you asked] it is: {TEXT} Anything else?",
        f'First a draft: {{"draft": 1}}. Then the answer:\n{TEXT}',
        "{'items': ['a', 'b }']}",
        '{"items": ["a", "b }",],}',
        '{items: ["a", "b }"]}',
    ],
)
def test_json_is_found_in_prose_and_fences_and_small_slips_are_mended(answer: str) -> None:
    assert answers.read_json(answer, SCHEMA) == VALUE


@pytest.mark.parametrize("answer", ["", "no JSON at all", "[1, 2", '{"items": "a"}', '{"other": []}'])
def test_what_the_schema_does_not_allow_is_no_answer(answer: str) -> None:
    assert code(answer) == "invalid_output"


@settings(deadline=None)
@given(st.integers(1, len(TEXT) - 1))
def test_json_that_was_cut_off_is_never_completed(cut: int) -> None:
    for schema in (SCHEMA, ANY, {}):
        for answer in (TEXT[:cut], f"```json\n{TEXT[:cut]}", f"Sure: {TEXT[:cut]}"):
            with pytest.raises(CallError):
                answers.read_json(answer, schema)


def test_a_whole_part_of_an_answer_that_was_cut_off_is_not_taken_for_it() -> None:
    assert code('{"items": [{"name": "a"}, {"name": "b"}, {"na', ANY) == "invalid_output"


def test_an_error_tells_the_place_and_the_rule_and_not_the_text() -> None:
    with pytest.raises(CallError) as raised:
        answers.read_json('{"items": ["fine", 7, "the secret of the book"]}', SCHEMA)
    assert raised.value.message == "The answer does not fit the schema at items/1: rule type"


@settings(deadline=None)
@given(st.text(max_size=300))
def test_no_answer_makes_the_reader_fail_otherwise_than_by_a_named_error(answer: str) -> None:
    try:
        value = answers.read_json(answer, ANY)
    except CallError as error:
        assert error.code in ("invalid_output", "refused")  # noqa: PT017  # the other way out is right too
    else:
        assert isinstance(value, dict)


@pytest.mark.parametrize(
    "answer", ["I'm sorry, but I can't help with that.", "抱歉，我无法回答。", "As an AI model I will not."]
)
def test_a_refusal_has_its_name(answer: str) -> None:
    assert code(answer) == "refused"


def test_a_refusal_inside_an_answer_is_an_answer() -> None:
    assert answers.read_json('{"items": ["I cannot help it, said Tom."]}', SCHEMA)["items"]


@pytest.mark.parametrize(
    ("content", "answer", "thoughts"),
    [
        ("<think>well</think>\n yes", "yes", "well"),
        ("<think>a</think><think>b</think>yes", "yes", "a\nb"),
        ("it began before</think>yes", "yes", "it began before"),
        ("<think>never ends", "", "<think>never ends"),
        ("<thinking>well</thinking>yes", "yes", "well"),
        ("yes <think> is a word of this book", "yes <think> is a word of this book", ""),
        ("", "", ""),
    ],
)
def test_thoughts_are_taken_off(content: str, answer: str, thoughts: str) -> None:
    said = answers.apart(content)
    assert (said.answer, said.thoughts) == (answer, thoughts)


def test_a_schema_that_is_none_is_refused_when_it_is_planned() -> None:
    with pytest.raises(PipelineError, match="type"):
        answers.check_schema({"type": "list"})
