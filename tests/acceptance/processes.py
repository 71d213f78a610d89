"""Real `octavo` processes over a generated book, with ops that write down each call they get."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.distributed.fleet import Fleet

OPS = """
import hashlib, json, os, time
from octavo import OpOutput, Span, map_op, reduce_op

def note(kind, what):
    line = f"{kind} {hashlib.sha256(what.encode()).hexdigest()}\\n".encode()
    handle = os.open(os.environ["CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, line)
    os.close(handle)

@map_op(version=1)
def first_words(text, pause_ms=8):
    note("map", text)
    time.sleep(float(os.environ.get("PAUSE_S", pause_ms / 1000)))
    words = text.split()[:6]
    return OpOutput(value={"words": words, "items": words}, spans=(Span(item=0, start=0, end=min(9, len(text))),))

@reduce_op(version=1)
def join_words(children, pause_ms=20):
    note("fold", json.dumps(children))
    time.sleep(pause_ms / 1000)
    return {"words": [word for child in children for word in child["words"]][:12]}

@reduce_op(version=1, key=lambda item: item.casefold())
def count_words(items, pause_ms=3):
    note("merge", items[0].casefold())
    time.sleep(pause_ms / 1000)
    return len(items)
"""

PIPELINE = """
name = "{name}"
[grain]
limit = {limit}
[[step]]
name = "map"
kind = "map"
op = "first_words"
[[step]]
name = "reduce"
kind = "{kind}"
op = "{op}"
"""

REDUCES = {"summary": ("fold", "join_words"), "glossary": ("merge", "count_words")}


def generated_book(chapters: int, paragraphs: int) -> str:
    """A book whose paragraphs all differ."""
    parts = []
    for chapter in range(1, chapters + 1):
        parts.append(f"Chapter {chapter}\n\n")
        for at in range(paragraphs):
            number = chapter * 1000 + at
            parts.append(
                f"The {number % 97}th lamp of house {number} was lit by keeper {number % 31} at hour {number % 24}, "
                f"and the ferry {number * 7 % 1009} took {number % 13} barrels of salt to the far bank.\n\n"
            )
    return "".join(parts)


@dataclass
class Desk:
    """A folder with a book, ops and a state of its own."""

    folder: Path
    pipeline: str
    book: Path
    fleet: Fleet | None = None  # whose workers do its jobs; None: the process itself does

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def calls_file(self) -> Path:
        return self.folder / "calls"

    def hexed(self, column: str) -> str:
        """SQL for the hexadecimal digits of a column of bytes."""
        return f"hex({column})" if self.fleet is None else f"upper(encode({column}, 'hex'))"

    @property
    def told(self) -> dict[str, str]:
        """What this desk's processes, workers too, are told of its ops."""
        return {"CALLS": str(self.calls_file), "OCTAVO_OPS": "desk_ops", "OCTAVO_TOKENIZER": "characters"}

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start `octavo COMMAND` with this desk's state and ops."""
        environ = os.environ | {
            "OCTAVO_STATE": str(self.state),
            "OCTAVO_LEASE_S": "3600",  # who waited for a dead process's leases would wait for an hour
        }
        if self.fleet is not None:
            environ = self.fleet.environment()
        environ |= self.told
        return subprocess.Popen(
            [sys.executable, "-c", "from octavo.cli.main import main; main()", *command],
            cwd=self.folder, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip

    def start_run(self, *more: str) -> subprocess.Popen[bytes]:
        """Start the run of this desk's pipeline over its book."""
        return self.start("run", str(self.book), "-p", self.pipeline, "--json", *more)

    def finish(self, process: subprocess.Popen[bytes], timeout_s: float = 90) -> bytes:
        """What a process printed; it must end well."""
        try:
            out, told = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            out, told = process.communicate()
            raise AssertionError(f"did not end: {told.decode()[-2000:]}") from None
        assert process.returncode == 0, told.decode()[-2000:]
        return out

    def run(self) -> dict[str, object]:
        """Run to the end."""
        return json.loads(self.finish(self.start_run()))

    def export(self) -> bytes:
        """The canonical export of the last job."""
        return self.finish(self.start("export", "last", "--canonical"))

    def calls(self, kind: str) -> Counter[str]:
        """How often an op was called, by its input."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        return Counter(line.split()[1] for line in lines if line.startswith(kind + " "))

    def ask(self, question: str, *values: object) -> list[tuple[object, ...]]:
        """Rows of the state's database as it stands; none before there is one."""
        if self.fleet is not None:
            return self.fleet.ask(question)
        path = self.state / "octavo.db"
        if not path.exists():
            return []
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
        try:
            return connection.execute(question, values).fetchall()
        except sqlite3.OperationalError:
            return []  # being made just now
        finally:
            connection.close()


def make_desk(
    folder: Path,
    pipeline: str,
    *,
    chapters: int,
    paragraphs: int,
    limit: int,
    text: str | None = None,
    fleet: Fleet | None = None,
) -> Desk:
    """Lay out a desk. The same numbers give the same book. The workers of a fleet are to be started in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "desk_ops.py").write_text(OPS)
    kind, op = REDUCES[pipeline]
    (folder / f"{pipeline}.toml").write_text(PIPELINE.format(name=pipeline, limit=limit, kind=kind, op=op))
    book = folder / "book.txt"
    book.write_text(generated_book(chapters, paragraphs) if text is None else text)
    return Desk(folder, f"{pipeline}.toml", book, fleet)


def kill_when(process: subprocess.Popen[bytes], condition: Callable[[], bool], timeout_s: float = 60) -> bool:
    """Kill a process the moment a condition holds; False when it ended before."""
    deadline = time.monotonic() + timeout_s
    while process.poll() is None and not condition():
        assert time.monotonic() < deadline, "the moment to kill at never came"
        time.sleep(0.001)  # a poll, not a wait: the moment must not be missed
    ended = process.poll() is not None
    if not ended:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return not ended
