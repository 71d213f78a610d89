"""A chat model: budget, one call or one a part, errors with names that are paid for all the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from pipeline.errors import PipelineError
from pipeline.models.llm.chat import ChatModel, ChatProfile
from pipeline.models.llm.engine import Ask, Completion
from pipeline.models.llm.prompts import Message
from pipeline.models.llm.tokens import EstimatedCounter
from pipeline.models.protocol import OwnPrompt, Request
from pipeline.ops.builtin import EXTRACT, FOLD_SUMMARY, OUTLINE, SUMMARIZE
from pipeline.ops.decorators import ops_of, prompt_op
from pipeline.ops.kinds import FoldOp, MapOp
from pipeline.ops.llm.others import CLASSIFY, PROMPT, TRANSLATE
from pipeline.retry import CallError
from pipeline.split.tokenizer import CharacterCounter

OWN = OwnPrompt(where="Step 's'")
TEXT = "Tom Bell kept the ferry. Anna Crane painted it.\n\nTom Bell rowed across the river."


class Scripted:
    """Answers as it is told, and keeps what it was asked."""

    on_wire = False

    def __init__(self, *answers: str | Completion | Callable[[Ask], str | Completion]) -> None:
        self.answers = list(answers)
        self.asked: list[Ask] = []

    def complete(self, ask: Ask) -> Completion:
        self.asked.append(ask)
        found = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if not isinstance(found, (str, Completion)):
            found = found(ask)
        return Completion(content=found, finish="stop") if isinstance(found, str) else found

    def close(self) -> None:
        pass


def chat(engine: Scripted, **profile: Any) -> ChatModel:
    made = ChatProfile(**{"window": 8000, "output_reserve": 500, "input_price": 2.0, "output_price": 10.0} | profile)
    counter = EstimatedCounter(CharacterCounter())
    return ChatModel(name="m", identity="m/1", slots=1, engine=engine, counter=counter, profile=made)


def ask(model: ChatModel, op: MapOp | FoldOp, own: OwnPrompt = OWN, **request: Any) -> Any:
    params = dict(op.defaults) | request.pop("params", {})
    sent = model.sends(op, params, own)
    plain = Request(op=op.name, params=params, ask=op.ask, sent=sent, text=TEXT, split=own.split)
    return model.answer(replace(plain, **request))


def test_a_summary_has_places_for_quotes_that_stand_in_the_text_and_marks_the_others() -> None:
    said = {
        "sentences": [{"text": "Tom  rows.", "quote": "Tom Bell rowed"}, {"text": "All is well.", "quote": "made up"}]
    }
    answer = ask(chat(Scripted(json.dumps(said))), SUMMARIZE)
    first, second = answer.output.value["sentences"]
    assert (first["text"], first["verified"], second["verified"]) == ("Tom rows.", True, False)
    (span,) = answer.output.spans
    assert (span.item, TEXT[span.start : span.end]) == (0, "Tom Bell rowed")


def test_an_extraction_counts_in_the_text_and_keeps_no_name_that_is_not_there() -> None:
    said = {
        "entities": [{"name": "Tom Bell", "kind": "person"}, {"name": "Zorro", "kind": "person"}],
        "facts": [
            {"subject": "Tom Bell", "attribute": "work", "value": "ferryman", "quote": "Tom Bell kept the ferry"}
        ],
        "events": [{"what": "x", "quote": "not there"}],
    }
    output = ask(chat(Scripted(json.dumps(said))), EXTRACT).output
    assert output.value["items"] == [{"name": "Tom Bell", "kind": "person", "count": 2}]
    assert output.value["not_found"] == ["Zorro"]
    assert [fact["verified"] for fact in output.value["facts"] + output.value["events"]] == [True, False]
    assert [(span.item, TEXT[span.start : span.end]) for span in output.spans] == [
        (0, "Tom Bell"), (0, "Tom Bell"), (1, "Tom Bell kept the ferry"),
    ]  # fmt: skip


def test_a_fold_rests_on_sentences_that_were_given_and_on_no_others() -> None:
    children = [{"sentences": [{"text": "One."}]}, {"sentences": [{"text": "Two."}, {"text": "Three."}]}]
    said = {"sentences": [{"text": "Both.", "rests_on": [3, 1, 99]}]}
    engine = Scripted(json.dumps(said))
    output = ask(chat(engine), FOLD_SUMMARY, params={"sentences": 6}, text=None, children=children).output
    assert output.value["sentences"] == [{"text": "Both.", "weight": 100, "from": [1, 1], "also": [[0, 0]]}]
    assert "3. Three." in engine.asked[0].messages[1].content
    with pytest.raises(CallError, match="rests on no sentence"):
        ask(
            chat(Scripted(json.dumps({"sentences": [{"text": "x", "rests_on": [9]}]}))), FOLD_SUMMARY, children=children
        )


def test_an_outline_has_one_sentence_and_its_terms() -> None:
    said = {"text": "All.", "rests_on": [1], "terms": ["a", "a", "b", "c"]}
    children = [{"sentences": [{"text": "One."}]}]
    output = ask(chat(Scripted(json.dumps(said))), OUTLINE, params={"terms": 2}, text=None, children=children).output
    assert output.value == {"sentences": [{"text": "All.", "weight": 100, "from": [0, 0]}], "terms": ["a", "b"]}


def test_a_translation_without_a_word_of_its_glossary_is_asked_again_and_then_says_so() -> None:
    params = {"to": "German", "glossary": {"ferry": "Fähre", "absent": "fehlt"}}
    engine = Scripted("Tom hielt das Boot.")
    with pytest.raises(CallError) as raised:
        ask(chat(engine), TRANSLATE, params=params)
    assert raised.value.code == "glossary_missed"
    assert "ferry = Fähre" in engine.asked[0].messages[1].content
    assert "fehlt" not in engine.asked[0].messages[1].content
    assert ask(chat(engine), TRANSLATE, params=params, attempt=2).output.value["missed"] == ["ferry"]
    kept = ask(chat(Scripted("Tom hielt die Fähre.")), TRANSLATE, params=params).output.value
    assert kept == {"text": "Tom hielt die Fähre.", "missed": []}


def test_a_label_is_one_of_those_that_were_given() -> None:
    params = {"labels": ["calm", "stormy"]}
    assert ask(chat(Scripted('{"label": "calm", "quote": "the river"}')), CLASSIFY, params=params).output.value == {
        "label": "calm", "quote": "the river", "verified": True,
    }  # fmt: skip
    with pytest.raises(CallError, match="rule enum"):
        ask(chat(Scripted('{"label": "windy", "quote": ""}')), CLASSIFY, params=params)
    with pytest.raises(PipelineError, match="two labels"):
        ask(chat(Scripted("")), CLASSIFY)


def test_a_prompt_of_the_users_own_sees_its_parameters_and_its_quotes_are_checked() -> None:
    own = OwnPrompt(where="Step 's'", prompt="In a {{ tone }} tone: {{ text }}", schema={"type": "object"})
    engine = Scripted('{"items": [{"quote": "Anna Crane"}, {"quote": "nobody"}]}')
    output = ask(chat(engine), PROMPT, own, params={"tone": "dry"}).output
    assert "In a dry tone: BOOK TEXT" in engine.asked[0].messages[1].content
    assert [item["verified"] for item in output.value["items"]] == [True, False]
    assert [(span.item, TEXT[span.start : span.end]) for span in output.spans] == [(0, "Anna Crane")]


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        (None, "needs a prompt"),
        ("no chunk", "does not use the chunk"),
        ("{{ text }} {{ ton }}", "names 'ton'"),
        ("{{ text", "is not right"),
    ],
)
def test_a_prompt_that_can_not_be_is_refused_when_it_is_planned(prompt: str | None, says: str) -> None:
    with pytest.raises(PipelineError, match=says):
        ask(chat(Scripted("")), PROMPT, OwnPrompt(where="Step 's'", prompt=prompt), params={"tone": "dry"})


def test_a_template_can_reach_nothing_of_the_process() -> None:
    prompt = "{{ text.__class__.__mro__[1].__subclasses__() }}"
    with pytest.raises(CallError) as raised:
        ask(chat(Scripted("x")), PROMPT, OwnPrompt(where="Step 's'", prompt=prompt))
    assert raised.value.code == "bad_prompt"


@pytest.mark.parametrize(
    ("completion", "code"),
    [
        (Completion(content='{"sentences": []', finish="length"), "truncated"),
        (Completion(content="", finish="stop"), "empty"),
        (Completion(content=" \n ", finish="stop"), "empty"),
        (Completion(content="", finish="stop", thoughts="hm"), "thinking_only"),
        (Completion(content="<think>hm", finish="stop"), "thinking_only"),
        (Completion(content="", finish="stop", refusal="no"), "refused"),
        (Completion(content="I'm sorry, I can't do that.", finish="stop"), "refused"),
        (Completion(content="", finish="content_filter"), "content_filter"),
        (Completion(content="{}", finish="stop"), "invalid_output"),
    ],
)
def test_an_answer_that_is_none_has_a_name_and_is_paid_for(completion: Completion, code: str) -> None:
    said = replace(completion, tokens_in=900, tokens_out=40)
    with pytest.raises(CallError) as raised:
        ask(chat(Scripted(said)), SUMMARIZE)
    assert raised.value.code == code
    assert (raised.value.used.tokens_in, raised.value.used.tokens_out) == (900, 40)
    assert raised.value.used.cost_micros == 900 * 2 + 40 * 10


def test_what_stands_around_a_chunk_is_told_apart_from_it() -> None:
    engine = Scripted('{"sentences": []}')
    ask(chat(engine), SUMMARIZE, shown="Heading: The Ferry\nText before it: …he waited.")
    body = engine.asked[0].messages[1].content
    around, _, rest = body.partition("Summarise the passage")
    assert "for your understanding only" in around.lower()
    assert "he waited." in around
    assert "he waited." not in rest
    assert passage(replace(engine.asked[0], messages=[engine.asked[0].messages[0], Message("user", rest)])) == TEXT


def test_every_try_has_a_prompt_of_the_same_length_and_they_differ() -> None:
    engine = Scripted(Completion(content="", finish="length"))
    for attempt in range(1, 5):
        with pytest.raises(CallError):
            ask(chat(engine), SUMMARIZE, attempt=attempt)
    prompts = ["\n".join(message.content for message in asked.messages) for asked in engine.asked]
    assert len({len(prompt) for prompt in prompts}) == 1
    assert len(set(prompts)) == 4
    # A small model says the last line after whoever asks it: nothing may stand there that could pass for an answer.
    assert all("try" not in asked.messages[-1].content for asked in engine.asked)


@pytest.mark.parametrize(("said", "taken"), [(-5, False), (0, False), (None, False), (10**9, False), (1700, True)])
def test_a_server_is_believed_about_tokens_only_where_it_may_be_right(said: int | None, taken: bool) -> None:
    answer = ask(chat(Scripted(Completion(content='{"sentences": []}', finish="stop", tokens_in=said))), SUMMARIZE)
    assert (answer.tokens_in == said) is taken
    assert 1000 < answer.tokens_in < 3000


def test_what_does_not_fit_is_known_before_the_call() -> None:
    engine = Scripted("{}")
    with pytest.raises(CallError) as raised:
        ask(chat(engine, window=3000), SUMMARIZE, text="word " * 600)
    assert (raised.value.code, raised.value.used.calls, engine.asked) == ("overlong", 0, [])


def passage(asked: Ask) -> str:
    return asked.messages[1].content.partition("BEGINS\n")[2].partition("\nBOOK TEXT")[0]


def quoting(asked: Ask) -> str:
    """An answer about a part: its first words."""
    quote = " ".join(passage(asked).split()[:3])
    return json.dumps({"sentences": [{"text": f"About {quote}.", "quote": quote}]})


SPLIT = replace(OWN, split=True)
LONG = "\n\n".join(f"Paragraph {n} tells of lamp {n} and of its keeper, who lit it each night." for n in range(40))


def test_a_split_input_is_asked_part_by_part_and_joined_with_the_right_places() -> None:
    engine = Scripted(quoting)
    answer = ask(chat(engine, window=3500), SUMMARIZE, SPLIT, text=LONG)
    parts = [passage(asked) for asked in engine.asked]
    assert "".join(parts) == LONG
    assert answer.calls == len(parts) > 1
    assert all(part.startswith("Paragraph") for part in parts)
    for span, sentence in zip(answer.output.spans, answer.output.value["sentences"], strict=True):
        assert " ".join(LONG[span.start : span.end].split()) == sentence["quote"]


def test_a_server_that_finds_the_input_too_long_gets_halves() -> None:
    from pipeline.models.errors import fault

    def narrow(asked: Ask) -> str:
        if len(passage(asked)) > 1000:
            raise fault("context_length", "too long")
        return quoting(asked)

    engine = Scripted(narrow)
    answer = ask(chat(engine), SUMMARIZE, SPLIT, text=LONG)
    assert "".join(passage(asked) for asked in engine.asked if len(passage(asked)) <= 1000) == LONG
    assert answer.calls == len(engine.asked)


def test_a_prompt_that_leaves_no_room_is_not_split_for_ever() -> None:
    with pytest.raises(CallError) as raised:
        ask(chat(Scripted("{}"), window=700), SUMMARIZE, SPLIT, text=LONG)
    assert raised.value.code == "overlong"


def test_the_parts_of_an_extraction_add_up() -> None:
    def names(asked: Ask) -> str:
        entities = [{"name": "Tom", "kind": "person"}]
        return json.dumps({"entities": entities, "facts": [], "events": [{"what": "e", "quote": "Tom ran"}]})

    text = "Tom ran. " * 200
    output = ask(chat(Scripted(names), window=4500), EXTRACT, SPLIT, text=text).output
    assert output.value["items"] == [{"name": "Tom", "kind": "person", "count": 200}]
    assert len(output.value["events"]) > 1
    assert all(text[span.start : span.end] in ("Tom", "Tom ran") for span in output.spans)


def test_what_is_sent_holds_every_setting_that_changes_answers() -> None:
    plain = chat(Scripted("")).sends(SUMMARIZE, SUMMARIZE.defaults, OWN)
    assert plain is not None
    assert plain.params == {"ask": 1, "sampling": {"max_tokens": 500}}
    engine = Scripted("")
    for changed in (
        {"sampling": {"temperature": 0.9}}, {"thinking": False}, {"json_mode": "schema"}, {"output_reserve": 501},
        {"system_role": False},
    ):  # fmt: skip
        assert chat(engine, **changed).sends(SUMMARIZE, SUMMARIZE.defaults, OWN) != plain
    for same in ({"timeout_s": 5}, {"input_price": 9.0}, {"window": 9000}):
        assert chat(engine, **same).sends(SUMMARIZE, SUMMARIZE.defaults, OWN) == plain
    step = replace(OWN, sampling={"seed": 7})
    assert chat(engine, sampling={"seed": 1, "top_p": 0.5}).sends(SUMMARIZE, SUMMARIZE.defaults, step).params[
        "sampling"
    ] == {"max_tokens": 500, "seed": 7, "top_p": 0.5}  # type: ignore[union-attr]


class Ship(BaseModel):
    ship: str
    quote: str


class Ships(BaseModel):
    items: list[Ship]


def test_an_op_of_ones_own_declares_a_pydantic_model_and_gets_its_instance() -> None:
    @prompt_op(prompt="Name the {{ kind }} in {{ text }}", schema=Ships, version=1)
    def ships(answer: Ships, kind: str = "ships") -> Ships:
        return Ships(items=[Ship(ship=f"{kind}: {item.ship}", quote=item.quote) for item in answer.items])

    (op,) = ops_of(_module(ships))
    assert isinstance(op, MapOp)
    engine = Scripted('{"items": [{"ship": "a ferry", "quote": "the ferry"}]}')
    output = ask(chat(engine), op, params={"kind": "boats"}).output
    assert "Name the boats in BOOK TEXT" in engine.asked[0].messages[1].content
    assert output.value == {"items": [{"ship": "boats: a ferry", "quote": "the ferry", "verified": True}]}
    with pytest.raises(CallError, match="does not fit"):
        ask(chat(Scripted('{"items": [{"ship": 1}]}')), op)


def _module(*functions: object) -> ModuleType:
    made = ModuleType("made")
    for number, function in enumerate(functions):
        setattr(made, f"op{number}", function)
    return made


def test_children_that_are_too_long_together_are_taken_in_parts_and_every_sentence_rests_on_a_child() -> None:
    """Five children of 400 characters and a room for two: no call is over it, and places are those of the children."""
    engine = Scripted(lambda asked: json.dumps({"sentences": [_line(asked, 1), _line(asked, -1)]}))
    model = chat(engine, window=2900, output_reserve=500)
    children = [{"sentences": [{"text": f"{name * 4} {'x' * 395}", "weight": 100}]} for name in "abcde"]
    answer = ask(model, FOLD_SUMMARY, text=None, children=children, params={"sentences": 2, "top_sentences": 2})
    sizes = [model.counter.count(asked.messages) + asked.max_tokens for asked in engine.asked]
    assert len(sizes) == answer.calls > 1
    assert max(sizes) <= 2900
    first, last = answer.output.value["sentences"]
    assert (first["text"][:4], first["from"]) == ("aaaa", [0, 0])
    assert (last["text"][:4], last["from"]) == ("eeee", [4, 0])
    # Of two nothing is gained by parts: such a node is a hole, and no call was made.
    with pytest.raises(CallError) as raised:
        ask(chat(Scripted("{}"), window=2400), FOLD_SUMMARY, text=None, children=children[:2])
    assert (raised.value.code, raised.value.used.calls) == ("overlong", 0)


def _line(asked: Ask, at: int) -> dict[str, Any]:
    """A numbered sentence of the prompt as a sentence that rests on it."""
    lines = re.findall(r"^(\d+)\. (.*)$", asked.messages[-1].content, re.MULTILINE)
    number, text = lines[0 if at == 1 else -1]
    return {"text": text[:4], "rests_on": [int(number)]}
