"""Summaries quote whole sentences of the story, at their exact places."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pipeline.models.extractive import fold_summary, summarize
from pipeline.models.extractive.scripts import script_of
from pipeline.models.extractive.segment import collapse


def sentences(text, wanted=5):
    return [item["text"] for item in summarize(text, sentences=wanted).value["sentences"]]


def test_every_span_is_the_slice_of_its_sentence(text):
    output = summarize(text)
    assert len(output.spans) == len(output.value["sentences"]) > 0
    for span in output.spans:
        item = output.value["sentences"][span.item]
        assert collapse(text[span.start : span.end], script_of(text)) == item["text"]


def test_sentences_are_in_reading_order_and_no_more_than_asked_for(text):
    for wanted in (1, 3, 8):
        spans = summarize(text, sentences=wanted).spans
        assert len(spans) <= wanted
        assert [span.start for span in spans] == sorted(span.start for span in spans)
        assert all(one.end <= two.start for one, two in pairwise(spans))


def test_weights_are_positive_whole_numbers(text):
    assert all(type(item["weight"]) is int and item["weight"] > 0 for item in summarize(text).value["sentences"])


def test_headings_and_appeals_for_votes_are_not_quoted(read):
    for name in ("english.txt", "chinese.txt"):
        quoted = " ".join(sentences(read(name), 30))
        for furniture in ("CHAPTER", "Vote for", "第三回", "推荐票"):
            assert furniture not in quoted


def test_a_summary_of_a_story_tells_of_its_people(read):
    quoted = " ".join(sentences(read("english.txt")))
    assert "Ines Corvo" in quoted
    assert "Halloran" in quoted
    assert "宁小舟" in "".join(sentences(read("chinese.txt")))


def test_line_wraps_are_joined_with_a_space_or_without_one_as_the_script_has_it():
    english = "The old keeper climbed the winding stair with a lamp\nin his hand and waited for the ship to come.\n"
    assert sentences(english) == [english.replace("\n", " ").strip()]
    chinese = "老守塔人提着灯慢慢走上石阶，站在窗前看着海面，\n等那条没有回来的船。\n"
    assert sentences(chinese) == [chinese.replace("\n", "")]


def test_abbreviations_and_initials_end_no_sentence():
    text = "On Monday Mr. J. R. Tolland of St. Agnes brought the captain a letter from the harbour office. It rained."
    assert sentences(text, 1) == [text.removesuffix(" It rained.")]


def test_a_quotation_stays_with_the_words_that_say_who_spoke():
    assert sentences("“你来得太早了，我们还没有开门。”守塔的老人慢慢地说。海上起了大风，船都回来了。", 5) == [
        "“你来得太早了，我们还没有开门。”守塔的老人慢慢地说。",
        "海上起了大风，船都回来了。",
    ]


def test_a_quotation_that_ends_its_sentence_ends_it():
    found = sentences("守塔的老人慢慢地说：“你来得太早了，我们还没有开门。”海上起了大风，渔船全都回来了。", 5)
    assert found[0].endswith("”")
    assert found[1].startswith("海上")


def test_code_tables_and_rules_are_no_sentences(read):
    quoted = " ".join(sentences(read("spec.md"), 30))
    assert "Frame =" not in quoted
    assert "|" not in quoted
    assert "frame header" in quoted


def test_list_marks_and_verse_numbers_are_left_out():
    text = (
        "  1 In the first year of the drought the people of the valley dug a well.\n"
        "  2 And in the second year the well gave them neither water nor peace.\n"
    )
    assert [item[:3] for item in sentences(text)] == ["In ", "And"]


def test_verse_is_quoted_only_where_there_is_no_prose():
    verse = "春眠不觉晓，\n处处闻啼鸟。\n夜来风雨声，\n花落知多少。\n"
    prose = "老人每天清早都要念一遍这首诗，然后才肯把大门打开。\n"
    assert sentences(verse)
    assert sentences(f"{prose}\n{verse}") == [prose.strip()]


def test_scripture_without_full_stops_is_quoted_verse_by_verse():
    verse = "هذا نص قصير كتبناه للتجربة وفيه كلمات كثيرة حتى يصير جملة طويلة تقرأ ﴿{}﴾\n"
    text = "".join(verse.format(number) for number in (1, 2))
    assert all(quoted.count("﴾") == 1 for quoted in sentences(text))


def test_a_formula_that_comes_back_counts_for_less_than_what_is_said_once():
    formula = "{} walked along the quay in the evening and looked at the grey water for a while. "
    news = "The bank of the town had burned to the ground, and with it every deed of the harbour. "
    text = "".join(formula.format(name) for name in ("Anna", "Bruno", "Clara", "Dario")) + news
    assert news.strip() in sentences(text, 2)


@pytest.mark.parametrize("wanted", [1, 2, 3, 5])
def test_a_fold_names_the_child_and_item_of_each_sentence(read, wanted):
    children = [summarize(read("english.txt"), sentences=n).value for n in (4, 2, 3)]
    value = fold_summary(children, sentences=wanted).value
    assert len(value["sentences"]) <= wanted
    for item in value["sentences"]:
        child, index = item["from"]
        assert children[child]["sentences"][index]["text"] == item["text"]
    places = [item["from"] for item in value["sentences"]]
    assert places == sorted(places)


def chapter(*texts):
    return {"sentences": [{"text": text, "weight": 500} for text in texts]}


BOOK = [
    chapter("The ferry sank in the bay with all her lanterns burning.", "Old Bastian swam ashore with the ledger."),
    chapter("Bastian hid the ledger beneath the floor of the chapel.", "The mayor searched every house for it."),
    chapter("A stranger bought the chapel and burned its floor for wood.", "The stranger wore the mayor's own ring."),
    chapter("Bastian stood trial for the fire he had not lit.", "The judge let the stranger go without a word."),
    chapter("In the ashes a child found the ledger unharmed.", "The whole town read what the mayor had sold."),
    chapter("The mayor left the bay on the new ferry at dawn.", "Bastian rang the chapel bell until it cracked."),
]


def test_a_fold_tells_of_the_beginning_the_middle_and_the_end():
    chosen = [item["from"][0] for item in fold_summary(BOOK, sentences=3).value["sentences"]]
    assert [child // 2 for child in chosen] == [0, 1, 2]


def test_a_fold_of_folds_keeps_the_words():
    halves = [fold_summary(BOOK[:3], sentences=3).value, fold_summary(BOOK[3:], sentences=3).value]
    whole = fold_summary(halves, sentences=4).value
    known = {item["text"] for part in BOOK for item in part["sentences"]}
    assert {item["text"] for item in whole["sentences"]} <= known
    assert len(whole["sentences"]) == 4


def test_a_fold_does_not_say_the_same_thing_twice():
    twice = [*BOOK[:2], *BOOK[:2]]
    texts = [item["text"] for item in fold_summary(twice, sentences=8).value["sentences"]]
    assert len(texts) == len(set(texts)) == 4


def test_a_fold_of_nothing_is_empty():
    assert fold_summary([], sentences=4).value == {"sentences": []}
    assert fold_summary([{"sentences": []}], sentences=4).value == {"sentences": []}
    assert fold_summary(BOOK, sentences=0).value == {"sentences": []}
