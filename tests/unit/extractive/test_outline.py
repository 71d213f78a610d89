"""A headline is one sentence and the terms of its section."""

from __future__ import annotations

from pipeline.models.extractive import headline, summarize


def test_a_headline_is_one_sentence_of_the_section_with_its_names(read):
    children = [summarize(read("english.txt"), sentences=8).value]
    value = headline(children, terms=3).value
    assert len(value["sentences"]) == 1
    assert value["terms"][0] == "Halloran"
    assert len(value["terms"]) == 3


def test_a_chinese_headline_names_the_people(read):
    value = headline([summarize(read("chinese.txt"), sentences=8).value]).value
    assert {"何远山", "宁小舟"} <= set(value["terms"])


def test_a_headline_of_nothing_is_empty():
    assert headline([]).value == {"sentences": [], "terms": []}
