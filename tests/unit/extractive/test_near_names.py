"""Alike names are asked about, and are one only where a sentence of the book says so."""

from __future__ import annotations

import random
import string

import pytest

from pipeline.ops.asking import Material
from pipeline.ops.kinds import Merged, Source
from pipeline.reduce import glossary
from pipeline.reduce.glossary import near

PERSON = "person"


def entry(name, count=5, kind=PERSON, aliases=()):
    return {
        "name": name,
        "kind": kind,
        "count": count,
        "aliases": list(aliases),
        "members": [[glossary.canonical_key({"name": name}), kind]],
    }


def asked(*entries):
    return {frozenset((entries[one]["name"], entries[two]["name"])) for one, two in near.alike(entries)}


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (entry("Queequeg"), entry("Quequeg"), True),
        (entry("Starbuck"), entry("Mate Starbuck"), True),
        (entry("张三丰"), entry("张三"), True),
        (entry("欧阳锋"), entry("欧阳峰"), True),
        (entry("Ahab"), entry("Queequeg"), False),
        (entry("曹操"), entry("曹洪"), False),
        (entry("Washington"), entry("Washingtons", kind="place"), False),
        (entry("Tom"), entry("Tim"), False),
        (entry("Mason"), entry("Masons"), False),
        (entry("Israel"), entry("Israelites"), False),
        (entry("Assyria"), entry("Assyrians"), False),
        (entry("God of Israel"), entry("Israel"), False),
        (entry("King of the Jews"), entry("Jews"), False),
        (entry("Jesus of Nazareth"), entry("Jesus"), True),
        (entry("Bonaparte"), entry("Buonaparte"), True),
    ],
)
def test_only_names_that_are_alike_and_of_one_kind_are_asked_about(one, two, expected):
    assert bool(asked(one, two)) is expected


def test_one_letter_more_less_or_other_is_always_found_among_many():
    rng = random.Random(7)

    def letters(count):
        return "".join(rng.choices(string.ascii_lowercase, k=count))

    names = sorted({letters(rng.randint(6, 10)).title() for _ in range(300)})
    pairs = set()
    for name in names[:100]:
        at = rng.randrange(1, len(name))
        twin = name[:at] + rng.choice([letters(1) + name[at:], name[at + 1 :], letters(1) + name[at + 1 :]])
        pairs |= {frozenset((name, twin))} if twin not in names else set()
    found = asked(*map(entry, sorted({name for pair in pairs for name in pair}.union(names))))
    assert pairs <= found
    assert len(found) < 2 * len(pairs)


def test_a_pair_is_asked_about_where_both_stand_in_one_chunk_and_with_no_position():
    keep = [entry("Queequeg"), entry("Quequeg"), entry("Quequegs")]
    cites = {"queequeg": [[0, 0], [1, 0]], "quequeg": [[1, 1], [2, 0]], "quequegs": [[3, 0]]}
    value = {"entries": [{"key": key, "kind": PERSON, "cites": found} for key, found in cites.items()]}
    (question,) = near.find(Merged(values=[value], leaves=[[4, 7, 8, 9]], resolved={"keep": keep}))
    assert question.places == ((7, -1),)
    assert question.about == {"one": {"name": "Queequeg", "kind": PERSON}, "two": {"name": "Quequeg", "kind": PERSON}}


ABOUT = {"one": {"name": "Queequeg", "kind": PERSON}, "two": {"name": "Quequeg", "kind": PERSON}}


def source(text):
    return Source(text=text, start=0, end=len(text))


def test_passages_hold_both_names_near_to_each_other():
    far = "Queequeg slept. " + "Rain fell. " * 60 + "Quequeg woke."
    assert near.shown(ABOUT, [source(far), source("Queequeg alone.")]) is None
    text = near.shown(ABOUT, [source(far), source("Rain. Then Queequeg, spelt Quequeg on the papers, signed.")])
    assert text == "Rain. Then Queequeg, spelt Quequeg on the papers, signed."


def test_a_name_within_the_other_is_not_that_name():
    about = {"one": {"name": "张三", "kind": PERSON}, "two": {"name": "张三丰", "kind": PERSON}}
    assert near.shown(about, [source("张三丰笑道：“好。”")]) is None
    assert near.shown(about, [source("张三丰笑道：“张三来了。”")]) is not None


@pytest.mark.parametrize(
    ("one", "two", "text", "same"),
    [
        ("Queequeg", "Quequeg", "Rain. Queequeg, also spelt Quequeg, signed. Night.", True),
        ("Queequeg", "Quequeg", "Quequeg was another spelling of Queequeg.", True),
        ("Elizabeth", "Eliza", "Eliza was short for Elizabeth, of course.", True),
        ("Marren", "Marrin", "Marren called Marrin, and Marrin came.", False),
        ("Marren", "Marrin", "It was Marren or Marrin who came.", False),
        ("Marren", "Marrin", "Marren and Marrin were brothers.", False),
        ("张三", "张三丰", "众人都道，张三即张三丰。", True),
        ("张三", "张三丰", "张三就是张三丰的徒弟。", False),
        ("欧阳锋", "欧阳峰", "欧阳锋，又作“欧阳峰”，西域人。", True),
    ],
)
def test_the_rule_needs_a_sentence_that_says_so(one, two, text, same):
    about = {"one": {"name": one, "kind": PERSON}, "two": {"name": two, "kind": PERSON}}
    answer = near.by_rule(text, {"before": about}).value
    assert answer["verdict"] == (near.SAME if same else near.UNSURE)
    assert answer["quote"] in text
    assert bool(answer["quote"]) is same


@pytest.mark.parametrize(
    ("quote", "verdict"),
    [
        ("Queequeg, also spelt Quequeg, signed.", near.SAME),
        ("queequeg,  also spelt Quequeg, signed", near.SAME),
        ("Queequeg is Quequeg.", near.UNSURE),
        ("Queequeg slept.", near.UNSURE),
        ("", near.UNSURE),
        ("Queequeg slept.\n⋯\nRain. Queequeg, also spelt Quequeg, signed.", near.UNSURE),
    ],
)
def test_a_model_that_says_same_must_quote_the_book_with_both_names(quote, verdict):
    text = "Queequeg slept.\n⋯\nRain. Queequeg, also spelt Quequeg, signed."
    ask = glossary.INQUIRY.op.ask
    answer = ask.finish({"verdict": near.SAME, "quote": quote}, Material(text=text, children=[ABOUT])).value
    assert answer["verdict"] == verdict
    assert (answer["quote"] in text and "Quequeg" in answer["quote"]) or verdict == near.UNSURE


def said(one, two, verdict=near.SAME):
    first, second = sorted((one, two))
    about = {"one": {"name": first, "kind": PERSON}, "two": {"name": second, "kind": PERSON}}
    return about, {"verdict": verdict, "quote": f"{one} is {two}." if verdict == near.SAME else ""}


def names(resolved):
    return {one["name"]: set(one["aliases"]) for one in resolved["keep"]}


KEEP = [entry("Queequeg", 9), entry("Quequeg", 5), entry("Quequog", 2)]


def test_what_is_said_to_be_one_is_one_and_alike_alone_is_not():
    resolved = {"keep": KEEP}
    assert glossary.joined(resolved, []) is resolved
    joined = glossary.joined(resolved, [said("Quequeg", "Queequeg")])
    assert names(joined) == {"Queequeg": {"Quequeg"}, "Quequog": set()}
    assert joined["keep"][0]["count"] == 14
    assert joined["keep"][0]["near"] == [["Quequeg", "Queequeg", "Quequeg is Queequeg."]]
    unsure = glossary.joined(resolved, [said("Quequeg", "Queequeg", near.UNSURE)])
    assert names(unsure).keys() == {"Queequeg", "Quequeg", "Quequog"}


def test_no_two_are_joined_over_a_third_against_a_judgement():
    chain = [said("Quequeg", "Queequeg"), said("Quequog", "Quequeg")]
    assert names(glossary.joined({"keep": KEEP}, chain)) == {"Queequeg": {"Quequeg", "Quequog"}}
    apart = [*chain, said("Quequog", "Queequeg", near.DIFFERENT)]
    assert names(glossary.joined({"keep": KEEP}, apart)) == {"Queequeg": {"Quequeg"}, "Quequog": set()}


def test_an_alias_that_was_found_to_be_two_is_neithers():
    keep = [entry("Marren Oake", 9), entry("Marren Hill", 7), entry("Marren", 3)]
    both = [said("Marren", "Marren Oake"), said("Marren", "Marren Hill")]
    assert names(glossary.joined({"keep": keep}, both)).keys() == {"Marren Oake", "Marren Hill", "Marren"}


def test_any_order_of_answers_gives_the_same():
    answers = [said("Quequeg", "Queequeg"), said("Quequog", "Quequeg")]
    assert glossary.joined({"keep": KEEP}, answers) == glossary.joined({"keep": KEEP}, answers[::-1])


def test_a_person_may_take_a_judged_pair_apart():
    joined = glossary.joined({"keep": KEEP}, [said("Quequeg", "Queequeg")])
    split = glossary.Decision(kind=glossary.DecisionKind.SPLIT, name="Quequeg", other="Queequeg")
    decided = glossary.decided(joined, [split], {("quequeg", PERSON): 5, ("queequeg", PERSON): 9})
    assert {one["name"]: one["count"] for one in decided["keep"]} == {"Queequeg": 9, "Quequeg": 5, "Quequog": 2}
    assert all("near" not in one for one in decided["keep"])
