"""Counters: exact, named by their bytes, and clear about files that are none."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from pipeline.split.additive import Shift, additive
from pipeline.split.tokenizer import BUILT_IN, FileCounter, TokenizerError, load_counter
from tests.unit.split.texts import counters, han_prose, prose


def test_the_built_in_tokenizer_counts_as_the_library_does() -> None:
    counter = load_counter()
    tokenizer = Tokenizer.from_file(str(BUILT_IN))
    texts = ["", "one", prose(3, 1), han_prose(3, 1), "\x00\ufffd\U0001f600"]
    assert counter.count_batch(texts) == [len(tokenizer.encode(text, add_special_tokens=False)) for text in texts]
    assert [counter.count(text) for text in texts] == counter.count_batch(texts)


def test_the_built_in_tokenizer_is_small_and_knows_every_byte() -> None:
    assert BUILT_IN.stat().st_size < 700_000
    decoded = Tokenizer.from_file(str(BUILT_IN))
    text = "".join(map(chr, range(0x20, 0x500))) + "\U0001f600\n\t"
    assert decoded.decode(decoded.encode(text).ids) == text


def test_the_identity_is_the_hash_of_the_file() -> None:
    assert load_counter().identity == hashlib.sha256(BUILT_IN.read_bytes()).hexdigest()
    assert load_counter(BUILT_IN).identity == load_counter().identity


def test_many_texts_are_counted_in_order_by_two_threads() -> None:
    counter = load_counter()
    texts = [prose(seed % 5, seed) for seed in range(2_000)]
    assert counter.count_batch(texts) == [counter.count(text) for text in texts]


def test_characters_count_one_each() -> None:
    counter = load_counter("characters")
    assert counter.count_batch(["", "船e\u0301"]) == [0, 3]
    assert counter.identity == "characters"


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"not a tokenizer", b'{"model": {"type": "BPE"}}'])
def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=r"wrong\.json is not a tokenizer"):
        load_counter(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"gone\.json could not be read"):
        load_counter(tmp_path / "gone.json")


def test_truncation_and_padding_asked_for_by_a_file_do_not_change_counts() -> None:
    file = json.loads(BUILT_IN.read_bytes())
    tokenizer = Tokenizer.from_file(str(BUILT_IN))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=9)
    changed = FileCounter(tokenizer.to_str().encode(), "changed")
    assert file["truncation"] is None
    assert changed.count(prose(2, 1)) == load_counter().count(prose(2, 1))
    assert changed.count("") == 0


def test_counts_of_the_built_in_tokenizer_add_up_where_texts_are_cut() -> None:
    known = additive(load_counter())
    assert {known.line, known.indent, known.space, known.ideograph} == {Shift.NONE}


def test_nothing_is_assumed_of_a_tokenizer_without_a_rule_for_words() -> None:
    for name in ("unigram", "whole-line-bpe"):
        known = additive(counters()[name])
        assert {known.line, known.indent, known.space, known.ideograph} == {None}


def test_a_tokenizer_with_spaces_before_words_adds_up_before_the_space() -> None:
    assert additive(counters()["byte-bpe"]).space is Shift.LAST
