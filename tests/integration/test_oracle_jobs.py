"""A novel's contradictions and aliases through the real engine: an oracle extractor with noise as the op of a job.

Two chapters of a hundred arrive out of order: their op fails until chapters behind them are through, so the engine
brings them in late, again and again.
"""

from __future__ import annotations

import logging
import random
import shutil
import threading
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from db.engine import sqlite_url
from octavo import map_op
from pipeline.ops.values import OpOutput
from pipeline.retry import CallError, ErrorClass
from pipeline.states import JobState
from tests.corpus import written_novel
from tests.integration.conftest import Laboratory
from tests.judge_conflicts import Report, Score, key, said, score
from tests.oracle import Oracle

LATE = 0.02  # of the chapters
BEHIND = 5  # so many chapters behind a late one, at least, arrive before it
PIPELINE = """
name = "oracle"
[grain]
limit = 1000000
[[step]]
name = "facts"
kind = "map"
op = "oracle_facts"
attempts = 100
[[step]]
name = "conflicts"
kind = "merge"
op = "conflicts"
"""


@dataclass
class Extractor:
    """The oracle as an op, with the order in which its chapters arrived."""

    oracle: Oracle
    late: dict[int, set[int]] = field(default_factory=dict)  # chapters, each with those that arrive before it
    arrived: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def chapters(self) -> list[dict[str, Any]]:
        return list(self.oracle.truth["chapters"])

    def chapter_at(self, offset: int) -> int:
        """The number of the chapter that holds a character of the book, from 0."""
        return bisect_right([chapter["offset"] for chapter in self.chapters], offset) - 1

    def read(self, text: str) -> OpOutput:
        number = self.chapter_at(self.oracle.book.find(text))
        with self.lock:
            if not self.late.get(number, set()) <= set(self.arrived):
                raise CallError(ErrorClass.TRANSIENT, "late", "It comes later")
            self.arrived.append(number)
        return self.oracle.read(text)

    def op(self) -> Callable[..., OpOutput]:
        @map_op(version=1)
        def oracle_facts(text: str) -> OpOutput:
            return self.read(text)

        return oracle_facts


def laboratory(folder: Path, template: Path) -> Laboratory:
    folder.joinpath("state").mkdir(parents=True)
    path = folder / "state" / "octavo.db"
    shutil.copy(template, path)
    return Laboratory(folder, sqlite_url(path))


def read_by(lab: Laboratory, extractor: Extractor, book: Path) -> tuple[bytes, dict[str, Any]]:
    lab.teach(extractor.op())
    job = lab.run(PIPELINE, book, retry_budget=100_000)
    assert job.state is JobState.DONE
    found = lab.canonical(job), lab.output(job)
    for runtime in lab.runtimes:
        runtime.close()
    return found


def scored(extractor: Extractor, output: dict[str, Any]) -> Score:
    """The printed result, judged: what people see, with the places that its citations open at."""

    def seq(citations: list[dict[str, Any]]) -> int:
        return int(extractor.chapters[extractor.chapter_at(citations[0]["start"])]["seq"])

    names = {said(alias["alias"]): said(alias["name"]) for alias in output["aliases"]}
    reported = []
    for conflict in output["conflicts"]:
        sides = [
            (names.get(said(side["value"]), said(side["value"])), side)
            for side in (conflict["first"], conflict["second"])
        ]
        reported.append(
            Report(
                subject=key(conflict["subject"]),
                attribute=conflict["attribute"],
                values=frozenset(value for value, _ in sides),
                places=frozenset((value, seq(side["citations"])) for value, side in sides),
            )
        )
    links = [(key(alias["alias"]), key(alias["name"]), seq(alias["citations"])) for alias in output["aliases"]]
    return score(extractor.oracle, reported, links)


def latecomers(chapters: list[int]) -> dict[int, set[int]]:
    """Two chapters of a hundred, each with the next ones, but for other latecomers. The last have none behind them."""
    chosen = set(random.Random(1).sample(range(1, len(chapters) - 2 * BEHIND), int(len(chapters) * LATE)))
    return {
        chapters[at]: {chapters[next_] for next_ in range(at + 1, at + 1 + 2 * BEHIND) if next_ not in chosen}
        for at in chosen
    }


def run_both_ways(folder: Path, language: str, chapters: int, template: Path) -> None:
    written_novel(folder, language, chapters)
    oracle = Oracle.load(folder, language, seed=1)
    book = folder / f"webnovel_{language}.txt"
    in_order = Extractor(oracle)
    plain_bytes, _ = read_by(laboratory(folder / "plain", template), in_order, book)
    shuffled = Extractor(oracle, latecomers(sorted(set(in_order.arrived))))
    late_bytes, output = read_by(laboratory(folder / "late", template), shuffled, book)

    assert set(shuffled.arrived) == set(in_order.arrived)  # a process that was paused reads some again
    assert len(shuffled.late) >= LATE * chapters * 0.9
    for chapter, before in shuffled.late.items():
        first = shuffled.arrived.index(chapter)
        assert before <= set(shuffled.arrived[:first]), "it arrived behind chapters that come after it"
    assert late_bytes == plain_bytes

    found = scored(shuffled, output)
    logging.getLogger(__name__).warning("%s, %d chapters: %s", language, chapters, found.line())
    found.check()


@pytest.mark.corpus
@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_oracles_facts_are_judged_alike_in_whatever_order_they_arrive(
    tmp_path: Path, sqlite_template: Path, language: str
) -> None:
    run_both_ways(tmp_path, language, 400, sqlite_template)


@pytest.mark.corpus
@pytest.mark.nightly
@pytest.mark.parametrize("language", ["zh", "en"])
def test_all_chapters_of_a_long_novel_through_the_engine(tmp_path: Path, sqlite_template: Path, language: str) -> None:
    run_both_ways(tmp_path, language, 4232, sqlite_template)
