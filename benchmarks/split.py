"""The splitter beside its peers: speed, exactness, and how near it comes to merely counting.

    python benchmarks/split.py --english BOOK … --chinese BOOK … [--tokenizer FILE …] [--limit 160 1000] [--size 10]

A BOOK may end in `:encoding`. Books are joined and, where they are shorter than --size MB of UTF-8, repeated, which is
told: a splitter that keeps counts of pieces (chonkie does) then answers from what it kept. For each text, tokenizer and
limit all splitters run on the same text in turn, --rounds times over, overlap 0; the best CPU and wall time of each
counts. `floor` is counting every character once: encode_batch_fast over blocks of 2,000 characters on two threads. A
chunk is wrong in its count or offsets when an independent count, or the slice of the text, says otherwise. A peer
that is not installed (`pip install octavo[bench]`) is skipped.
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer

from pipeline.split.blocks import bounded
from pipeline.split.grain import Grain, Unit
from pipeline.split.splitter import Splitter
from pipeline.split.tokenizer import BUILT_IN, FileCounter

Found = list[tuple[int, int, str, int | None]]  # start, end, text, claimed tokens


@dataclass
class Best:
    """The best times of one splitter, and what it made."""

    cpu: float = float("inf")
    wall: float = float("inf")
    found: Found | None = None


def octavo(text: str, counter: FileCounter, limit: int) -> Found:
    """This project's blocks and splitter."""
    splitter = Splitter(Grain(name="bench", limit=limit), counter)
    found: Found = []
    base = 0
    units = [Unit(text=block) for block in bounded([text])]
    for unit, pieces in zip(units, splitter.split_many(units), strict=True):
        found.extend((base + p.start, base + p.end, unit.text[p.start : p.end], p.tokens) for p in pieces)
        base += len(unit.text)
    return found


def floor(text: str, counter: FileCounter, _limit: int) -> Found:
    """Counting alone."""
    counter.count_batch([text[at : at + 2_000] for at in range(0, len(text), 2_000)])
    return []


def chonkie(path: Path) -> Callable[[str, FileCounter, int], Found]:
    """chonkie's RecursiveChunker with its default rules."""
    chunker = importlib.import_module("chonkie").RecursiveChunker

    def split(text: str, _counter: FileCounter, limit: int) -> Found:
        made = chunker(tokenizer=Tokenizer.from_file(str(path)), chunk_size=limit)
        return [(chunk.start_index, chunk.end_index, chunk.text, chunk.token_count) for chunk in made(text)]

    return split


def text_splitter(path: Path) -> Callable[[str, FileCounter, int], Found]:
    """semantic-text-splitter, untrimmed as ours is."""
    splitter = importlib.import_module("semantic_text_splitter").TextSplitter

    def split(text: str, _counter: FileCounter, limit: int) -> Found:
        made = splitter.from_huggingface_tokenizer_str(path.read_text("utf-8"), limit, trim=False)
        return [(start, start + len(chunk), chunk, None) for start, chunk in made.chunk_indices(text)]

    return split


def measured(
    run: Callable[[str, FileCounter, int], Found], text: str, counter: FileCounter, limit: int, best: Best
) -> None:
    """Run once; keep the better times."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = run(text, counter, limit)
    best.wall = min(best.wall, time.perf_counter() - wall)
    best.cpu = min(best.cpu, time.process_time() - cpu)
    best.found = found


def report(name: str, best: Best, floor_best: Best, text: str, counter: FileCounter, limit: int) -> None:
    """One line: speed, share of the floor, faults."""
    size = len(text.encode()) / 1e6
    line = f"  {name:22} {size / best.cpu:6.2f} MB/CPU s {size / best.wall:6.2f} MB/s"
    if best.found:
        counts = counter.count_batch([chunk for _, _, chunk, _ in best.found])
        offsets = sum(text[start:end] != chunk for start, end, chunk, _ in best.found)
        wrong = sum(claim not in (None, count) for (_, _, _, claim), count in zip(best.found, counts, strict=True))
        over = sum(count > limit for count in counts)
        line += f"  of the floor {floor_best.cpu / best.cpu:.2f} CPU {floor_best.wall / best.wall:.2f} wall"
        line += f"  chunks {len(counts)} over {over} wrong counts {wrong} wrong offsets {offsets}"
        line += f" fill {sum(counts) / len(counts) / limit:.2f}"
    print(line, flush=True)


def compare(text: str, path: Path, limits: Iterable[int], rounds: int) -> None:
    """All splitters on one text with one tokenizer."""
    counter = FileCounter(path.read_bytes(), path.name)
    runs: dict[str, Callable[[str, FileCounter, int], Found]] = {"floor": floor, "octavo": octavo}
    for name, made in (("chonkie", chonkie), ("semantic-text-splitter", text_splitter)):
        try:
            runs[name] = made(path)
        except ImportError:
            print(f"  {name} is not installed: skipped")
    for limit in limits:
        print(f" limit {limit}", flush=True)
        best = {name: Best() for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                measured(run, text, counter, limit, best[name])
        for name in runs:
            report(name, best[name], best["floor"], text, counter, limit)
        for name in list(runs)[2:]:
            cpu, wall = best[name].cpu / best["octavo"].cpu, best[name].wall / best["octavo"].wall
            print(f"  octavo is {cpu:.2f} times as fast as {name} by CPU time, {wall:.2f} by the clock", flush=True)


def joined(books: Iterable[str], megabytes: float) -> str:
    """The books one after the other, as often as it takes; 0 MB: once."""
    once = ""
    for argument in books:
        path, _, encoding = argument.partition(":")
        once += Path(path).read_bytes().decode(encoding or "utf-8-sig").replace("\r\n", "\n") + "\n\n"
    size = len(once.encode()) / 1e6
    if not megabytes:
        return once
    return (once * (int(megabytes / size) + 1)).encode()[: int(megabytes * 1e6)].decode(errors="ignore")


def main() -> None:
    """Read the books and compare."""
    parser = argparse.ArgumentParser(description="The splitter beside its peers.")
    parser.add_argument("--english", nargs="+", default=[], metavar="BOOK")
    parser.add_argument("--chinese", nargs="+", default=[], metavar="BOOK")
    parser.add_argument("--tokenizer", nargs="+", type=Path, default=[], help="more tokenizer.json files")
    parser.add_argument("--limit", nargs="+", type=int, default=[160, 1000])
    parser.add_argument("--size", type=float, default=10, help="MB of each text")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    for language, books in (("English", options.english), ("Chinese", options.chinese)):
        text = joined(books, options.size) if books else ""
        for path in [BUILT_IN, *options.tokenizer] if text else []:
            size, own = len(text.encode()) / 1e6, len(joined(books, 0).encode()) / 1e6
            told = f", {own:.1f} MB repeated" if size > own else ""
            print(f"{language}, {size:.1f} MB{told}, {path.parent.name}/{path.name}", flush=True)
            compare(text, path, options.limit, options.rounds)


if __name__ == "__main__":
    main()
