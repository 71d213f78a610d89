"""What pages cost, over a job of 50,000 chunks and a library of 10,000 documents; and what 50 viewers cost.

    python -m benchmarks.faces [--chunks 50000] [--documents 10000] [--times 30] [--seconds 60] [--keep DIR]

The library is brought in and the job worked on by Octavo itself. A server of its own process answers over loopback;
each page is asked for `--times` times after one that is told apart (first), and its p50, p95 and bytes are printed.
`--keep` makes the library in a folder and leaves it there; when it is there already, it is measured again.
Then 50 viewers watch a second job for `--seconds`, and the memory of the server is read before, during and after.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID

from benchmarks.distributed.servers import servers
from benchmarks.faces.library import SPEC, Library, begin, build, open_library, work
from benchmarks.faces.pages import pages_of
from db import migrate
from pipeline.settings import Settings
from pipeline.spec import GrainSpec, parse
from workers.faces.begin import as_it_stands
from workers.runtime import Runtime

VIEWERS = 50
LIMIT_MS = 200
LIMIT_BYTES = 150_000


@contextmanager
def serving(folder: Path, url: str | None) -> Iterator[tuple[int, str, subprocess.Popen[str]]]:
    """`octavo web` over the library: its port, a token, its process."""
    token = secrets.token_urlsafe(32)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OCTAVO_")}
    environ = plain | {
        "OCTAVO_STATE": str(folder / "state"),
        "OCTAVO_WEB_TOKEN": token,
        "OCTAVO_TOKENIZER": "characters",
    }
    environ |= {"OCTAVO_DATABASE_URL": url} if url else {}
    command = [sys.executable, "-c", "from octavo.cli.main import main; main()", "web", "--port", "0"]
    command += ["--ops", "benchmarks.faces.ops"]
    child = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    found = None
    while found is None:
        line = child.stderr.readline()
        if not line:
            raise SystemExit("octavo web did not start")
        found = re.search(r":(\d+)/enter", line)
    threading.Thread(target=child.stderr.read, daemon=True).start()
    try:
        Asker(int(found[1]), token).ask("/health")  # it has started
        yield int(found[1]), token, child
    finally:
        child.terminate()
        child.wait(60)


class Asker:
    """One connection that is kept, as a browser keeps it."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "text/html"}

    def ask(self, path: str) -> tuple[float, int]:
        """(milliseconds, bytes) of a page. It must be good."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        took = (time.perf_counter() - began) * 1000
        if answer.status not in (200, 303):
            raise SystemExit(f"{path}: {answer.status} {body[:300]!r}")
        return took, len(body)


def memory_mb(pid: int) -> float:
    """Resident memory of a process, in megabytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else 0.0


def measure(asker: Asker, pages: dict[str, str], times: int) -> list[tuple[str, float, float, float, int]]:
    """(name, first, p50, p95, bytes) of each page."""
    rows = []
    for name, path in pages.items():
        first, size = asker.ask(path)
        took = sorted(asker.ask(path)[0] for _ in range(times))
        rows.append((name, first, statistics.median(took), took[max(0, len(took) * 95 // 100 - 1)], size))
    return rows


def show(rows: Sequence[tuple[str, float, float, float, int]]) -> None:
    """Print them, the slowest last."""
    print(f"{'page':28} {'first ms':>9} {'p50 ms':>8} {'p95 ms':>8} {'kB':>7}")
    for name, first, middle, high, size in sorted(rows, key=lambda row: row[3]):
        over = " over" if high > LIMIT_MS or size > LIMIT_BYTES else ""
        print(f"{name:28} {first:9.0f} {middle:8.1f} {high:8.1f} {size / 1000:7.1f}{over}")


def watch(port: int, token: str, job: UUID, ending: threading.Event, told: list[int]) -> None:
    """One viewer, until the end."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/v1/jobs/{job}/events", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    while not ending.is_set():
        line = answer.readline()
        if not line:
            break
        if line.startswith(b"id:"):
            told[0] += 1
    connection.close()


def viewers(library: Library, port: int, token: str, pid: int, seconds: int) -> None:
    """50 viewers of a job that goes on, and what they cost."""
    salt = f"attempts = 1\nparams = {{ salt = {int(time.time())} }}"  # no chunk's key is known
    spec = parse(SPEC.replace("attempts = 1", salt).replace('"telling"', '"again"'), "benchmark")
    runtime = Runtime(library.runtime.settings)
    runtime.ops = library.runtime.ops
    with runtime.database.read() as rows:
        document = rows.documents.get(library.book)
    assert document is not None
    item = as_it_stands(runtime.database, document, runtime.cutting(GrainSpec(limit=spec.grain.limit)))
    job = begin(runtime, spec, item)
    ending, told = threading.Event(), [0]
    before = memory_mb(pid)
    watching = [threading.Thread(target=watch, args=(port, token, job.id, ending, told)) for _ in range(VIEWERS)]
    for thread in watching:
        thread.start()
    worker = threading.Thread(target=work, args=(runtime, spec, item), daemon=True)
    worker.start()
    seen = []
    for _ in range(6):
        time.sleep(seconds / 6)
        seen.append(memory_mb(pid))
    ending.set()
    print(
        f"{VIEWERS} viewers for {seconds} s: {told[0]} events sent; server's memory {before:.0f} MB before, then "
        + ", ".join(f"{value:.0f}" for value in seen)
        + " MB"
    )
    runtime.database.close()
    for thread in watching:
        thread.join(40)


def main() -> None:
    """Build, serve, measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--build-only", action="store_true")
    asked = parser.parse_args()
    with ExitStack() as stack:
        folder = asked.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="octavo-faces-")))
        url = stack.enter_context(servers(folder)).database_url if asked.postgres else None
        if url:
            migrate.upgrade(Runtime(Settings(state=folder / "state", database_url=url)).database)
        began = time.perf_counter()
        there = (folder / "state").exists()
        make = open_library if there else build
        library = make(folder, chunks=asked.chunks, documents=asked.documents, url=url)
        built = time.perf_counter() - began
        print(f"{library.documents} documents, a job of {library.chunks} chunks ({library.job.state}); {built:.0f} s")
        if asked.build_only:
            return
        port, token, child = stack.enter_context(serving(folder, url))
        asker = Asker(port, token)
        show(measure(asker, pages_of(library), asked.times))
        viewers(library, port, token, child.pid, asked.seconds)


if __name__ == "__main__":
    main()
