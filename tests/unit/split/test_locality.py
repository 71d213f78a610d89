"""Cuts are chosen by the text around them: an edit changes the pieces near it and no others."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable

import pytest

from pipeline.split.blocks import bounded
from pipeline.split.grain import Grain, TokenCounter, Unit
from pipeline.split.marks import HASHED, rank_after
from pipeline.split.splitter import Splitter
from tests.corpus import ABSENT, CORPUS
from tests.unit.split.texts import assert_sound, counters, han_prose, prose

LIMIT = 300
TEXTS: dict[str, Callable[[], str]] = {
    "paragraphs": lambda: prose(700, 1),
    "a paragraph a line": lambda: prose(700, 2, gap="\n"),
    "wrapped lines": lambda: re.sub(r"(.{50,60}) ", r"\1\n", prose(700, 3)),
    "Chinese": lambda: han_prose(900, 4),
    "one giant line": lambda: prose(700, 5, gap=" "),
}


def changed_by(
    insertions: int, text: str, new: str, ends: str, counter: TokenCounter, limit: int
) -> tuple[list[int], float]:
    """Chunks that each insertion changes, sorted, and the mean fill before."""
    splitter = Splitter(Grain(name="test", limit=limit), counter)

    def chunks(whole: str) -> tuple[Counter[str], float]:
        units = [Unit(text=block) for block in bounded([whole])]
        found = list(splitter.split_many(units))
        texts = Counter(u.text[p.start : p.end] for u, pieces in zip(units, found, strict=True) for p in pieces)
        tokens = [p.tokens for pieces in found for p in pieces]
        return texts, sum(tokens) / len(tokens) / limit

    before, fill = chunks(text)
    rng = random.Random(7)
    places = rng.sample([found.end() for found in re.finditer(ends, text)], insertions)
    changed = [(chunks(text[:at] + new + text[at:])[0] - before).total() for at in places]
    return sorted(changed), fill


@pytest.mark.parametrize("kind", TEXTS)
def test_an_insertion_changes_few_chunks_and_chunks_are_well_filled(kind: str) -> None:
    text = TEXTS[kind]()
    ends = r"\n\n" if kind in ("paragraphs", "wrapped lines") else r"[.] " if kind == "one giant line" else r"\n"
    new = "A lamp was lit on the pier." + {r"\n\n": "\n\n", r"[.] ": " ", r"\n": "\n"}[ends]
    changed, fill = changed_by(40, text, new, ends, counters()["built-in"], LIMIT)
    assert fill >= 0.7
    assert changed[20] <= 1
    assert changed[37] <= 4  # the 95th percentile of forty
    assert changed[-1] <= 12


PARAGRAPHS = {
    "English": (
        [part + "\n\n" for part in prose(300, 8).split("\n\n") if part],
        "The mole came back. ",
        r"\w+(?=\W*$)",
        "mole",
    ),
    "Chinese": (
        [part + "\n\n" for part in han_prose(300, 9).split("\n") if part],
        "灯灭了。",
        r"\w{2}(?=\W*$)",
        "灯船",
    ),
}


@pytest.mark.parametrize("language", PARAGRAPHS)
def test_an_edited_last_word_leaves_a_paragraph_in_its_order_among_those_with_other_marks(language: str) -> None:
    paragraphs, _, last, word = PARAGRAPHS[language]
    marks = [int(rank_after(text, 0, len(text), 0) * 2**16) for text in paragraphs]
    assert len(set(marks)) > 3
    edited = [re.sub(last, word, text) for text in paragraphs]
    assert edited != paragraphs
    assert [int(rank_after(text, 0, len(text), 0) * 2**16) for text in edited] == marks


@pytest.mark.parametrize("language", PARAGRAPHS)
def test_a_sentence_put_before_the_last_moves_no_cut_behind_a_paragraph(language: str) -> None:
    paragraphs, sentence, _, _ = PARAGRAPHS[language]
    chosen = [text for text in paragraphs if len(re.findall(r"[.,!?，。！？”]", text)) >= 2 and len(text) > HASHED + 2]
    assert len(chosen) > 100
    before = [rank_after(text, 0, len(text), 0) for text in chosen]
    longer = [sentence + text for text in chosen]
    assert [rank_after(text, 0, len(text), 0) for text in longer] == before


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["en/moby-dick_1991-etext_crlf.txt", "zh/西游记.txt"])
def test_real_books_without_headings_are_split_soundly_and_locally(name: str) -> None:
    if not (CORPUS / name).exists():
        pytest.skip(ABSENT)
    text = (CORPUS / name).read_text("utf-8").replace("\r\n", "\n")[:600_000]
    text = re.sub(r"(?m)^\s*(?:CHAPTER|第.{1,6}回).*\n", "", text)
    counter = counters()["built-in"]
    for block in bounded([text]):
        pieces = Splitter(Grain(name="test", limit=160, overlap=16), counter).split(Unit(text=block))
        assert_sound(block, pieces, counter, 160)
    changed, fill = changed_by(20, text, "A lamp was lit on the pier.\n\n", r"\n\n", counter, 1000)
    assert fill >= 0.7
    assert changed[10] <= 1
    assert changed[-1] <= 12
