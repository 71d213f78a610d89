"""Whole jobs, the same tests in embedded mode and over workers: free second runs, shifted books, holes, retries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.command import STORY, Cli

OPS = """
import pathlib
from octavo import map_op, reduce_op

@map_op(version=1)
def first_words(text):
    if "unlucky" in text and not pathlib.Path("mended").exists():
        raise ValueError("an unlucky chunk")
    return {"items": text.split()[:4]}

@reduce_op(version=1)
def join_words(children):
    return {"items": [item for child in children for item in child["items"]][:9]}

@reduce_op(version=1, key=str.casefold)
def count_words(items):
    return len(items)
"""
PIPELINE = """
name = "words"
[grain]
limit = 60
[[step]]
name = "map"
kind = "map"
op = "first_words"
attempts = 2
[[step]]
name = "fold"
kind = "fold"
op = "join_words"
[[step]]
name = "merge"
kind = "merge"
op = "count_words"
after = "map"
"""


@pytest.fixture
def book(either: Cli) -> Iterator[Callable[[str, str], Path]]:
    """Writes a book into the command's folder, where the ops and the pipeline `words` are too."""
    (either.folder / "word_ops.py").write_text(OPS)
    (either.folder / "words.toml").write_text(PIPELINE)

    def write(name: str, text: str) -> Path:
        path = either.folder / name
        path.write_text(text)
        return path

    yield write
    (either.folder / "mended").unlink(missing_ok=True)


def _run(cli: Cli, *books: str, code: int = 0) -> dict[str, object]:
    ended = cli.run("run", *books, "-p", "words.toml", "--ops", "word_ops", "--json")
    assert ended.code == code, ended.err
    found: dict[str, object] = ended.json
    return found


def _novel(chapters: list[int]) -> str:
    return "\n".join(f"# Chapter {n}\n\nOn day {n * 7} keeper {n} lit lamp {n * 13} of the tower.\n" for n in chapters)


def test_a_second_run_is_free(either: Cli, book: Callable[[str, str], Path]) -> None:
    book("free.md", _novel([1, 2, 3, 4, 5]))
    first = _run(either, "free.md")
    again = _run(either, "free.md")
    assert first["state"] == again["state"] == "done"
    assert (again["calls"], again["hits"]) == (0, again["tasks"])
    assert again["output"] == first["output"]


@pytest.mark.parametrize("pipeline", ["summary", "glossary", "outline"])
def test_a_second_run_of_a_built_in_pipeline_is_free(
    either: Cli, book: Callable[[str, str], Path], pipeline: str
) -> None:
    book("story.md", STORY)
    first = either.ok("run", "story.md", "-p", pipeline, "--json").json
    again = either.ok("run", "story.md", "-p", pipeline, "--json").json
    assert (again["calls"], again["hits"], again["output"]) == (0, again["tasks"], first["output"])


def test_a_shifted_book_costs_the_new_chapter_alone_and_a_copy_nothing(
    either: Cli, book: Callable[[str, str], Path]
) -> None:
    book("shifted.md", _novel([11, 12, 13, 14, 15, 16]))
    _run(either, "shifted.md")
    book("copy.md", _novel([11, 12, 13, 14, 15, 16]))
    assert _run(either, "copy.md")["calls"] == 0
    book("shifted.md", _novel([99, 11, 12, 13, 14, 15, 16]))
    shifted = _run(either, "shifted.md")
    steps = json.loads(either.ok("status", str(shifted["job"]), "--json").out)["steps"]
    assert [step["calls"] for step in steps if step["step"] == "map"] == [1]


def test_a_hole_is_named_retried_alone_and_waived(either: Cli, book: Callable[[str, str], Path]) -> None:
    book("holes.md", _novel([21, 22, 23]) + "\n# Chapter 24\n\nAn unlucky day for keeper 24.\n")
    first = _run(either, "holes.md", code=3)
    assert (first["state"], first["holes"]) == ("holes", 1)
    assert either.ok("retry", str(first["job"]), "--json").json["holes"] == 1
    (either.folder / "mended").touch()
    resumed = either.ok("resume", str(first["job"]), "--json", "--ops", "word_ops").json
    assert (resumed["state"], resumed["holes"]) == ("done", 0)
    (either.folder / "mended").unlink()
    book("waived.md", _novel([31, 32]) + "\n# Chapter 33\n\nAn unlucky day for keeper 33.\n")
    second = _run(either, "waived.md", code=3)
    assert either.ok("waive", str(second["job"]), "--json").json["waived"] == 1
    assert either.ok("resume", str(second["job"]), "--json", "--ops", "word_ops").json["state"] == "done"


def test_both_modes_give_the_same_bytes(
    either: Cli, book: Callable[[str, str], Path], tmp_path: Path, state: Path
) -> None:
    book("same.md", _novel(list(range(40, 60))))
    _run(either, "same.md")
    here = Cli(either.folder, state)
    _run(here, "same.md")
    assert here.ok("export", "--canonical", "--ops", "word_ops").out == (
        either.ok("export", "--canonical", "--ops", "word_ops").out
    )


def test_a_job_that_has_ended_can_not_be_paused(either: Cli, book: Callable[[str, str], Path]) -> None:
    book("ended.md", STORY)
    job = either.ok("run", "ended.md", "--json").json["job"]
    either.refused("pause", job, code=1, says="can not be paused")
    assert either.ok("status", job, "--json").json["state"] == "done"
