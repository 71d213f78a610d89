"""The built-in pipelines on real books: who is in them, and what is said of them, with places that hold the words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.read import registry
from pipeline.read.sources import FileSource
from tests.acceptance.command import Cli

MOBY = "en/moby-dick_pg2701-0_utf8bom_crlf.txt"
WEST = "zh/西游记.txt"
WAR = "en/war-and-peace_pg2600-8_latin1.txt"
BIBLE = "en/bible-kjv.txt"
BOOKS = (MOBY, WEST, *(pytest.param(book, marks=pytest.mark.nightly) for book in (WAR, BIBLE)))
LEGAL = ("Project Gutenberg", "electronic work", "trademark")

pytestmark = pytest.mark.corpus


def text_of(book: Path) -> str:
    return "".join(registry.read(FileSource(book)).blocks())


def output(cli: Cli, book: Path, pipeline: str) -> Any:
    found = cli.ok("run", book, "--pipeline", pipeline, "--json").json
    assert (found["state"], found["holes"]) == ("done", 0)
    return found["output"]


@pytest.mark.parametrize(
    ("book", "names"),
    [
        (MOBY, {"Ahab", "Queequeg", "Starbuck", "Stubb"}),
        (WEST, {"行者", "八戒", "三藏"}),
        pytest.param(WAR, {"Pierre", "Natasha", "Andrew"}, marks=pytest.mark.nightly),
        pytest.param(BIBLE, {"God", "Israel", "David", "Moses"}, marks=pytest.mark.nightly),
    ],
)
def test_the_first_ten_of_a_glossary_are_whom_the_book_is_about(
    cli: Cli, corpus: Path, book: str, names: set[str]
) -> None:
    first = output(cli, corpus / book, "glossary")["entries"][:10]
    assert names <= {name for entry in first for name in (entry["name"], *entry["aliases"])}
    text = text_of(corpus / book)
    for entry in first:
        spoken = (entry["name"], *entry["aliases"])
        for place in entry["citations"]:
            cited = " ".join(text[place["start"] : place["end"]].split())  # a name may be wrapped
            assert any(name.casefold() in cited.casefold() for name in spoken), (entry["name"], cited)


@pytest.mark.parametrize("book", BOOKS)
def test_a_summary_is_sentences_of_the_book_in_order_each_at_its_lines(cli: Cli, corpus: Path, book: str) -> None:
    summary = output(cli, corpus / book, "summary")
    text = text_of(corpus / book)
    places = [citation for sentence in summary["sentences"] for citation in sentence["citations"]]
    assert len(summary["sentences"]) >= 10
    assert [place["start"] for place in places] == sorted(place["start"] for place in places)
    for sentence in summary["sentences"]:
        (place,) = sentence["citations"]
        assert "".join(text[place["start"] : place["end"]].split()) == "".join(sentence["text"].split())
        assert text.count("\n", 0, place["start"]) + 1 == place["start_line"]
        assert not any(word in sentence["text"] for word in LEGAL)
        assert place["section"]
    assert len(summary["chapters"]) >= 100


@pytest.mark.nightly
def test_a_novel_of_4232_chapters_runs_once_and_then_costs_nothing(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, corpus / "make_webnovel.py", "--out", tmp_path], check=True, capture_output=True)
    novel = tmp_path / "webnovel_zh.txt"
    for pipeline in ("summary", "glossary"):
        first = cli.ok("run", novel, "--pipeline", pipeline, "--json").json
        again = cli.ok("run", novel, "--pipeline", pipeline, "--json").json
        assert first["calls"] > 4000
        assert (again["calls"], again["hits"]) == (0, again["tasks"])
        assert again["output"] == first["output"]
