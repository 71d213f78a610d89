"""The merge is a sum, and the judgement joins only what is one."""

from __future__ import annotations

import json
import random

import pytest

from pipeline.errors import UsageError
from pipeline.models.extractive import extract
from pipeline.reduce import glossary


def item(name, kind="name", count=1, **seen):
    return {"name": name, "kind": kind, "count": count, "seen": seen or {"mid": count}}


def output(*items):
    return {"items": list(items)}


def without_cites(entries):
    return [(entry.name, entry.kind, entry.count, entry.aliases, len(entry.cites)) for entry in entries]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Ahab", "AHAB"),
        ("Ａｈａｂ", "Ahab"),
        ("Jean  Valjean", "Jean Valjean"),
        ("O’Neill", "O'Neill"),
        ("ｱﾊﾌﾞ", "アハブ"),
    ],
)
def test_spellings_of_one_name_share_their_key(one, two):
    assert glossary.canonical_key(item(one)) == glossary.canonical_key(item(two))


def test_shards_are_stable_and_within_their_number():
    assert [glossary.shard_of(key, 16) for key in ("ahab", "孙悟空", "")] == [14, 15, 4]
    assert all(0 <= glossary.shard_of(f"name {n}", 7) < 7 for n in range(200))
    with pytest.raises(UsageError, match="at least one shard"):
        glossary.shard_of("ahab", 0)


def test_partition_keeps_each_item_with_its_index():
    value = output(item("Ahab"), item("  "), item("Stubb"))
    found = sorted(pair for part in glossary.partition(value, 5).values() for pair in part)
    assert found == [(0, value["items"][0]), (2, value["items"][2])]


def test_the_surface_form_is_the_most_frequent_one():
    parts = [[(0, item("LORD", count=5)), (1, item("Lord", count=2))], [(0, item("Lord", count=2))]]
    (entry,) = glossary.merge_shard(parts)["entries"]
    assert (entry["name"], entry["count"], entry["parts"]) == ("LORD", 9, 2)
    assert entry["forms"] == {"LORD": 5, "Lord": 4}
    assert entry["cites"] == [[0, 0], [0, 1], [1, 0]]


def test_merging_in_any_order_and_over_any_shards_gives_the_same_entries(read, merged):
    story = read("english.txt")
    pieces = [part for part in story.split("\n\n") if part] + [read("chinese.txt"), read("spec.md"), story]
    outputs = [extract(piece).value for piece in pieces]
    expected = without_cites(merged(outputs))
    assert len(expected) > 10
    chance = random.Random(20)
    for shards in (1, 2, 3, 8, 31):
        chance.shuffle(outputs)
        assert without_cites(merged(outputs, shards)) == expected


def test_a_retried_merge_is_the_same_to_the_byte(read):
    parts = [glossary.partition(extract(read("chinese.txt")).value, 1)[0]] * 3
    once, again = (json.dumps(glossary.merge_shard(parts)) for _ in range(2))
    assert once == again


def test_the_summary_of_a_shard_has_no_citations_and_does_not_change_with_them():
    parts = [[(0, item("Ahab", "person", 3))], [(4, item("Ahab", "person", 2))]]
    moved = [[(9, item("Ahab", "person", 3))], [(1, item("Ahab", "person", 2))]]
    summary = glossary.summarise_shard(glossary.merge_shard(parts))
    assert "cites" not in json.dumps(summary)
    assert summary == glossary.summarise_shard(glossary.merge_shard(moved))


def test_the_summary_of_a_shard_names_what_can_be_no_name_only_by_its_count():
    value = glossary.merge_shard([glossary.partition(extract(tale("孙悟空")).value, 1)[0]])
    summary = glossary.summarise_shard(value)
    assert [entry["key"] for entry in summary["entries"]] == ["孙悟空"]
    assert all(len(key) > 2 and count > 1 for key, count in summary["fragments"].items())


def test_entries_come_most_mentioned_first_with_true_citations(read, merged):
    outputs = [extract(piece).value for piece in read("english.txt").split("\n\n") if piece]
    found = merged(outputs, 3)
    assert [(-entry.count, entry.name) for entry in found] == sorted((-entry.count, entry.name) for entry in found)
    assert all(list(entry.cites) == sorted(entry.cites) for entry in found)
    assert found[0].name == "Halloran"


def test_a_title_joins_the_name_it_is_used_with(merged):
    found = merged([output(item("Captain Ahab", "person", 4), item("Ahab", "person", 20))])
    assert without_cites(found) == [("Ahab", "person", 24, ("Captain Ahab",), 2)]


def test_a_name_with_several_titles_is_left_alone(merged):
    found = merged([output(item("Mr. Dow", "person", 5), item("Mrs. Dow", "person", 4), item("Dow", "person", 9))])
    assert [entry.name for entry in found] == ["Dow", "Mr. Dow", "Mrs. Dow"]


def test_a_family_name_takes_in_no_titled_form(merged):
    people = (item("Anna Dow", "person", 5), item("Peter Dow", "person", 5))
    found = merged([output(item("Count Dow", "person", 5), item("Dow", "person", 9), *people)])
    assert len(found) == 4


def test_person_and_place_of_one_name_stay_two(merged):
    said = output(item("Washington", "person", 6, mid=6, speech=3))
    lived = output(item("Washington", "place", 5, mid=5, **{"in": 5}))
    found = merged([said, lived, said, lived])
    assert {(entry.kind, entry.count) for entry in found} == {("person", 12), ("place", 10)}


def test_mentions_of_no_known_kind_go_to_the_kind_that_is_shown(merged):
    found = merged([output(item("Stubb", "person", 6, mid=6, speech=3)), output(item("Stubb", "name", 20, mid=20))])
    assert without_cites(found) == [("Stubb", "person", 26, (), 2)]


def test_words_that_are_capitalised_at_sentence_starts_only_are_no_names(merged):
    found = merged([output(item("Suddenly", count=9, start=9, lower=4), item("Stubb", "person", 9, start=8, mid=2))])
    assert [entry.name for entry in found] == ["Stubb"]


def test_a_word_before_a_name_at_sentence_starts_is_no_part_of_it(merged):
    found = merged([output(item("Brave Stubb", count=2, start=2), item("Stubb", "person", 9))])
    assert without_cites(found) == [("Stubb", "person", 11, (), 2)]


def test_accents_alone_make_no_second_entry(merged):
    found = merged([output(item("Natásha", "person", 9), item("Natasha", "person", 2))])
    assert without_cites(found) == [("Natásha", "person", 11, ("Natasha",), 2)]


def test_items_of_a_model_that_shows_no_sums_are_trusted(merged):
    found = merged(
        [output({"name": "the", "kind": "term", "count": 1}, {"name": "孙悟", "kind": "person", "count": 1})]
    )
    assert {entry.name for entry in found} == {"the", "孙悟"}


VERBS = ("道", "笑", "看", "大怒", "便走", "在城中", "与众人", "听了", "忽然", "也不答")


def tale(*names):
    """Sentences in which each name acts in many ways."""
    return "".join(f"{name}{verb}。次日，人见{name}{VERBS[-n]}。" for name in names for n, verb in enumerate(VERBS))


def test_a_fragment_of_a_name_is_no_name(merged):
    names = {entry.name for entry in merged([extract(tale("孙悟空", "沙明")).value])}
    assert {"孙悟空", "沙明"} <= names
    assert not {"孙悟", "悟空", "孙悟空道", "孙悟空笑"} & names


def test_a_name_inside_another_stays_its_own_entry_with_its_own_count(merged):
    text = tale("张三", "张三", "张三丰", "三丰真人")
    found = {entry.name: entry.count for entry in merged([extract(text).value])}
    assert {name: found[name] for name in ("张三", "张三丰", "三丰真人")} == {"张三": 40, "张三丰": 20, "三丰真人": 20}


def test_what_always_stands_in_the_same_words_is_a_phrase(merged):
    text = "远处传来几声犬吠，随后又安静下来。店小二把菜端上来。" * 30 + tale("沙明")
    assert [entry.name for entry in merged([extract(text).value])] == ["沙明"]


def test_a_common_noun_that_is_counted_and_pointed_at_is_no_name(merged):
    text = "".join(f"一个和尚{verb}。那个和尚{verb}。两个和尚{VERBS[-n]}。" for n, verb in enumerate(VERBS))
    assert "和尚" not in [entry.name for entry in merged([extract(text + tale("沙明")).value])]


def test_resolve_holds_no_position():
    value = glossary.merge_shard([[(7, item("Ahab", "person", 3))]])
    resolved = glossary.resolve([glossary.summarise_shard(value)])
    assert resolved == {
        "keep": [{"name": "Ahab", "kind": "person", "count": 3, "aliases": [], "members": [["ahab", "person"]]}]
    }


def test_a_glossary_of_nothing_is_empty(merged):
    assert merged([]) == []
    assert merged([output()]) == []
