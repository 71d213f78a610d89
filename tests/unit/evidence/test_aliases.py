"""Aliases are joined when the book says so, and never because they look alike."""

from __future__ import annotations

import random

import pytest

from pipeline.models.extractive import facts
from pipeline.reduce.aliases import linked, stated_aliases


def links(*evidence: tuple[str, str, int], weights: dict[str, int] | None = None) -> dict[str, str]:
    return {link.alias: link.root for link in linked(evidence, weights)}


def test_names_that_look_alike_stay_apart_without_a_word_of_evidence() -> None:
    found = links(("青衫客", "张三", 1), ("三丰真人", "张三丰", 2))
    assert found == {"青衫客": "张三", "三丰真人": "张三丰"}


def test_a_chain_is_followed_as_far_as_each_link_is_stated() -> None:
    assert links(("mask", "night owl", 1), ("night owl", "linfeng", 1)) == {"mask": "linfeng", "night owl": "linfeng"}


def test_an_alias_that_several_share_is_nobodys_unless_one_has_it_clearly() -> None:
    assert links(("the king", "john", 2), ("the king", "henry", 2)) == {}
    assert links(("the king", "john", 5), ("the king", "henry", 2)) == {"the king": "john"}


def test_of_two_names_that_are_each_others_alias_the_weightier_is_the_name() -> None:
    evidence = (("a", "b", 1), ("b", "a", 1))
    assert links(*evidence, weights={"a": 1, "b": 9}) == {"a": "b"}
    assert links(*evidence, weights={"a": 9, "b": 1}) == {"b": "a"}


def test_any_order_of_the_evidence_gives_the_same_links() -> None:
    evidence = [(f"alias{n % 7}", f"name{n % 5}", n % 3 + 1) for n in range(60)] + [("name1", "alias2", 4)]
    expected = linked(evidence)
    for seed in range(20):
        random.Random(seed).shuffle(evidence)
        assert linked(evidence) == expected


@pytest.mark.parametrize(
    ("text", "name", "alias"),
    [
        ('On the docks they called Marren Oake "the Gull".', "Marren Oake", "the Gull"),
        ('Marren Oake, better known as "the Gull", came in.', "Marren Oake", "the Gull"),
        ("Marren Oake, also known as Redmane, came in.", "Marren Oake", "Redmane"),
        ('They gasped: "Night Owl" was Marren Oake!', "Marren Oake", "Night Owl"),
        ("众人都叫惯了，把林冲叫做“豹子头”。", "林冲", "豹子头"),
        ("原来“豹子头”就是林冲！", "林冲", "豹子头"),
        ("此人姓赵，名云，字子龙。", "赵云", "子龙"),
        ("关羽，字云长，河东人。", "关羽", "云长"),
    ],
)
def test_sentences_that_say_so_are_found(text: str, name: str, alias: str) -> None:
    assert (name, alias) in {(found.name, found.alias) for found in stated_aliases(text)}


@pytest.mark.parametrize(
    "text",
    [
        "They called for wine.",
        "Marren was called “late for supper”.",
        "Marren was tired.",
        "他就是“那人”。",
        "He called Marren late.",
        "写了“字据”二字。",
    ],
)
def test_sentences_that_do_not_are_not(text: str) -> None:
    assert stated_aliases(text) == []


def test_facts_by_rule_have_their_sentence_for_a_span() -> None:
    text = "Rain fell.\n\nMarren's eyes were grey. She was born again.\nOsric Venn was born in Port Averil."
    output = facts(text)
    told = [(fact["subject"], fact["attribute"], fact["value"]) for fact in output.value["facts"]]
    assert told == [("Marren", "eyes", "grey"), ("Osric Venn", "birthplace", "Port Averil")]
    assert [text[span.start : span.end] for span in output.spans] == [fact["quote"] for fact in output.value["facts"]]
