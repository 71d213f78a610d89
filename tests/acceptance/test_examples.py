"""The examples of the documentation, and the samples, as a newcomer runs them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.command import Cli

PROJECT = Path(__file__).resolve().parents[2]
LAMP = PROJECT / "samples" / "the-lamp-at-grey-skerry.txt"
FERRY = PROJECT / "samples" / "青石渡.txt"


@pytest.fixture
def examples(cli: Cli) -> Cli:
    """The command in a copy of docs/examples."""
    for path in (PROJECT / "docs" / "examples").glob("words*"):
        shutil.copy(path, cli.folder)
    shutil.copy(PROJECT / "docs" / "examples" / "size.toml", cli.folder)
    return cli


def test_a_merge_of_ones_own_counts_and_cites(examples: Cli) -> None:
    run = ["run", LAMP, "--ops", "words", "--pipeline", "words.toml", "--citations", "0", "--json"]
    entries = examples.ok(*run).json["output"]["entries"]
    text = LAMP.read_text()
    words = re.findall(r"[^\W\d_]{10,}", text.lower())
    assert {entry["key"]: entry["value"] for entry in entries} == {word: words.count(word) for word in words}
    for entry in entries:
        assert len(entry["citations"]) == entry["count"]
        for place in entry["citations"]:
            assert text[place["start"] : place["end"]].lower() == entry["key"]
            assert text.count("\n", 0, place["start"]) + 1 == place["start_line"]


def test_a_fold_of_ones_own_adds_up_to_the_book(examples: Cli) -> None:
    text = LAMP.read_text()
    output = examples.ok("run", LAMP, "--ops", "words", "--pipeline", "size.toml", "--json").json["output"]
    assert output["value"] == {"characters": len(text), "lines": text.count("\n")}


def test_an_op_that_is_edited_runs_again(examples: Cli) -> None:
    run = ["run", LAMP, "--ops", "words", "--pipeline", "size.toml", "--json"]
    process = {"prefix": []}  # a process of its own, for Python imports a module once
    first = examples.ok(*run, **process).json
    assert examples.ok(*run, **process).json["calls"] == 0
    path = examples.folder / "words.py"
    path.write_text(path.read_text().replace('"characters": len(text)', '"characters": len(text) + 1'))
    again = examples.ok(*run, **process).json
    assert again["calls"] == first["calls"]
    assert again["output"]["value"]["characters"] == first["output"]["value"]["characters"] + again["chunks"]


def test_the_demo_shows_results_and_a_second_run_that_costs_nothing() -> None:
    done = subprocess.run(
        [sys.executable, PROJECT / "samples" / "demo.py"], capture_output=True, timeout=120, check=False
    )
    out = done.stdout.decode()
    assert done.returncode == 0, out
    assert out.rstrip().splitlines()[-1].endswith("in the memo and made 0 op calls.")
    assert "[Chapter 1: The Kittiwake, lines " in out
    assert re.search(r"^Osric Venn .*, line \d+", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("book", "chapters", "names"),
    [
        (LAMP, 11, ["Marren", "Osric Venn", "Grey Skerry", "Port Averil"]),
        (FERRY, 9, ["沈砚", "罗九", "何知县", "白鹭洲", "青石渡"]),
    ],
    ids=["English", "Chinese"],
)
def test_the_samples_read_well(cli: Cli, book: Path, chapters: int, names: list[str]) -> None:
    entries = cli.ok("run", book, "--pipeline", "glossary", "--json").json["output"]["entries"]
    assert set(names) <= {name for entry in entries[:10] for name in [entry["name"], *entry["aliases"]]}
    summary = cli.ok("run", book, "--json").json["output"]
    assert len([chapter for chapter in summary["chapters"] if chapter["text"]]) == chapters
    places = [sentence["citations"][0]["start"] for sentence in summary["sentences"]]
    assert places == sorted(places)
    assert len(places) >= 8
