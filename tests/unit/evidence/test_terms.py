"""Texts and queries are taken apart in the same way."""

from __future__ import annotations

import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from pipeline.evidence import terms

TEXTS = st.text(alphabet="曹操孔明の日ーカ한국 abcABCéàüЖ.,'’-12\n", max_size=60)


def test_names_of_two_characters_are_one_term() -> None:
    assert terms.query_terms("曹操") == ["曹操"]
    assert terms.query_terms("曹操败走") == ["曹操", "操败", "败走"]
    assert dict(terms.terms_of("曹操。")) == {"曹操": 1, "操": 1}


def test_width_case_and_accents_are_folded() -> None:
    assert set(terms.terms_of("Natásha’s ＢＡＬＬ")) == {"natasha", "ball"}
    assert terms.fold("が한") == "が한", "marks that are part of a letter stay"


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others() -> None:
    assert terms.query_terms("Who is the keeper of the lamp?") == ["keeper", "lamp"]
    assert terms.query_terms("who is the") == ["who", "is", "the"]
    assert "借东" in terms.query_terms("谁借东风？")
    assert "谁借" not in terms.query_terms("谁借东风？")


def test_what_stands_often_in_a_chunk_is_marked_there() -> None:
    found = terms.terms_of("sea " * 5 + "boat boat gull")
    assert set(terms.tokens_of(found)) == {"sea", "boat", "gull", "sea⁴", "sea²", "boat²"}


@given(TEXTS)
def test_counting_in_a_text_agrees_with_taking_it_apart(text: str) -> None:
    whole = terms.terms_of(text)
    wanted = [term for term in whole if not terms.is_open(term)]
    counted = terms.count_in(terms.fold(text), wanted, terms.counter_of(wanted))
    for term in wanted:
        doubled = len(term) == 2 and term[0] == term[1]  # 哈哈哈 holds 哈哈 twice, but one after another once
        assert counted[term] == whole[term] or doubled or "'" in text or "’" in text


@given(TEXTS)
def test_every_term_of_a_query_is_found_in_the_text_it_was_taken_from(text: str) -> None:
    whole = terms.terms_of(text)
    for term in terms.query_terms(text):
        assert term in whole or any(other.startswith(term) for other in whole)


def test_what_is_not_taken_apart_holds_no_accent() -> None:
    """Of every character: folding finds the accents that its decomposition has."""
    for code in range(sys.maxunicode + 1):
        plain = unicodedata.normalize("NFKC", chr(code)).casefold()
        bare = terms._ACCENTS.sub("", unicodedata.normalize("NFD", plain))
        if len(bare) != len(unicodedata.normalize("NFD", plain)):
            assert terms.fold(chr(code)) == unicodedata.normalize("NFC", bare), hex(code)
            assert terms.fold(f"曹操{chr(code)}") == "曹操" + unicodedata.normalize("NFC", bare), hex(code)
