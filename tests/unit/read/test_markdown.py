"""Headings of Markdown by the rules of CommonMark."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from pipeline.read.markdown import MarkdownScanner
from pipeline.read.reading import Reading

Read = Callable[..., Reading]


def _headings(text: str) -> list[tuple[int, int, str]]:
    scanner = MarkdownScanner()
    scanner(text)
    scanner.finish()
    return [(heading.line, heading.level, heading.title) for heading in scanner.headings]


def _reference(text: str) -> list[tuple[int, int]]:
    """Line and level of each heading outside of containers, as markdown-it-py parses them."""
    return [
        ((token.map or [0])[0] + 1, int(token.tag[1]))
        for token in MarkdownIt("commonmark").parse(text)
        if token.type == "heading_open" and token.level == 0
    ]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# Alpha\n\n## Beta ##\n\n### Gamma #\\#\n", [(1, 1, "Alpha"), (3, 2, "Beta"), (5, 3, "Gamma #\\#")]),
        ("#\n#\tTab\n   ### three\n####### seven\n#none\n", [(1, 1, ""), (2, 1, "Tab"), (3, 3, "three")]),
        ("Harbour\n=======\nquay\n", [(1, 1, "Harbour")]),
        ("Two\nlines  \n---\n", [(1, 2, "Two lines")]),
        ("\n---\n\n===\n", []),
        ("~~~\n# no\n~~~\n# yes\n", [(4, 1, "yes")]),
        ("````\n```\n# no\n```\n````\n# yes\n", [(6, 1, "yes")]),
        ("```sh\n# no\n``` not a closer\n# no\n````\n# yes\n", [(6, 1, "yes")]),
        ("# Boat\nhull\n\n```\n## Anchor\n", [(1, 1, "Boat")]),
        ("`` ` not a fence\n# yes\n", [(2, 1, "yes")]),
        ("    # code\n\n\t# code\n\npara\n    # still para\n# yes\n", [(7, 1, "yes")]),
        ("<!--\n# no\n-->\n# yes\n", [(4, 1, "yes")]),
        ("<pre>\n\n# no\n</pre>\n# yes\n", [(5, 1, "yes")]),
        ("<div>\n# no\n\n# yes\n</div>\n", [(4, 1, "yes")]),
        ("para\n<span>\n# yes\n", [(3, 1, "yes")]),
        ("- # in\n\n  # in\n\n# out\n", [(5, 1, "out")]),
        ("> # in\n# out\n", [(2, 1, "out")]),
        ("> lazy\nstill\n===\n", []),
        ("- item\n---\n", []),
        ("1. a\n\n   b\n   ===\n# out\n", [(5, 1, "out")]),
        ("- ```\n# out\n", [(2, 1, "out")]),
        ("[harbour]: /map\n===\n", []),
        ("[harbour]: /map\n  'a map'\nQuay\n===\n", [(3, 1, "Quay")]),
        ("*\n\n  # out\n", [(3, 1, "out")]),
        ("", []),
    ],
)
def test_headings_are_those_of_commonmark(text: str, headings: list[tuple[int, int, str]]) -> None:
    assert _headings(text) == headings
    assert [(line, level) for line, level, _ in headings] == _reference(text)


def test_levels_are_kept_and_parents_are_right(read_bytes: Read) -> None:
    reading = read_bytes("intro\n\n# Alpha\n\n### Gamma\n\n## Beta\n\n# Delta\n", name="a.md")
    found = [(section.title, section.level, section.parent, section.end_line) for section in reading.sections]
    assert found == [
        ("intro", 1, None, 2),
        ("Alpha", 1, None, 8),
        ("Gamma", 3, 1, 6),
        ("Beta", 2, 1, 8),
        ("Delta", 1, None, 9),
    ]


def test_crlf_does_not_end_up_in_a_title(read_bytes: Read) -> None:
    reading = read_bytes("# Alpha\r\none\r\n\r\n---", name="a.md")
    assert [section.title for section in reading.sections] == ["Alpha"]


def test_a_mark_before_the_first_heading_does_not_hide_it(read_bytes: Read) -> None:
    reading = read_bytes("\ufeff# Alpha\n", name="a.md")
    assert [(section.title, section.start) for section in reading.sections] == [("Alpha", 0)]


@pytest.mark.parametrize("closer", ["---", "..."])
def test_front_matter_gives_the_title_and_lines_are_still_counted(closer: str, read_bytes: Read) -> None:
    reading = read_bytes(f"---\ntitle: 'Harbour'\n# a comment\ntags: [a]\n{closer}\n\n# One\n", name="a.md")
    assert reading.title == "Harbour"
    assert [(section.kind.value, section.title, section.start_line) for section in reading.sections] == [
        ("front", "---", 1),
        ("heading", "One", 7),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: x\n\n# Real\n",
        "---\n\n# Real\n\n---\n",
        "text\n\n---\ntitle: x\n---\n# Real\n",
        "---\n# Real\n---\n",
    ],
)
def test_what_is_no_front_matter_hides_no_heading(text: str) -> None:
    assert "Real" in [title for _, _, title in _headings(text)]


def test_front_matter_is_not_loaded(read_bytes: Read) -> None:
    text = "---\nx: !!python/object/apply:os.abort []\na: &a [x]\nb: &b [*a, *a]\ntitle: >-\n  Folded\n---\n# One\n"
    assert read_bytes(text, name="a.md").title == "Folded"


def test_a_lone_top_heading_is_the_title(read_bytes: Read) -> None:
    assert read_bytes("# Harbour\n\n## One\n\n## Two\n", name="a.md").title == "Harbour"
    assert read_bytes("# One\n\n# Two\n", name="a.md").title is None


def test_chapter_lines_count_only_where_there_is_no_heading(read_bytes: Read) -> None:
    body = "The tide went out at noon. " * 12
    with_heading = read_bytes(f"# Harbour\n\nChapter 1\n\n{body}\n", name="a.md")
    without = read_bytes(f"Chapter 1\n\n{body}\n\nChapter 2\n\n{body}\n", name="a.md")
    assert [section.title for section in with_heading.sections] == ["Harbour"]
    assert [section.title for section in without.sections] == ["Chapter 1", "Chapter 2"]
    assert without.reader == "markdown"


@pytest.mark.parametrize(
    "text",
    [
        "> " * 60_000 + "deep\n",
        "- " * 60_000 + "deep\n" + "\n" * 60_000,
        "> " + "- " * 60_000 + "deep\n" + ">\n" * 60_000,
        "[" * 200_000 + "]" * 200_000 + "\n",
        "<a " + "b " * 200_000 + "\n",
        "* " * 100_000 + "x\n",
        "`" * 200_000 + "\n" + "~" * 200_000 + "\n",
        "[a]: " + "\\" * 200_000 + "\n===\n",
        "".join(f"{' ' * (2 * depth)}- level\n" for depth in range(1000)),
        "# " + "#" * 200_000 + "\n",
    ],
    ids=lambda text: text[:8].strip(),
)
def test_hostile_nesting_neither_recurses_nor_hangs(text: str) -> None:
    assert len(_headings(text + "\n\n# End\n")) <= 2


@pytest.mark.corpus
def test_every_example_of_the_specification_has_the_headings_of_a_reference_parser(corpus: Path) -> None:
    spec = (corpus / "md" / "commonmark-spec.md").read_text(encoding="utf-8")
    examples = re.findall(r"^`{32} example\n(.*?)^\.\n.*?^`{32}$", spec, re.MULTILINE | re.DOTALL)
    assert len(examples) > 600
    for example in examples:
        text = example.replace("→", "\t")
        assert [(line, level) for line, level, _ in _headings(text)] == _reference(text), text


def test_chapters_below_a_books_title_are_chapters_at_whatever_level(read_bytes: Read) -> None:
    text = "# The Tide\n\nA note.\n\n## Prologue\n\nFog.\n\n## Chapter 1: Ebb\n\nMud.\n\n### Tools\n\nRope.\n"
    found = [(section.kind, section.level, section.title) for section in read_bytes(text, name="tide.md").sections]
    assert found == [
        ("heading", 1, "The Tide"),
        ("chapter", 2, "Prologue"),
        ("chapter", 2, "Chapter 1: Ebb"),
        ("heading", 3, "Tools"),
    ]


def test_a_prologue_in_a_document_without_chapters_is_a_heading_like_others(read_bytes: Read) -> None:
    found = read_bytes("# Manual\n\n## Prologue\n\nRead on.\n", name="manual.md").sections
    assert [section.kind for section in found] == ["heading"] * 2
