"""One contestant's run in a process of its own: `python -m benchmarks.engine.child WHAT KIND BOOK FOLDER [PIECES]`.

Prints one JSON object. Imports and the cutting of the book are over before a clock starts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.engine.book import pieces_of, with_paragraph
from benchmarks.engine.calls import KINDS
from benchmarks.engine.memory import resident_mb
from benchmarks.engine.octavo_side import Trail, run
from benchmarks.engine.rivals import RIVALS


def rival(name: str, kind: str, book: Path, folder: Path, most: int) -> dict[str, object]:
    """A contestant that is given the pieces."""
    pieces = pieces_of(book)[:most]
    taken = RIVALS[name](KINDS[kind], pieces, folder)
    return {"cold": taken | {"chunks": len(pieces), "resident": resident_mb()}}


def octavo(kind: str, book: Path, folder: Path, *, edits: bool) -> dict[str, object]:
    """Octavo: a first run and a second; with `edits` also A→B→A and a paragraph more."""
    found: dict[str, object] = {"cold": run(book, folder, kind), "warm": run(book, folder, kind)}
    if edits:
        found["other_prompt"] = run(book, folder, kind, prompt="B")
        found["back"] = run(book, folder, kind)
        with_paragraph(book, book)
        found["insert"] = run(book, folder, kind)
    return found


def long(kind: str, book: Path, folder: Path) -> dict[str, object]:
    """Octavo on a long book: the trail of its first run, and a second."""
    trail = Trail()
    return {"cold": run(book, folder, kind, trail=trail), "trail": trail.points, "warm": run(book, folder, kind)}


def main() -> None:
    """Run what the command line names."""
    what, kind, book, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    folder.mkdir(exist_ok=True)
    if what == "long":
        found = long(kind, book, folder)
    elif what.startswith("octavo"):
        found = octavo(kind, book, folder, edits=what == "octavo-edits")
    else:
        found = rival(what, kind, book, folder, int(sys.argv[5]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
