"""What a book says of its names joins their entries, and nothing else does."""

from __future__ import annotations

import random

import pytest

from pipeline.models.extractive import extract
from pipeline.reduce import glossary

CHAPTERS = [
    "Marren Oake came ashore with Osric. Then Marren Oake slept, and Osric waited for Marren Oake.",
    "At night Redmane rode by. They say that Redmane never spoke, and nobody had seen Redmane by day.",
    "In the end it was plain that Redmane was none other than Marren Oake. Osric had known it of Marren Oake.",
]
HAN = [
    "林冲拔刀，林冲道：“走。”众人看着林冲，林冲不语。武松道：“等。”武松笑，武松又道：“好。”",
    "人称“豹子头”的来了，豹子头道：“喝酒。”豹子头笑道：“再来。”众人只见豹子头坐下，豹子头又道：“好。”",
    "原来“豹子头”就是林冲！武松道：“果然。”林冲道：“正是。”众人见林冲如此，都望着武松。",
]


def by_name(entries):
    return {name: entry for entry in entries for name in (entry.name, *entry.aliases)}


@pytest.mark.parametrize(("chapters", "name", "alias", "other"), [
    (CHAPTERS, "Marren Oake", "Redmane", "Osric"),
    (HAN, "林冲", "豹子头", "武松"),
])  # fmt: skip
def test_a_mask_that_falls_late_makes_two_entries_one_and_says_where(merged, chapters, name, alias, other):
    outputs = [extract(text).value for text in chapters]
    apart = by_name(merged(outputs[:2]))
    assert apart[name] is not apart.get(alias)
    together = by_name(merged(outputs))
    entry = together[name]
    assert together[alias] is entry
    assert together[other] is not entry
    assert entry.count == sum(item["count"] for o in outputs for item in o["items"] if item["name"] in (name, alias))
    (statement,) = entry.stated
    assert (statement.alias, statement.name) == (alias, name)
    assert len(statement.cites) == 1


def test_the_sentence_is_cited_at_its_place():
    output = extract("Rain fell. " + CHAPTERS[2])
    number = len(output.value["items"])
    (span,) = [span for span in output.spans if span.item == number]
    assert ("Rain fell. " + CHAPTERS[2])[span.start : span.end] == output.value["aliases"][0]["quote"]


def test_any_order_and_any_shards_join_alike(merged):
    outputs = [extract(text).value for text in CHAPTERS * 3]

    def shape(entries):
        return [
            (e.name, e.kind, e.count, e.aliases, [(s.alias, s.name, len(s.cites)) for s in e.stated]) for e in entries
        ]

    expected = shape(merged(outputs))
    for seed in range(5):
        random.Random(seed).shuffle(outputs)
        assert shape(merged(outputs, shards=seed + 1)) == expected


def test_an_alias_that_two_are_said_to_have_joins_nobody(merged):
    both = [*CHAPTERS, "And yet Redmane was none other than Osric, said Osric."]
    found = by_name(merged([extract(text).value for text in both]))
    assert len({id(found[name]) for name in ("Marren Oake", "Osric", "Redmane")}) == 3


def test_a_person_may_take_a_stated_alias_apart():
    outputs = [extract(text).value for text in CHAPTERS]
    value = glossary.merge_shard([glossary.partition(output, 1)[0] for output in outputs])
    resolved = glossary.resolve([glossary.summarise_shard(value)])
    counts = {(entry["key"], entry["kind"]): entry["count"] for entry in value["entries"]}
    split = glossary.Decision(kind=glossary.DecisionKind.SPLIT, name="Redmane", other="Marren Oake")
    decided = glossary.decided(resolved, [split], counts)
    entries = {entry.name: entry for entry in glossary.entries([value], decided)}
    assert entries["Redmane"].count + entries["Marren Oake"].count == 9
    assert entries["Marren Oake"].stated == entries["Redmane"].stated == ()
    assert "Redmane" not in entries["Marren Oake"].aliases
