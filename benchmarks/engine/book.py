"""The books that are cut: the generated novel, or any text; its beginning, and it with one paragraph more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pipeline.read import registry
from pipeline.read.reading import ReadOptions
from pipeline.read.sources import FileSource
from pipeline.split.grain import Grain
from pipeline.split.splitter import Splitter
from pipeline.split.tokenizer import load_counter
from workers.ingest.units import units

LIMIT = 800  # characters
CHAPTERS = 4_232
GENERATOR = Path(__file__).resolve().parents[2] / ".." / "shared" / "corpus" / "make_webnovel.py"
PARAGRAPH = "A paragraph that was not there before: it speaks of nothing in the book, and is put into its middle.\n"


def generate(folder: Path, chapters: int, seed: int, size: float) -> Path:
    """Make a novel whose chapters are `size` times as long as usual. The generator stands beside the project."""
    command = [sys.executable, str(GENERATOR), "--chapters", str(chapters), "--seed", str(seed), "--size", str(size)]
    subprocess.run([*command, "--out", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.txt"))


def beginning(source: Path, target: Path, wanted: int) -> int:
    """Write as much of a book, in whole units, as gives `wanted` pieces or a few more; gives how many it gave."""
    count = 0
    with target.open("w", encoding="utf-8", newline="") as out:
        for text, pieces in _cut(source):
            out.write(text)
            count += len(pieces)
            if count >= wanted:
                break
    return count


def pieces_of(path: Path) -> list[str]:
    """The pieces of a book, as Octavo's own splitter cuts it for every contestant."""
    return [piece for _, pieces in _cut(path) for piece in pieces]


def with_paragraph(source: Path, target: Path) -> None:
    """Copy a book with one paragraph more, between two lines near its middle."""
    text = source.read_text(encoding="utf-8")
    at = text.index("\n", len(text) // 2) + 1
    target.write_text(text[:at] + PARAGRAPH + text[at:], encoding="utf-8")


def _cut(path: Path) -> Iterator[tuple[str, list[str]]]:
    grain = Grain(name="bench", limit=LIMIT)
    reading = registry.read(FileSource(path), ReadOptions(encoding="utf-8"))
    splitter = Splitter(grain, load_counter("characters"))
    for placed in units(reading.blocks(), reading.sections, grain):
        text = placed.unit.text
        yield text, [text[piece.start : piece.end] for piece in splitter.split(placed.unit)]
