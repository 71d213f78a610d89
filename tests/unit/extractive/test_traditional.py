"""Traditional and simplified spellings of a name are one where a step asks for it, and two where it does not."""

from __future__ import annotations

import random

import pytest

from pipeline.models.extractive import extract
from pipeline.reduce import conflicts, glossary
from pipeline.reduce.glossary.forms import simplified
from tests.unit.extractive.conftest import run_glossary

CHAPTERS = [
    "張飛大怒，張飛道：“走。”眾人看著張飛，張飛不語。關羽道：“等。”關羽笑，關羽又道：“好。”",
    "张飞拔刀，张飞道：“喝酒。”张飞笑道：“再来。”众人只见张飞坐下。关羽道：“好。”关羽见张飞如此，关羽不语。",
]


def found(outputs, *, fold, shards=4):
    return {entry.name: entry for entry in run_glossary(outputs, shards, fold=fold)}


def test_one_name_in_two_scripts_is_one_entry_where_asked_for():
    outputs = [extract(text).value for text in CHAPTERS]
    apart, together = found(outputs, fold=False), found(outputs, fold=True)
    assert {"張飛", "张飞"} <= apart.keys()
    assert "張飛" not in together
    assert together["张飞"].count == apart["張飛"].count + apart["张飞"].count
    assert len(together["张飞"].cites) == len(apart["張飛"].cites) + len(apart["张飞"].cites)


def test_any_order_and_any_shards_fold_alike():
    outputs = [extract(text).value for text in CHAPTERS * 3]
    expected = {name: entry.count for name, entry in found(outputs, fold=True).items()}
    for seed in range(5):
        random.Random(seed).shuffle(outputs)
        assert {n: e.count for n, e in found(outputs, fold=True, shards=seed + 1).items()} == expected


@pytest.mark.parametrize(
    ("one", "two"), [("張飛", "张飞"), ("關雲長", "关云长"), ("眾", "衆"), ("裏", "裡"), ("龍門客棧", "龙门客栈")]
)
def test_forms_share_a_key_only_where_asked_for(one, two):
    assert glossary.canonical_key({"name": one}, fold=True) == glossary.canonical_key({"name": two}, fold=True)
    assert glossary.canonical_key({"name": one}) != glossary.canonical_key({"name": two})


def test_folding_is_done_at_once_and_leaves_other_scripts_alone():
    everything = "".join(map(chr, range(0x20, 0xD800)))
    once = simplified(everything)
    assert simplified(once) == once
    assert len(once) == len(everything)
    assert {before for before, after in zip(everything, once, strict=True) if before != after}.isdisjoint(
        "".join(map(chr, range(0x20, 0x2E80)))
    )
    assert sum(before != after for before, after in zip(everything, once, strict=True)) > 2500


@pytest.mark.parametrize("fold", [False, True])
def test_a_contradiction_over_two_scripts_is_met_where_asked_for(fold):
    facts = [("張飛", "眼睛", "碧綠"), ("张飞", "眼睛", "碧绿"), ("张飞", "眼睛", "漆黑")]
    parts = [
        conflicts.partition(
            {"facts": [{"subject": s, "attribute": a, "value": v, "quote": f"{s}{a}{v}"}]}, 1, fold=fold
        )[0]
        for s, a, v in facts
    ]
    value = conflicts.merge_shard(parts, fold=fold)
    assert len({entry["key"] for entry in value["facts"]}) == (1 if fold else 2)
    assert len({entry["value_key"] for entry in value["facts"]}) == (2 if fold else 3)


def test_a_persons_decision_holds_whichever_script_it_names():
    outputs = [extract(text).value for text in CHAPTERS]
    value = glossary.merge_shard([glossary.partition(output, 1, fold=True)[0] for output in outputs], fold=True)
    resolved = glossary.resolve([glossary.summarise_shard(value)])
    rename = glossary.Decision(kind=glossary.DecisionKind.RENAME, name="張飛", other="翼德")
    assert "翼德" in {entry["name"] for entry in glossary.decided(resolved, [rename], {}, fold=True)["keep"]}
    assert glossary.find(resolved["keep"], "張飛") is None
