"""What a change costs, side by side with LlamaIndex, LangChain and CocoIndex: op calls and seconds.

    python -m benchmarks.incremental [BOOK] [--pieces 2000] [--rivals PYTHON]

BOOK is any text; without one the 4,232-chapter novel is generated, where its generator stands beside the project. The
rivals stand in a virtual environment of their own (requirements.txt beside this file), which is made on the first run.
Every contestant does the same op, a call of 20 ms, 32 in flight, to the same pieces; they are Octavo's chunks, which is
generous to the others: their own splitters count from the start. Octavo alone also reads, splits and aligns the book in
its seconds. The rows: cold; warm; one word; one inserted paragraph; prompt A → B → A (the third run); killed at half
(-9) and run again (calls made again). Each run is a process of its own; its start and imports are not in its seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.engine.book import CHAPTERS, GENERATOR, generate
from benchmarks.incremental.rival import RIVALS
from pipeline.settings import Settings
from pipeline.spec import GrainSpec
from workers.ingest.preview import preview_chunks
from workers.runtime import Runtime

HERE = Path(__file__).parent
VENV = Path.home() / ".cache" / "octavo-bench" / "incremental"
CONTESTANTS = ("octavo", *RIVALS)
RUN_S = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Book:
    """A text as a file, and its chunks."""

    text: Path
    pieces: Path
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """Calls of the op, and seconds."""

    calls: int
    seconds: float


class Contestant:
    """One system with a state of its own."""

    def __init__(self, name: str, folder: Path, python: str) -> None:
        self.name = name
        self._folder = folder
        self._python = python
        (folder / "state").mkdir(parents=True)

    def _command(self, book: Book, prompt: str) -> list[str]:
        state, log = str(self._folder / "state"), str(self._folder / "log")
        if self.name == "octavo":
            # One path for all texts of a contestant: an edit is one of the same file.
            own = self._folder / "book.txt"
            shutil.copy(book.text, own)
            return [sys.executable, "-m", "benchmarks.incremental.octavo_side", str(own), state, log, prompt]
        return [self._python, str(HERE / "rival.py"), self.name, str(book.pieces), state, log, prompt]

    def calls(self) -> int:
        """Calls that were made so far."""
        log = self._folder / "log"
        return log.stat().st_size if log.exists() else 0

    def run(self, book: Book, prompt: str = "A") -> Cost:
        """Bring the state up to date with the book."""
        before = self.calls()
        ended = subprocess.run(
            self._command(book, prompt), capture_output=True, text=True, timeout=RUN_S, env=_environment(), check=False
        )
        if ended.returncode:
            raise SystemExit(f"{self.name} ended with {ended.returncode}: {ended.stderr[-2000:]}")
        seconds = json.loads(ended.stdout.splitlines()[-1])["seconds"]
        return Cost(calls=self.calls() - before, seconds=seconds)

    def killed_at_half(self, book: Book) -> None:
        """Run until half of the calls were made, then kill -9."""
        process = subprocess.Popen(
            self._command(book, "A"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment()
        )
        deadline = time.monotonic() + RUN_S
        while self.calls() < book.count // 2 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
        process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "COCOINDEX_DISABLE_USAGE_TRACKING": "1", "ANONYMIZED_TELEMETRY": "false"}


def rivals_python(given: str | None) -> str:
    """The Python that has the rivals; its environment is made where it is not there."""
    if given:
        return given
    python = VENV / "bin" / "python"
    if not python.exists():
        print(f"installing the rivals into {VENV} …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "-r", str(HERE / "requirements.txt")]
        subprocess.run(install, check=True)
    return str(python)


def books(source: Path, pieces: int, folder: Path) -> dict[str, Book]:
    """The first so many pieces of a text, and the same with a word replaced, and with a paragraph inserted."""
    whole = source.read_text(encoding="utf-8-sig")
    first = cut(whole, folder, "first")
    chunks = json.loads(first.pieces.read_text())[:pieces]
    text = "".join(chunks)
    middle = text.index("\n\n", len(text) // 2) + 2
    word = text[:middle] + "Lo" + text[middle + 1 :]
    paragraph = (
        f"{text[:middle]}Late that night a lamp was lit on the pier, and nobody saw who did it.\n\n{text[middle:]}"
    )
    return {name: cut(made, folder, name) for name, made in (("whole", text), ("word", word), ("paragraph", paragraph))}


def cut(text: str, folder: Path, name: str) -> Book:
    """A text as a file, and its chunks beside it."""
    path = folder / f"{name}.txt"
    path.write_text(text)
    made = Runtime(Settings(state=folder / "cut"))
    chunks = [row["text"] for row in preview_chunks(str(path), made.cutting(GrainSpec()), None)]
    made.close()
    pieces = folder / f"{name}.json"
    pieces.write_text(json.dumps(chunks))
    return Book(text=path, pieces=pieces, count=len(chunks))


def measure(name: str, folder: Path, python: str, texts: dict[str, Book]) -> list[str]:
    """A row of the table."""
    one = Contestant(name, folder / name / "edits", python)
    cold, warm = one.run(texts["whole"]), one.run(texts["whole"])
    word = one.run(texts["word"])
    paragraph = one.run(texts["paragraph"])
    other = Contestant(name, folder / name / "prompts", python)
    other.run(texts["whole"])
    changed = other.run(texts["whole"], "B")
    back = other.run(texts["whole"])
    killed = Contestant(name, folder / name / "killed", python)
    killed.killed_at_half(texts["whole"])
    resumed = killed.run(texts["whole"])
    again = killed.calls() - texts["whole"].count
    return [name, *(f"{cost.calls} / {cost.seconds:.2f}" for cost in (cold, warm, word, paragraph, changed, back)),
            f"{again} / {resumed.seconds:.2f}"]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; gives the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks.incremental", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("book", nargs="?", type=Path)
    parser.add_argument("--pieces", type=int, default=2000)
    parser.add_argument("--rivals", help="the Python of an environment that has requirements.txt")
    parser.add_argument("--only", choices=CONTESTANTS, action="append")
    options = parser.parse_args(arguments)
    if options.book is None and not GENERATOR.exists():
        parser.error("name a BOOK: the generator of the novel does not stand beside the project")
    names = options.only or CONTESTANTS
    python = rivals_python(options.rivals) if set(names) - {"octavo"} else ""
    with tempfile.TemporaryDirectory(prefix="octavo-incremental-") as name:
        folder = Path(name)
        source = options.book or generate(folder / "novel", chapters=CHAPTERS, seed=1, size=1.0)
        texts = books(source, options.pieces, folder)
        print(f"{source.name}: {texts['whole'].count:,} pieces; op calls / seconds", flush=True)
        head = ["", "cold", "warm", "one word", "one paragraph", "prompt B", "back to A", "repeated after kill"]
        print("".join(f"{cell:>20}" for cell in head), flush=True)
        for contestant in names:
            print("".join(f"{cell:>20}" for cell in measure(contestant, folder, python, texts)), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
