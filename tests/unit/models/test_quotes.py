"""Quotes are found with their exact places, or they are not verified."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.models.llm.quotes import Place, Quotes

TEXT = "“Then it is theft,” said Venn.\nHe had taken to sitting\u00a0in the spare — room.\n曹操大怒。\nＡＢＣ ﬁne"


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("said Venn.\nHe", "said Venn.\nHe"),
        ("said Venn. He had", "said Venn.\nHe had"),
        ('"Then it is theft," said', "Then it is theft,” said"),
        ("sitting in the spare - room", "sitting\u00a0in the spare — room"),
        ("…taken to sitting…", "taken to sitting"),
        ("SAID VENN", "said Venn"),
        ("「曹操大怒」", "曹操大怒"),
        ("abc fine", "ＡＢＣ ﬁne"),
    ],
)
def test_a_quote_is_found_whatever_its_space_marks_case_and_width(quote: str, stands: str) -> None:
    place = Quotes(TEXT).find(quote)
    assert place is not None
    assert TEXT[place.start : place.end] == stands


@pytest.mark.parametrize("quote", ["", " ", "…", "x", "said Pike", "Venn said"])
def test_what_the_text_does_not_hold_is_not_found(quote: str) -> None:
    assert Quotes(TEXT).find(quote) is None


@settings(deadline=None)
@given(st.text(max_size=80), st.data())
def test_every_piece_of_a_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    place = Quotes(text).find(text[start:end])
    if place is not None:
        assert 0 <= place.start < place.end <= len(text)
    elif text[start:end].strip(" \t\n\"'“”‘’«»「」….") == text[start:end]:
        assert len(text[start:end]) < 2


def test_names_are_counted_as_words_and_in_scripts_without_spaces_as_they_stand() -> None:
    assert Quotes("Tom saw Tommy. Tom!").every("Tom", 5) == (2, [Place(0, 3), Place(15, 18)])
    assert Quotes("曹操见曹操").every("曹操", 1) == (2, [Place(0, 2)])
