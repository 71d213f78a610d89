"""The engine beside its rivals, interleaved in one run; ends with exit code 1 when a required bound is missed.

    python -m benchmarks.engine [BOOK] [--long BOOK] [--pieces 5000] [--long-pieces 50000] [--rounds 3] [--dbos 400]

BOOK is any text. Without one the 4,232-chapter novel is generated, and a longer one for --long, where the generator
stands beside the project. Every contestant gets the same pieces, cut once by Octavo's own splitter (800 characters),
and does the same call to each, 32 in flight, in a process of its own: nothing, or 20 ms at an HTTP stub. Figures are
medians over the rounds; ratios are taken within a round. Rounds are added, up to three times as many, while a bound is
missed and the machine is busy with other work.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from benchmarks.engine.book import CHAPTERS, GENERATOR, beginning, generate
from benchmarks.engine.bounds import Bound, Measured, engine_bounds, long_bounds, median, rate
from benchmarks.engine.calls import PORT
from benchmarks.engine.stub import LATENCY_S

LONG_SIZE = 8.0  # chapters of that many times the usual length: 60,000 pieces
CONTESTANTS = ("floor", "diskcache", "octavo")


def main() -> int:
    """Run it; gives the exit code."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as name, _stub():
        folder = Path(name)
        book = folder / "book.txt"
        source = options.book or generate(folder / "novel", chapters=CHAPTERS, seed=1, size=1.0)
        count = beginning(source, book, options.pieces)
        print(f"{source.name}: {count:,} pieces, calls of {LATENCY_S * 1000:.0f} ms, {os.cpu_count()} cores")
        found, bounds = _short(options, folder, book)
        long = options.long or (None if options.book else generate(folder / "long", CHAPTERS, seed=2, size=LONG_SIZE))
        if long and options.long_pieces:
            beginning(long, folder / "long.txt", options.long_pieces)
            measured = _child(folder, folder / "long.txt", "long", "http")
            bounds += long_bounds(measured, _median_rate(found["octavo", "http"]))
        _table(found)
    for bound in bounds:
        print(bound.line())
    return 0 if all(bound.met for bound in bounds) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.engine", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("book", nargs="?", type=Path)
    parser.add_argument("--long", type=Path, help="a book of at least --long-pieces pieces")
    parser.add_argument("--pieces", type=int, default=5000)
    parser.add_argument("--long-pieces", type=int, default=50_000, help="0 leaves the long book out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dbos", type=int, default=400, help="pieces for DBOS, which is slow; 0 leaves it out")
    options = parser.parse_args()
    if options.book is None and not GENERATOR.exists():
        parser.error("name a BOOK: the generator of the novel does not stand beside the project")
    return options


Found = defaultdict[tuple[str, str], list[Measured]]


def _short(options: argparse.Namespace, folder: Path, book: Path) -> tuple[Found, list[Bound]]:
    found: Found = defaultdict(list)
    names = [name for name in CONTESTANTS if name in ("floor", "octavo") or find_spec(name)]
    for name in sorted(set(CONTESTANTS) - set(names)):
        print(f"{name} is not installed: left out (pip install 'octavo[bench]')")
    edits = _child(folder, book, "octavo-edits", "http")
    for number in range(options.rounds * 3):
        for kind in ("http", "noop"):
            for name in names:
                found[name, kind].append(_child(folder, book, name, kind))
        bounds = engine_bounds(found["floor", "http"], found["octavo", "http"], found["octavo", "noop"], edits)
        busy = os.getloadavg()[0]
        print(f"round {number + 1}: load {busy:.1f}", flush=True)
        if number + 1 >= options.rounds and (all(bound.met for bound in bounds) or busy < (os.cpu_count() or 1)):
            break
    if options.dbos and find_spec("dbos"):
        for kind in ("http", "noop"):
            found["dbos", kind].append(_child(folder, book, "dbos", kind, options.dbos))
    else:
        print("dbos is left out")
    return found, bounds


def _child(folder: Path, book: Path, name: str, kind: str, most: int = sys.maxsize) -> Measured:
    """One contestant's run over a copy of the book, in a process and a state folder of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as state:
        own = Path(state) / "book.txt"
        shutil.copy(book, own)
        command = [sys.executable, "-m", "benchmarks.engine.child", name, kind, str(own), state, str(most)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=900)
        measured: Measured = json.loads(done.stdout.splitlines()[-1])
        return measured


@contextmanager
def _stub() -> Iterator[None]:
    """The stub in its own process; its port stands in the environment of the children."""
    with subprocess.Popen([sys.executable, "-m", "benchmarks.engine.stub"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        os.environ[PORT] = process.stdout.readline().decode().strip()
        try:
            yield
        finally:
            process.terminate()


def _median_rate(rounds: list[Measured]) -> float:
    return sorted(rate(found["cold"]) for found in rounds)[len(rounds) // 2]


def _table(found: Found) -> None:
    print(f"{'':10} {'no-op/s':>9} {'HTTP/s':>8} {'HTTP s':>7} {'CPU s':>6} {'ms/chunk':>9} {'RSS MB':>7}")
    for name in ("floor", "diskcache", "dbos", "octavo"):
        http, noop = found.get((name, "http"), []), found.get((name, "noop"), [])
        if not http:
            continue
        cpu, chunks = median(http, "cold", "cpu"), median(http, "cold", "chunks")
        scaled = "" if name != "dbos" else f"   ({chunks:,.0f} pieces only)"
        print(
            f"{name:10} {_median_rate(noop):9,.0f} {_median_rate(http):8,.0f} {median(http, 'cold', 'wall'):7.2f} "
            f"{cpu:6.2f} {cpu / chunks * 1000:9.3f} {median(http, 'cold', 'resident'):7.0f}{scaled}"
        )


if __name__ == "__main__":
    sys.exit(main())
