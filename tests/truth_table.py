"""What a generated novel's truth file says against what is found: names, counts, aliases, contradictions; a table.

    python -m tests.truth_table [--chapters 400 4232] [--languages zh en]

Names and aliases by the extractive model over the novel's chapters; contradictions, and aliases under noise, by an
oracle's facts (`tests.oracle`, `tests.judge_conflicts`). It ends with 1 where a bound of issue 7 is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from pipeline.models.extractive import extract
from pipeline.ops.values import Json
from pipeline.reduce.glossary import Entry
from tests.corpus import written_novel
from tests.judge_conflicts import Score
from tests.unit.evidence.test_conflicts import judged
from tests.unit.extractive.conftest import run_glossary

OFTEN = 5  # mentions from which on a character must be found


@dataclass(frozen=True, kw_only=True)
class Names:
    """What a glossary has of a novel's characters."""

    known: int  # characters with five mentions or more
    found: int
    exact: int  # of those found: counted within 2 %
    confusable: int  # pairs of names that look alike, both found
    confused: tuple[tuple[str, str], ...]  # of these: merged
    stated: int  # aliases that the novel states
    joined: int  # of these: with their own character
    foreign: tuple[str, ...]  # characters that an alias of another joined

    def missed(self) -> list[str]:
        """The bounds that are not met."""
        bounds = {
            "recall of names 0.95": self.found >= 0.95 * self.known,
            "counts within 2 %": self.exact == self.found,
            "confusable names apart": not self.confused,
            "stated aliases 0.95": self.joined >= 0.95 * self.stated,
            "no alias of another": not self.foreign,
            "something to count": min(self.known, self.stated, self.confusable) > 0,
        }
        return [name for name, met in bounds.items() if not met]


def names_of(folder: Path, language: str) -> Names:
    """The names of a novel in a folder, judged: each chapter is a chunk.

    A chapter that the novel has twice is read once, for the truth file counts its mentions once.
    """
    text = (folder / f"webnovel_{language}.txt").read_text(encoding="utf-8")
    truth = orjson.loads((folder / f"webnovel_{language}.truth.json").read_bytes())
    starts = [0, *(chapter["offset"] for chapter in truth["chapters"][1:])]
    ends = [*starts[1:], len(text)]
    outputs = [
        extract(text[start:end]).value
        for chapter, start, end in zip(truth["chapters"], starts, ends, strict=True)
        if "duplicate" not in chapter["flags"]
    ]
    # Each name's own mentions, before what the novel states of aliases joins any.
    plain = _by_name(run_glossary([{"items": output["items"]} for output in outputs]))
    joined = _by_name(run_glossary(outputs))
    people = truth["characters"]
    counts = {one["name"]: sum(number for _, number in one["mentions"].get(one["name"], [])) for one in people}
    known = {name: count for name, count in counts.items() if count >= OFTEN}
    found = {name: count for name, count in known.items() if name in plain}
    exact = [name for name, count in found.items() if abs(plain[name].count - count) <= 0.02 * count]
    apart = [(one["name"], other) for one in people for other in one["confusable_with"]]
    apart = [pair for pair in apart if found.keys() >= set(pair)]
    stated = [(one["name"], alias["alias"].removeprefix("the ")) for one in people for alias in one["aliases"]]
    return Names(
        known=len(known),
        found=len(found),
        exact=len(exact),
        confusable=len(apart),
        confused=tuple(pair for pair in apart if joined[pair[0]] is joined[pair[1]]),
        stated=len(stated),
        joined=sum(alias in joined and joined[alias] is joined.get(name) for name, alias in stated),
        foreign=tuple(_foreign(people, joined, plain)),
    )


def _by_name(entries: Sequence[Entry]) -> dict[str, Entry]:
    return {name: entry for entry in entries for name in (entry.name, *entry.aliases)}


def _foreign(people: Sequence[Json], joined: dict[str, Entry], plain: dict[str, Entry]) -> list[str]:
    """Characters whose entry has a name of another."""
    wrong = []
    for one in people:
        entry = joined.get(one["name"], plain.get(one["name"]))
        others = {name for other in people if other is not one for name in other["mentions"]}
        if entry is not None and others & {entry.name, *entry.aliases}:
            wrong.append(one["name"])
    return wrong


def rows(folder: Path, language: str, chapters: int) -> tuple[list[str], list[str]]:
    """(cells of the table's row, bounds that are missed) of one novel, which is written into the folder."""
    written_novel(folder, language, chapters)
    names = names_of(folder, language)
    found: Score = judged(folder, language, seed=1)
    missed = names.missed()
    try:
        found.check()
    except AssertionError as error:
        missed.append(str(error).splitlines()[0])
    cells = [
        language,
        f"{chapters:,}",
        f"{names.found}/{names.known}",
        f"{names.exact}/{names.found}",
        f"{len(names.confused)}/{names.confusable}",
        f"{names.joined}/{names.stated}",
        f"{found.aliases_right}/{found.aliases_stated}",
        str(found.aliases_wrong),
        f"{found.reveals_right}/{found.aliases_right}",
        f"{len(found.found & found.findable)}/{len(found.findable)} of {len(found.planted)}",
        f"{found.precision:.3f}",
        str(len(found.explained)),
    ]
    return cells, missed


HEAD = (
    "", "chapters", "names", "within 2 %", "confused", "aliases", "with noise", "wrong", "reveal", "contradictions",
    "precision", "explained",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chapters", type=int, nargs="+", default=[400, 4232])
    parser.add_argument("--languages", nargs="+", default=["zh", "en"], choices=("zh", "en"))
    options = parser.parse_args(arguments)
    table: list[Sequence[str]] = [HEAD]
    every: list[str] = []
    for chapters in options.chapters:
        for language in options.languages:
            with tempfile.TemporaryDirectory() as folder:
                cells, missed = rows(Path(folder), language, chapters)
            table.append(cells)
            every += [f"{language} {chapters}: {what}" for what in missed]
    widths = [max(len(row[at]) for row in table) for at in range(len(HEAD))]
    for row in table:
        sys.stdout.write("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + "\n")
    sys.stdout.writelines(f"missed: {what}\n" for what in every)
    return 1 if every else 0


if __name__ == "__main__":
    sys.exit(main())
