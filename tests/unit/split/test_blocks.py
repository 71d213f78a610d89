"""Giant units come in bounded blocks whose ends do not depend on what stands far away."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.split.blocks import bounded
from tests.unit.split.texts import han_prose, prose

TARGET, MOST = 4_000, 16_000
GIANTS = {
    "paragraphs": prose(900, 1),
    "lines": han_prose(3000, 2),
    "one line": prose(900, 3, gap=" "),
    "one word": "q1w2e3r4" * 20_000,
    "one letter": "q" * 100_000,
    "spaces": " " * 100_000,
    "newlines": "\n" * 50_000,
    "crlf": "a line\r\n\r\n" * 8_000,
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 9_000,
}


def blocks(text: str, step: int = 1000) -> list[str]:
    parts = (text[at : at + step] for at in range(0, len(text), step))
    return list(bounded(parts, target=TARGET, most=MOST))


@pytest.mark.parametrize("kind", GIANTS)
def test_blocks_make_up_the_text_and_none_is_above_the_bound(kind: str) -> None:
    text = GIANTS[kind]
    found = blocks(text)
    assert "".join(found) == text
    assert len(found) > 3
    assert all(0 < len(block) <= MOST for block in found)


@pytest.mark.parametrize("kind", GIANTS)
def test_no_grapheme_is_cut(kind: str) -> None:
    text = GIANTS[kind]
    borders = {found.end() for found in regex.finditer(r"\X", text)}
    at = 0
    for block in blocks(text):
        at += len(block)
        assert at in borders


def test_a_grapheme_above_the_bound_is_cut_for_the_sake_of_memory() -> None:
    found = blocks("e" + "\u0301" * 50_000)
    assert max(map(len, found)) == MOST


@pytest.mark.parametrize("kind", GIANTS)
def test_the_blocks_do_not_depend_on_how_the_text_comes(kind: str) -> None:
    text = GIANTS[kind]
    assert blocks(text, 777) == blocks(text, len(text))


@pytest.mark.parametrize("size", [1, 100, TARGET])
def test_a_short_unit_is_one_block(size: int) -> None:
    text = prose(200, 4)[:size]
    assert blocks(text) == [text]


def test_an_empty_unit_is_no_block() -> None:
    assert blocks("") == []


@pytest.mark.parametrize("kind", ["paragraphs", "lines"])
@settings(deadline=None, max_examples=40, derandomize=True)
@given(share=st.floats(0, 1))
def test_an_insertion_changes_only_blocks_near_it(kind: str, share: float) -> None:
    text = GIANTS[kind]
    at = text.find("\n", int(share * len(text))) + 1
    new = set(blocks(text[:at] + "A new line of text stands here.\n" + text[at:]))
    assert len(new - set(blocks(text))) <= 4


def test_ends_are_paragraph_ends_where_there_are_any() -> None:
    assert all(block.endswith("\n\n") for block in blocks(GIANTS["paragraphs"]))
    assert all(block.endswith("\n") for block in blocks(GIANTS["lines"]))


def test_a_bound_too_near_the_target_is_refused() -> None:
    with pytest.raises(ValueError, match="twice the target"):
        list(bounded(["text"], target=10, most=19))
