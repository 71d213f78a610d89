"""Octavo over Redis and PostgreSQL beside plain Celery and DBOS; ends with exit code 1 when a bound is missed.

    python -m benchmarks.distributed [BOOK] [--pieces 5000] [--rounds 3] [--dbos 300]
        [--memory 50000] [--cost 100000] [--nightly] [--only noop,call,slow,fan,dbos]

Both contestants work over the same Redis, on a pool of 32 threads a process, interleaved; the worker processes of one
idle while the other works. Plain Celery: `acks_late`, a prefetch of one, ignored results, publishing counted. Octavo:
from the job's begin, with the book ingested, to its end: planned, leased, called, checkpointed in PostgreSQL (durable
commits). Ratios are taken within a round, and their medians over the rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from benchmarks.distributed import long
from benchmarks.distributed.calls import PORT
from benchmarks.distributed.fleets import SLOTS, Octavo, Plain, Run, spec
from benchmarks.distributed.servers import Servers, servers
from benchmarks.engine.book import CHAPTERS, GENERATOR, LIMIT, beginning, generate, pieces_of
from benchmarks.engine.bounds import Bound
from db.database import Repositories
from db.values import Step
from pipeline.states import TaskState
from workers.ingest.ingest import Ingested

PARTS = ("noop", "call", "slow", "fan", "dbos")
SLOW_PIECES = 3_200  # 20 s of 200 ms calls in 32 slots
WARM_PIECES = 300
SHORTEST = 4_000  # chunks of the job that a long one's cost is compared with, at least


@dataclass(slots=True)
class Bench:
    """What one run of the benchmark works with, and what it found."""

    options: argparse.Namespace
    servers: Servers
    folder: Path
    octavo: Octavo
    plain: Plain
    documents: list[Ingested]
    pieces: list[str]
    runs: dict[str, list[Run]] = field(default_factory=dict)
    bounds: list[Bound] = field(default_factory=list)
    salt: int = 0

    def ours(self, name: str, op: str, documents: Sequence[Ingested] | None = None, **more: object) -> Run:
        """A run of Octavo. Each has a salt of its own, so that nothing is answered by the memo."""
        self.salt += 1
        pipeline = spec(op, LIMIT, reduce=None, salt=str(self.salt), **more)
        return self.note(name, self.octavo.run(documents or self.documents, pipeline))

    def note(self, name: str, run: Run) -> Run:
        """Keep and show a run."""
        self.runs.setdefault(name, []).append(run)
        print(f"  {name:34} {run.rate:8,.0f}/s  {run.seconds:6.2f} s  load {_load():.1f}", flush=True)
        return run

    def ratio(self, ours: str, theirs: str) -> float:
        """The median over rounds."""
        pairs = zip(self.runs[ours], self.runs[theirs], strict=True)
        return statistics.median(mine.rate / other.rate for mine, other in pairs)


def main() -> int:
    """Run it; gives the exit code."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as name, _stub(), servers(Path(name)) as found:
        folder = Path(name)
        book = folder / "book.txt"
        beginning(options.book or generate(folder / "novel", CHAPTERS, seed=1, size=1.0), book, options.pieces)
        octavo, plain = Octavo(found, folder), Plain(found, folder)
        bench = Bench(options, found, folder, octavo, plain, octavo.ingest(book, LIMIT), pieces_of(book))
        print(f"{len(bench.pieces):,} pieces, {SLOTS} slots a process, {os.cpu_count()} cores, load {_load():.1f}")
        try:
            _run(bench)
        finally:
            octavo.close()
    for bound in bench.bounds:
        print(bound.line())
    return 0 if all(bound.met for bound in bench.bounds) else 1


def _run(bench: Bench) -> None:
    options = bench.options
    if set(options.only) & {"noop", "call", "slow", "fan"}:
        with bench.plain.workers(1), bench.octavo.workers(1):
            _one_process(bench)
    if "noop" in options.only:
        with bench.plain.workers(2), bench.octavo.workers(2):
            _noops(bench, 2)
    if "dbos" in options.only and options.dbos and find_spec("dbos"):
        _dbos(bench)
    if options.memory:
        bench.bounds += long.memory(bench.octavo, bench.folder, bench.servers.redis_url, options.memory)
    if options.cost:
        bench.bounds += long.costs(bench.octavo, bench.folder, max(SHORTEST, options.cost // 100), options.cost)


def _one_process(bench: Bench) -> None:
    if "noop" in bench.options.only:
        _noops(bench, 1)
    if "call" in bench.options.only:
        _warm(bench)
        for _ in range(bench.options.rounds):
            bench.note("Celery, 20 ms calls", bench.plain.calls(bench.pieces, 20))
            bench.ours("Octavo, 20 ms calls", "bench_call", ms=20)
        ratio = bench.ratio("Octavo, 20 ms calls", "Celery, 20 ms calls")
        bench.bounds.append(Bound(what="20 ms calls, 32 slots: rate / plain Celery's", value=ratio, bound=1.0))
    if "slow" in bench.options.only:
        book = bench.folder / "slow.txt"
        beginning(bench.folder / "book.txt", book, min(SLOW_PIECES, bench.options.pieces))
        run = bench.ours("Octavo, 200 ms calls", "bench_call", bench.octavo.ingest(book, LIMIT), ms=200)
        ideal = SLOTS / 0.2
        bench.bounds.append(Bound(what=f"200 ms calls: rate / ideal {ideal:g}/s", value=run.rate / ideal, bound=0.95))
    if "fan" in bench.options.only:
        _fan_in(bench)


def _warm(bench: Bench) -> None:
    """What is done once in a process's life is done before the clocks start, for both."""
    book = bench.folder / f"warm{bench.salt}.txt"
    beginning(bench.folder / "book.txt", book, WARM_PIECES)
    documents = bench.octavo.ingest(book, LIMIT)
    bench.salt += 1
    bench.octavo.run(documents, spec("bench_noop", LIMIT, salt=str(bench.salt)))
    bench.plain.nothing(WARM_PIECES)


def _noops(bench: Bench, processes: int) -> None:
    celery, one, many = (f"{name}, {processes} proc." for name in ("Celery no-op", "Octavo no-op", "Octavo batch op"))
    _warm(bench)
    for _ in range(bench.options.rounds):
        bench.note(celery, bench.plain.nothing(len(bench.pieces)))
        bench.ours(one, "bench_noop")
        bench.ours(many, "bench_quick")
    told = f"{processes} worker process{'es' if processes > 1 else ''}"
    bench.bounds.append(Bound(what=f"no-op, {told}: rate / plain Celery's", value=bench.ratio(one, celery), bound=0.8))
    what = f"no-op with batch, {told}: rate / plain Celery's"
    bench.bounds.append(Bound(what=what, value=bench.ratio(many, celery), bound=2.0))


def _fan_in(bench: Bench) -> None:
    """From the end of the last map to the begin of the first reduce node."""
    bench.salt += 1
    pipeline = spec("bench_words", LIMIT, reduce="bench_count", salt=str(bench.salt))
    run = bench.note("Octavo, map and merge", bench.octavo.run(bench.documents, pipeline))
    with bench.octavo.runtime.database.read() as rows:
        first, second = rows.jobs.steps(run.job_id)[:2]
        waited = min(_times(rows, second, "started_ms")) - max(_times(rows, first, "ended_ms"))
    what = "fan-in: s from the last map to the first reduce"
    bench.bounds.append(Bound(what=what, value=waited / 1000, bound=1.0, at_least=False))


def _times(rows: Repositories, step: Step, name: str) -> Iterator[int]:
    tasks = rows.tasks.page(step.id, states=[TaskState.DONE], limit=sys.maxsize)
    return (getattr(attempt, name) for attempt in rows.attempts.of([task.id for task in tasks]))


def _dbos(bench: Bench) -> None:
    url = bench.servers.another_database("dbos")
    command = [sys.executable, "-m", "benchmarks.distributed.rival", url, str(bench.folder / "book.txt")]
    done = subprocess.run([*command, str(bench.options.dbos)], check=True, stdout=subprocess.PIPE, timeout=600)
    run = bench.note("DBOS on PostgreSQL", Run(chunks=bench.options.dbos, seconds=float(done.stdout.split()[-1])))
    ours = bench.runs.get("Octavo no-op, 1 proc.")
    if ours:
        ratio = statistics.median(found.rate for found in ours) / run.rate
        bench.bounds.append(Bound(what="no-op, 1 worker process: rate / DBOS's", value=ratio, bound=5.0))


def _load() -> float:
    return os.getloadavg()[0]


@contextmanager
def _stub() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-m", "benchmarks.distributed.stub"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        os.environ[PORT] = process.stdout.readline().decode().strip()
        try:
            yield
        finally:
            process.terminate()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.distributed", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("book", nargs="?", type=Path)
    parser.add_argument("--pieces", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=lambda said: said.split(","), default=list(PARTS), help=",".join(PARTS))
    parser.add_argument("--dbos", type=int, default=300, help="pieces for DBOS, which is slow; 0 leaves it out")
    parser.add_argument("--memory", type=int, default=0, help="chunks of the long job whose memory is watched")
    parser.add_argument("--cost", type=int, default=0, help="chunks of the job whose cost a chunk is compared")
    parser.add_argument("--nightly", action="store_true", help="--memory 200000 --cost 1000000")
    options = parser.parse_args()
    if options.nightly:
        options.memory, options.cost = options.memory or 200_000, options.cost or 1_000_000
    if options.book is None and not GENERATOR.exists():
        parser.error("name a BOOK: the generator of the novel does not stand beside the project")
    return options


if __name__ == "__main__":
    sys.exit(main())
