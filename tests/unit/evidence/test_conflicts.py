"""What contradicts what, on facts made by hand and on those of a generated novel's truth file."""

from __future__ import annotations

import logging
import random
from collections import defaultdict
from pathlib import Path

import pytest

from pipeline.reduce import conflicts
from pipeline.reduce.conflicts import Fact, detect
from tests.corpus import written_novel
from tests.judge_conflicts import Report, Score, score
from tests.oracle import Oracle


def fact(chapter: int, value: str, attribute: str = "eyes", subject: str = "x", **more: bool) -> Fact:
    return Fact(subject=subject, attribute=attribute, value=value, order=(chapter, 0), **more)


def pairs(*facts: Fact) -> list[tuple[int, int]]:
    return [(found.first.order[0], found.second.order[0]) for found in detect(facts)]


def test_chapter_one_against_chapter_four_thousand() -> None:
    assert pairs(fact(1, "green"), fact(4000, "black"), fact(17, "green")) == [(1, 4000)]


def test_a_contradiction_is_reported_once_however_often_it_is_told() -> None:
    assert pairs(fact(1, "green"), fact(5, "black"), fact(6, "green"), fact(7, "black")) == [(1, 5)]


def test_a_stated_change_explains_what_comes_after_it_and_nothing_else() -> None:
    assert pairs(fact(1, "green"), fact(9, "black", change=True), fact(20, "black")) == []
    assert pairs(fact(1, "green"), fact(9, "black", change=True), fact(20, "green")) == [(9, 20)]
    assert pairs(fact(1, "green"), fact(5, "blue"), fact(9, "black", change=True)) == [(1, 5)]


def test_a_change_that_was_judged_so_holds_from_there_on() -> None:
    facts = [fact(1, "green"), fact(9, "black"), fact(20, "black"), fact(30, "green"), fact(40, "blue")]
    assert pairs(*facts) == [(1, 9), (1, 40)]
    changed = {((1, 0), (9, 0))}
    found = [(one.first.order[0], one.second.order[0]) for one in detect(facts, changed)]
    assert found == [(1, 9), (9, 30), (9, 40)], "later values are compared with the new one"
    found = [(one.first.order[0], one.second.order[0]) for one in detect(facts, changed | {((9, 0), (30, 0))})]
    assert found == [(1, 9), (9, 30), (30, 40)]


def test_what_looks_back_contradicts_nothing() -> None:
    dead = fact(10, "false", "alive", change=True)
    assert pairs(dead, fact(30, "true", "alive", past=True)) == []
    assert pairs(dead, fact(30, "true", "alive")) == [(10, 30)]


def test_a_rank_rises_without_a_word_and_falls_only_with_one() -> None:
    others = [fact(n * 10 + step, rank, "rank", f"y{n}") for n in range(4) for step, rank in enumerate("abc")]
    assert pairs(*others, fact(1, "a", "rank"), fact(2, "b", "rank"), fact(3, "c", "rank")) == []
    assert pairs(*others, fact(1, "b", "rank"), fact(2, "c", "rank"), fact(9, "a", "rank")) == [(2, 9)]
    assert pairs(*others, fact(1, "c", "rank"), fact(9, "a", "rank", change=True)) == []


def test_attributes_of_many_values_and_those_that_pass_contradict_nothing() -> None:
    assert pairs(fact(1, "sword", "weapon"), fact(2, "bow", "weapon")) == []
    assert pairs(fact(1, "tired", "mood"), fact(2, "gay", "mood")) == []
    learned = [fact(n, f"{n}{at}", "has read", f"reader{n}") for n in range(5) for at in range(2)]
    assert pairs(*learned) == [], "what most subjects have several of excludes nothing"


def test_a_value_that_only_says_more_is_no_contradiction() -> None:
    assert pairs(fact(1, "grey"), fact(2, "grey-blue")) == []


def test_the_order_in_which_facts_come_does_not_matter() -> None:
    facts = [fact(n, "ab"[n % 7 == 0], subject=f"s{n % 4}", change=n % 11 == 0) for n in range(60)]
    expected = detect(facts)
    assert expected
    for seed in range(10):
        random.Random(seed).shuffle(facts)
        assert detect(facts) == expected


@pytest.mark.parametrize(
    ("quote", "change", "past"),
    [
        ("From that day her hair was white.", True, False),
        ("The poison turned his eyes from green to black.", True, False),
        ("She remembered his green eyes.", False, True),
        ("His eyes were green.", False, False),
        ("从那以后，他的头发白了。", True, False),
        ("双眼由碧绿化为漆黑。", True, False),
        ("恍惚间，他看见多年以前的师父。", False, True),
        ("他的眼睛是碧绿的。", False, False),
    ],
)
def test_changes_and_memories_are_told_by_their_words(quote: str, change: bool, past: bool) -> None:
    item = {"subject": "x", "attribute": "Eyes", "value": "Green", "quote": quote}
    (((_, made),),) = conflicts.partition({"facts": [item]}, 4).values()
    assert (made["change"], made["past"]) == (change, past)


def test_what_was_not_found_in_the_text_is_no_evidence() -> None:
    item = {"subject": "x", "attribute": "a", "value": "v", "quote": "q", "verified": False}
    assert conflicts.partition({"facts": [item]}, 4) == {}


def judged(folder: Path, language: str, seed: int, *, noise: bool = True, shards: int = 16) -> Score:
    """The merge over the oracle's outputs, chapter by chapter, the chunks arriving in an order of chance."""
    oracle = Oracle.load(folder, language, seed, noise=noise)
    chapters = oracle.truth["chapters"]
    ends = [chapter["offset"] for chapter in chapters[1:]] + [len(oracle.book)]
    outputs = [oracle.read(oracle.book[c["offset"] : end]).value for c, end in zip(chapters, ends, strict=True)]
    arrival = list(range(len(outputs)))
    random.Random(seed).shuffle(arrival)
    parts: dict[int, dict[int, list[tuple[int, object]]]] = defaultdict(dict)
    for leaf in arrival:
        for shard, part in conflicts.partition(outputs[leaf], shards).items():
            parts[shard][leaf] = part
    leaves = {shard: sorted(found) for shard, found in parts.items()}
    values = {shard: conflicts.merge_shard([parts[shard][leaf] for leaf in leaves[shard]]) for shard in parts}
    links = {a: r for a, r, _ in conflicts.resolve([conflicts.summarise_shard(v) for v in values.values()])["links"]}
    facts = [
        Fact(
            subject=links.get(entry["key"], entry["key"]), attribute=entry["attribute"],
            value=links.get(entry["value_key"], entry["value_key"]), order=(leaves[shard][part], item),
            change=change, past=past,
        )
        for shard, value in values.items()
        for entry in value["facts"]
        for part, item, change, past in entry["cites"]
    ]  # fmt: skip
    reported = [
        Report(
            subject=found.first.subject,
            attribute=found.first.attribute,
            values=frozenset((found.first.value, found.second.value)),
            places=frozenset((side.value, chapters[side.order[0]]["seq"]) for side in (found.first, found.second)),
        )
        for found in detect(facts)
    ]
    revealed = [
        (entry["key"], links[entry["key"]], min(chapters[leaves[shard][part]]["seq"] for part, _ in entry["cites"]))
        for shard, value in values.items()
        for entry in value["aliases"]
        if entry["key"] in links
    ]
    return score(oracle, reported, revealed)


def whole(found: Score) -> None:
    """Where nothing was missed, nothing may be: every planted one, no other, every alias."""
    assert found.found == found.findable == found.planted, found.line()
    assert found.wrong == (), found.line()
    assert (found.aliases_right, found.aliases_wrong) == (found.aliases_stated, 0), found.line()


@pytest.mark.corpus
@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_novels_contradictions_and_aliases_are_found_under_noise(tmp_path: Path, language: str) -> None:
    folder = written_novel(tmp_path, language, 400)
    whole(judged(folder, language, seed=0, noise=False))
    judged(folder, language, seed=1).check()


@pytest.mark.corpus
@pytest.mark.nightly
@pytest.mark.parametrize("language", ["zh", "en"])
def test_all_chapters_of_a_long_novel_too(tmp_path: Path, language: str) -> None:
    folder = written_novel(tmp_path, language, 4232)
    whole(judged(folder, language, seed=0, noise=False))
    for seed in (1, 2, 3):
        found = judged(folder, language, seed)
        logging.getLogger(__name__).warning("%s, seed %d: %s", language, seed, found.line())
        found.check()
