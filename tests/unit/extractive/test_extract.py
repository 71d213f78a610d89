"""Extraction writes down candidates with true counts and places."""

from __future__ import annotations

from pipeline.models.extractive import extract


def items(text):
    return {item["name"]: item for item in extract(text).value["items"]}


def test_every_span_shows_its_item(text):
    output = extract(text)
    shown = set()
    for span in output.spans:
        shown.add(span.item)
        name = output.value["items"][span.item]["name"]
        assert " ".join(text[span.start : span.end].split()).casefold().startswith(name.casefold()[:-1])
    assert shown == set(range(len(output.value["items"])))


def test_items_are_sorted_and_unlike_each_other(text):
    keys = [(item["name"], item["kind"]) for item in extract(text).value["items"]]
    assert keys == sorted(set(keys))


def test_an_output_holds_no_position(text):
    moved = "\n\n" + text
    assert extract(moved).value == extract(text).value


def test_sentence_starts_headings_and_shouting_are_not_names():
    found = items("# The Long Watch\n\nTHE END OF ALL\n\nRumour came first. We heard a rumour of Margaret Dow.\n")
    assert set(found) == {"Margaret Dow", "Rumour"}
    assert found["Rumour"]["seen"] == {"lower": 1, "start": 1}
    assert found["Margaret Dow"]["seen"] == {"mid": 1}


def test_possessives_are_mentions_of_the_name_itself():
    found = items("We found Marlow's boat and Marlow’s oar, and later Marlow himself.")
    assert found["Marlow"]["count"] == 3


def test_titles_initials_and_connectors_belong_to_names():
    found = items("Then Mr. Tolland met Dr. A. B. Vane near the Cape of Good Hope, and Prince Igor Valdemar bowed.")
    assert set(found) == {"Mr. Tolland", "Dr. A. B. Vane", "Cape of Good Hope", "Prince Igor Valdemar"}
    assert found["Mr. Tolland"]["kind"] == "person"
    assert found["Cape of Good Hope"]["kind"] == "place"


def test_a_name_may_run_over_a_line_end_but_not_over_a_comma():
    found = items("he wrote to Margaret\nDow, Anselm Reed and the Lord")
    assert {"Margaret Dow", "Anselm Reed"} <= set(found)


def test_speakers_are_persons_and_what_is_lived_in_is_a_place():
    found = items('"No," said Brenner. They lived in Oldhaven for years, and in Oldhaven they died.')
    assert found["Brenner"]["kind"] == "person"
    assert found["Oldhaven"]["kind"] == "place"


def test_terms_are_found_in_what_explains_and_not_in_what_tells(read):
    found = items(read("spec.md"))
    assert {"frame header", "counter block", "tally reader", "entry line"} <= set(found)
    assert found["frame header"]["kind"] == "term"
    assert all(item["kind"] != "term" for item in items(read("english.txt")).values())


def test_chinese_names_are_counted_wherever_they_stand(read):
    text = read("chinese.txt")
    found = items(text)
    for name in ("何远山", "宁小舟", "鲁大成", "青石港"):
        assert found[name]["count"] == text.count(name)
    assert found["宁小舟"]["seen"]["speech"] == 2


def test_japanese_names_end_before_their_honorific(read):
    found = items(read("japanese.txt"))
    assert found["野口"]["kind"] == "person"
    assert found["メリディアン"]["count"] == 2
    assert "へいぜい" not in found


def test_code_addresses_and_terminal_codes_name_nothing():
    found = items("See `Some Code` at https://Example.invalid/Path and ask \x1b[32mMorgan Hale\x1b[0m <b>today</b>.")
    assert set(found) == {"Morgan Hale"}
