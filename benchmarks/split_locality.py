"""How far an edit reaches: put a paragraph into random places of a book without headings, and see which chunks change.

    python benchmarks/split_locality.py BOOK [BOOK …] [--limit 1000] [--trials 200] [--seed 1] [--size 10]
                                        [--encoding …] [--edit word|sentence] [--chapters]

The books are joined (and repeated, each time with other words at the paragraph starts, up to --size MB), chapter lines
are taken out, and the text goes through blocks and splitter as an ingest would do it: blocks that did not change are
not split again. With --chapters their lines stay, and each begins a unit. With --edit word a word becomes another one
of the book, with --edit sentence a sentence of it is put behind another. Printed: mean fill (tokens per chunk / limit),
the number of chunks of the edited text that the text before did not have (median, 95th percentile, most), and how many
edits changed more than one.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pipeline.split.blocks import bounded
from pipeline.split.grain import Grain, Unit
from pipeline.split.splitter import Splitter
from pipeline.split.tokenizer import load_counter

CHAPTER = re.compile(r"(?im)^[^\S\n]*(?:(?:chapter|book|part|epilogue)\b[^\n]{0,60}|第.{1,9}[章回节卷][^\n]{0,60})\n")
PARAGRAPH_START = re.compile(r"\n(?:[^\S\n]*\n)+(?=[^\n]{20})")
LINE_START = re.compile(r"\n(?=[^\n]{20})")
# A word within a sentence; a sentence with another before it.
WORD = re.compile(r"(?<=[a-z] )[a-z]+(?= [a-z])|(?<=[一-鿿])[一-鿿]{2}(?=[一-鿿])")
SENTENCE = re.compile(r"(?<=[.!?] )[A-Z][^.!?\n]*[.!?] |(?<=[。！？])[一-鿿][^。！？\n“”]*[。！？]")
TRIES = 1000  # of random places, before a text is said to have none of what is looked for


def book(paths: Sequence[Path], encoding: str, megabytes: float, *, chapters: bool) -> str:
    """One text of that many UTF-8 megabytes, with or without its chapter lines."""
    once = "\n\n".join(path.read_bytes().decode(encoding).replace("\r\n", "\n") for path in paths)
    once = once if chapters else CHAPTER.sub("\n", once)
    text, copy = once, 1
    while len(text.encode()) < megabytes * 1e6:
        copy += 1
        text += PARAGRAPH_START.sub(lambda found, mark=copy: f"{found.group()}[{mark}] ", once)
    return text.encode()[: int(megabytes * 1e6)].decode(errors="ignore")


class Chunks:
    """Splits units, keeping what is known of blocks seen before."""

    def __init__(self, splitter: Splitter) -> None:
        self._splitter = splitter
        self._blocks: dict[str, list[tuple[str, int]]] = {}

    def of(self, units: Sequence[str]) -> list[tuple[str, int]]:
        """Each chunk's text and tokens."""
        blocks = [block for unit in units for block in bounded([unit])]
        new = [block for block in blocks if block not in self._blocks]
        for block, pieces in zip(new, self._splitter.split_many(Unit(text=block) for block in new), strict=True):
            self._blocks[block] = [(block[piece.start : piece.end], piece.tokens) for piece in pieces]
        return [chunk for block in blocks for chunk in self._blocks[block]]


@dataclass(frozen=True, slots=True)
class Edit:
    """What stands between two offsets of a text becomes another text."""

    start: int
    end: int
    new: str


def paragraph(text: str, places: Sequence[re.Match[str]], rng: random.Random) -> Edit:
    """One more paragraph, its words those of another in another order."""
    there = rng.choice(places)
    other = rng.randrange(len(places) - 1)
    words = text[places[other].end() : places[other + 1].start()].split(" ")
    rng.shuffle(words)
    return Edit(there.end(), there.end(), " ".join(words) + there.group())


def two(text: str, pattern: re.Pattern[str], rng: random.Random) -> tuple[re.Match[str], re.Match[str]]:
    """Two that are not alike, each the next one behind a random place; the first in no heading."""
    for _ in range(TRIES):
        here, other = (pattern.search(text, rng.randrange(len(text))) for _ in range(2))
        line = text.rfind("\n", 0, here.start()) + 1 if here else 0
        if here and other and here[0] != other[0] and not CHAPTER.match(text, line):
            return here, other
    raise SystemExit("The text has no two words or sentences to exchange.")


def word(text: str, rng: random.Random) -> Edit:
    """One word for another one of the text; headings keep theirs."""
    here, other = two(text, WORD, rng)
    return Edit(here.start(), here.end(), other[0])


def sentence(text: str, rng: random.Random) -> Edit:
    """One more sentence of the book, behind another within a paragraph."""
    here, other = two(text, SENTENCE, rng)
    return Edit(here.end(), here.end(), other[0])


def main() -> None:
    """Read the books, insert, print."""
    parser = argparse.ArgumentParser(
        description="Chunks changed by one inserted paragraph or sentence, or one changed word."
    )
    parser.add_argument("books", nargs="+", type=Path)
    parser.add_argument("--encoding", default="utf-8-sig")
    parser.add_argument("--limit", type=int, nargs="+", default=[1000])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=float, default=10, help="MB of UTF-8")
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--join-lines", action="store_true", help="one line a paragraph, no blank lines")
    parser.add_argument("--edit", choices=("paragraph", "sentence", "word"), default="paragraph")
    parser.add_argument("--chapters", action="store_true", help="keep the chapter lines: each begins a unit")
    options = parser.parse_args()
    text = book(options.books, options.encoding, options.size, chapters=options.chapters)
    if options.join_lines:
        text = re.sub(r"\n{2,}", "\n", re.sub(r"(?<=[^\n])\n(?=[^\n])", " ", text))
    places = list((LINE_START if options.join_lines else PARAGRAPH_START).finditer(text))
    starts = [0, *(found.start() for found in CHAPTER.finditer(text) if found.start() and options.chapters)]
    units = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    edits = {"word": word, "sentence": sentence, "paragraph": lambda text, rng: paragraph(text, places, rng)}
    for limit in options.limit:
        started = time.perf_counter()
        chunks = Chunks(Splitter(Grain(name="bench", limit=limit), load_counter(options.tokenizer)))
        whole = chunks.of(units)
        known = {chunk for chunk, _ in whole}
        rng = random.Random(options.seed)
        changed = []
        for _ in range(options.trials):
            edit = edits[options.edit](text, rng)
            at = bisect_right(starts, edit.start) - 1
            unit, start = units[at], starts[at]
            new = unit[: edit.start - start] + edit.new + unit[edit.end - start :]
            changed.append(sum(chunk not in known for chunk, _ in chunks.of([new])))
        changed.sort()
        fill = statistics.mean(tokens for _, tokens in whole) / limit
        print(
            f"limit {limit}: {len(whole)} chunks, fill {fill:.3f}, over {sum(t > limit for _, t in whole)}; changed: "
            f"median {changed[len(changed) // 2]}, p95 {changed[int(len(changed) * 0.95)]}, max {changed[-1]}, "
            f"mean {statistics.mean(changed):.2f}; {sum(new > 1 for new in changed)} of {options.trials} more than one "
            f"({time.perf_counter() - started:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
