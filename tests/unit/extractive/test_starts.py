"""A word before a name at the start of a sentence: part of it where the book writes it so inside a sentence."""

from __future__ import annotations

import random

import pytest

from pipeline.models.extractive import extract

THUNDER = [
    "Old Thunder rode by. The old road was empty, and the old gate was shut.",
    "They say that Old Thunder never spoke, and nobody had seen Old Thunder by day.",
    "Then Marren saw Old Thunder. Old Thunder laughed at the old man, and Marren ran.",
]
YORICK = [
    "Poor Yorick lay there. The poor man had seen Yorick laugh, and they said Yorick was dead.",
    "Poor Yorick! The poor fools wept for Yorick, and then Yorick rose.",
]


def counts(entries):
    return {entry.name: entry.count for entry in entries}


def test_a_name_of_two_words_keeps_its_first_at_the_start_of_a_sentence_too(merged):
    entries = {entry.name: entry for entry in merged([extract(text).value for text in THUNDER])}
    assert entries["Old Thunder"].count == 5
    assert "Thunder" not in entries
    assert len(entries["Old Thunder"].cites) == 3


def test_an_ordinary_word_before_a_name_is_no_part_of_it(merged):
    entries = {entry.name: entry for entry in merged([extract(text).value for text in YORICK])}
    assert entries["Yorick"].count == 6
    assert "Poor Yorick" not in entries
    assert len(entries["Yorick"].cites) == 4, "what was given is cited at its own place"


def test_a_name_that_stands_behind_such_a_word_alone_is_still_found(merged):
    texts = ["Poor Yorick! Weep, poor fools.", "Poor Yorick lay there, and the poor man slept."]
    assert counts(merged([extract(text).value for text in texts])) == {"Yorick": 2}


def test_what_joins_a_name_is_left_out_with_the_word_before_it(merged):
    texts = ["Lovely Anne of Sheba came. It was a lovely day.", "Queen of Sheba! The queen slept, and they saw Sheba."]
    found = counts(merged([extract(text).value for text in texts * 2]))
    assert "of Sheba" not in found


@pytest.mark.parametrize("texts", [THUNDER, YORICK])
def test_any_order_and_any_shards_settle_alike(merged, texts):
    outputs = [extract(text).value for text in texts]
    expected = counts(merged(outputs))
    for seed in range(5):
        random.Random(seed).shuffle(outputs)
        assert counts(merged(outputs, shards=seed + 1)) == expected
