"""Patterns match alike in every version of Python that Octavo runs on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.read.html_tokens import tokens
from pipeline.read.registry import media_type_of

ROOT = Path(__file__).parents[3]
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 matches such a group wrongly where it holds alternatives."""
    files = [file for room in ("octavo", "pipeline", "workers", "db") for file in (ROOT / room).rglob("*.py")]
    assert len(files) > 200
    found = [file.name for file in files if POSSESSIVE_GROUP.search(file.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("tag", "name", "attributes"),
    [
        ("<a >", "a", {}),
        ("<br/>", "br", {}),
        ("<p class=x >", "p", {"class": "x"}),
        ("<p class=\"x y\" id='z' hidden>", "p", {"class": "x y", "id": "z", "hidden": ""}),
        ('<p title="a>b" =c d = e>', "p", {"title": "a>b", "=c": "", "d": "e"}),
        ('<p class="open>', "p", {"class": '"open'}),
    ],
)
def test_a_tag_is_read_whole(tag: str, name: str, attributes: dict[str, str]) -> None:
    found = next(tokens(f"{tag}text", xml=False))
    assert (found.name, found.attributes or {}) == (name, attributes)


@pytest.mark.parametrize(
    ("before", "media_type"),
    [
        ("<!-- one -->", "text/html"),
        ("<!----> <!--- a - b --->\n", "text/html"),
        ("\n<?xml version='1.0'?> <!-- - -->", "application/xhtml+xml"),
    ],
)
def test_comments_may_stand_before_a_page(before: str, media_type: str) -> None:
    assert media_type_of("a.txt", f"{before}<html>".encode()) == media_type


def test_a_page_that_is_all_comments_is_told_at_once() -> None:
    """Each comment and each tag can be read in one way alone, so there is nothing to go back to."""
    assert media_type_of("a.txt", b"<!-- a -->" * 400) == "text/plain"
    assert next(tokens("<a" + ' b="c"' * 20_000, xml=False)).name == ""
