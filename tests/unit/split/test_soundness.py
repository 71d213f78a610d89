"""What holds of every splitting, whatever the text, the limit and the tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.split.grain import Grain, Preferred, Unit
from pipeline.split.splitter import Splitter
from tests.unit.split.texts import assert_sound, counters, han_prose, prose

# fmt: off
FRAGMENTS = [
    "\n", "\n\n", " ", "   ", "word", "Mr. Smith ", "。", "。”", "“船", "字", "。\ufe0f", "e\u0301", "\u0301", "\x00",
    "\t", "# Head\n", "```\n", "~~~\n", "| a | b |\n", "|---|---|\n", "***\n", "---\n", "3.14", ".\n", "!", "…",
    "\r\n", "\r",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u200d", "\u3000", "q" * 60, "\u00a0",
    "क्षि", "각", "ก็", "1. x\n", "- y\n", "a,b;c ", "，", 'said "yes." ',
]
# fmt: on
TEXTS = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=80).map("".join),
    st.text(max_size=120),
    st.integers(0, 50).map(lambda seed: prose(4, seed) + han_prose(4, seed)),
)


@pytest.mark.parametrize("name", sorted(counters()))
@settings(deadline=None, max_examples=60, derandomize=True)
@given(text=TEXTS, limit=st.integers(1, 140), share=st.sampled_from([0, 0, 0.1, 0.25, 0.5, 0.99]))
def test_pieces_tile_the_text_with_exact_counts_within_the_limit(
    name: str, text: str, limit: int, share: float
) -> None:
    counter = counters()[name]
    splitter = Splitter(Grain(name="g", limit=limit, overlap=int(limit * share)), counter)
    pieces = splitter.split(Unit(text=text))
    assert_sound(text, pieces, counter, limit)
    if counter.count(text) <= limit:
        assert len(pieces) == (1 if text else 0)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(text=TEXTS, limit=st.integers(1, 60), data=st.data())
def test_preferred_places_anywhere_keep_it_sound(text: str, limit: int, data: st.DataObject) -> None:
    counter = counters()["built-in"]
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    chosen = sorted(data.draw(st.sets(st.sampled_from(starts), max_size=4)))
    preferred = tuple(Preferred(offset=at, level=1 + at % 6) for at in chosen)
    pieces = Splitter(Grain(name="g", limit=limit), counter).split(Unit(text=text, preferred=preferred))
    assert_sound(text, pieces, counter, limit)


def test_many_units_give_the_same_pieces_as_each_alone() -> None:
    counter = counters()["built-in"]
    splitter = Splitter(Grain(name="g", limit=50, overlap=5), counter)
    units = [Unit(text=prose(seed % 9, seed) if seed % 2 else han_prose(seed % 9, seed)) for seed in range(300)]
    assert list(splitter.split_many(units)) == [splitter.split(unit) for unit in units]


def test_units_are_taken_as_they_are_needed() -> None:
    taken = []

    def units() -> object:
        for seed in range(40):
            taken.append(seed)
            yield Unit(text=prose(400, seed))

    splitting = Splitter(Grain(name="g", limit=200), counters()["characters"]).split_many(units())
    next(splitting)
    assert len(taken) < 40
    assert len(list(splitting)) == 39
