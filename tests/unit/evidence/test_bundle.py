"""What a bundle promises, whatever the chunks, the budget and the tokenizer are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import UsageError
from pipeline.evidence.bundle import ELLIPSIS, EvidenceError, Source, pack, render
from pipeline.split.tokenizer import load_counter
from workers.evidence.chat import Counted

WORDS = [
    f"{a}{b}" for a in ("lamp", "boat", "gull", "rope", "salt", "mist") for b in ("er", "ing", "s", "le", "y", "ed")
]
HAN = "灯船风雨海山人火水石门路夜月星云"
PROSE = st.lists(st.sampled_from(WORDS + list(HAN) + ["\n", "é", "…", "[S9]"]), max_size=80).map(" ".join)
SOURCES = st.lists(PROSE, max_size=8)
COUNTERS = [load_counter("characters"), load_counter(None)]


def source(text: str, number: int, **changed: object) -> Source:
    fields: dict[str, object] = {
        "chunk": f"c{number}", "document": "d", "title": "The Lamp", "section": f"Chapter {number}",
        "start_line": 1 + number, "end_line": 1 + number + text.count("\n"), "text": text, "score": 9.0 - number,
    }  # fmt: skip
    return Source(**(fields | changed))  # type: ignore[arg-type]


def sources(texts: list[str]) -> list[Source]:
    return [source(text, number) for number, text in enumerate(texts)]


@settings(max_examples=150)
@given(SOURCES, st.integers(1, 400), st.integers(1, 6), st.sampled_from(COUNTERS))
def test_a_bundle_keeps_its_promises(texts: list[str], budget: int, most: int, tokenizer: object) -> None:
    counted = Counted("Who keeps the lamp?", None, tokenizer)  # type: ignore[arg-type]
    given_ = sources(texts)
    made = pack(given_, budget=budget, count=counted.evidence, most=most)
    assert pack(given_, budget=budget, count=counted.evidence, most=most) == made, "same input, same markers"
    assert [item.marker for item in made] == [f"S{n}" for n in range(1, len(made) + 1)]
    assert len(made) <= most
    if made:
        whole = counted.request(render(made))
        assert whole <= counted.request("") + budget, "over the budget, the template counted"
    ranks = [int(item.chunk[1:]) for item in made]
    assert ranks == sorted(set(ranks)), "not in rank order"
    assert all(item.shown.strip(f"{ELLIPSIS} \n") for item in made), "an empty source"
    for item in made:
        if item.cut is None:
            assert item.text == texts[int(item.chunk[1:])], "not whole"
        else:
            assert len(made) == 1, "only the very first is ever cut"
            assert item.shown.endswith(ELLIPSIS)
            assert item.text.startswith(item.shown.removesuffix(ELLIPSIS))
    assert len({item.text for item in made}) == len(made), "the same text twice"


@given(SOURCES, st.integers(1, 300))
def test_a_larger_budget_never_shows_less(texts: list[str], budget: int) -> None:
    few = pack(sources(texts), budget=budget, count=len, most=9)
    more = pack(sources(texts), budget=budget + 50, count=len, most=9)
    assert [item.chunk for item in more][: len(few)] == [item.chunk for item in few]


def test_the_first_that_does_not_fit_ends_the_bundle() -> None:
    made = pack(sources(["lamp oil", "a rope " * 200, "gull"]), budget=120, count=len, most=9)
    assert [item.chunk for item in made] == ["c0"]


def test_what_repeats_a_chosen_source_is_passed_over() -> None:
    text = "The keeper of the lamp came down to the boat at noon and went out again before the tide had turned."
    made = pack(sources([text, text + " Alone.", "A gull."]), budget=1000, count=len, most=3)
    assert [item.chunk for item in made] == ["c0", "c2"]


def test_the_model_is_shown_no_score() -> None:
    assert "7.125" not in render(pack([source("lamp", 0, score=7.125)], budget=100, count=len, most=1))


@pytest.mark.parametrize("name", ["chunk", "document", "title", "section"])
def test_missing_metadata_is_an_error(name: str) -> None:
    with pytest.raises(EvidenceError, match=name):
        pack([source("lamp", 0, **{name: ""})], budget=100, count=len, most=1)


def test_a_source_without_lines_is_an_error_and_a_bundle_without_room_too() -> None:
    with pytest.raises(EvidenceError, match="lines"):
        pack([source("lamp", 0, start_line=0)], budget=100, count=len, most=1)
    with pytest.raises(UsageError, match="room"):
        pack([], budget=0, count=len, most=1)


def test_a_budget_without_room_for_a_word_gives_no_source() -> None:
    assert pack(sources(["lamp " * 50]), budget=20, count=len, most=3) == []


def test_every_source_is_headed_by_its_place() -> None:
    made = pack(sources(["lamp\noil", "boat"]), budget=1000, count=len, most=3)
    assert re.findall(r"^\[S\d\] .*$", render(made), re.MULTILINE) == [
        "[S1] The Lamp · Chapter 0 · lines 1–2",
        "[S2] The Lamp · Chapter 1 · lines 2–2",
    ]
