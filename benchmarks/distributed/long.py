"""Long books: does memory stay flat, and the cost of a chunk?"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from benchmarks.distributed.fleets import Octavo, spec
from benchmarks.engine.bounds import Bound
from db.values import NewResult
from pipeline import canonical
from workers.claim import lease_found
from workers.clock import now_ms
from workers.commit import commit
from workers.distributed.dispatcher import Dispatcher, Ring
from workers.execute import Done, Work
from workers.load import Loader
from workers.planning.jobs import begin_job
from workers.planning.maps import plan_map

LIMIT = 150  # characters: a line of `write` is a piece
WINDOW = 512
OWNER = "benchmark"
FLAT = 1.15  # memory at the end to memory at the first 5,000
SAME = 1.3  # cost of a chunk of a long book to that of a short one: indices are deeper, caches colder
SHORT_ROUNDS = 3
FIRST = 5_000


def write(path: Path, pieces: int, salt: str) -> None:
    """A book of so many pieces, all different."""
    with path.open("w", encoding="utf-8") as out:
        for at in range(pieces):
            if at % 500 == 0:
                out.write(f"# Chapter {at} {salt}\n\n")
            out.write(f"Lamp {at}{salt} of house {at * 7919} was lit by keeper {at % 31} at hour {at % 24}, and ")
            out.write(f"{at * 13} barrels of salt were taken to the far bank by night.\n\n")


# Memory


def memory(octavo: Octavo, folder: Path, redis_url: str, pieces: int) -> list[Bound]:
    """Do one long job with one worker; its memory and that of Redis, early and late."""
    book = folder / "memory.md"
    write(book, pieces, "m")
    documents = octavo.ingest(book, LIMIT)
    book.unlink()
    trail: list[tuple[int, float, float]] = []
    client = redis.Redis.from_url(redis_url)
    with octavo.workers(1) as pids:

        def look(job_id: Any) -> None:
            if not trail or time.monotonic() - looked[0] >= 0.5:
                looked[0] = time.monotonic()
                held = float(client.info("memory")["used_memory"]) / 1e6
                trail.append((_done(octavo, job_id), resident_mb(pids[0]), held))

        looked = [0.0]
        run = octavo.run(documents, spec("bench_quick", LIMIT, salt="memory"), look)
    client.close()
    early = _around(trail, FIRST)
    late = trail[-max(1, len(trail) // 10) :]
    worker, store = (statistics.median(point[at] for point in late) for at in (1, 2))
    print(
        f"{run.chunks:,} chunks, {run.rate:,.0f}/s: worker {early[1]:.0f} → {worker:.0f} MB, "
        f"Redis {early[2]:.1f} → {store:.1f} MB"
    )
    told = f"memory, {run.chunks:,} chunks / {FIRST:,}"
    return [
        Bound(what=f"worker's {told}", value=worker / early[1], bound=FLAT, at_least=False),
        Bound(what=f"Redis's {told}", value=store / early[2], bound=FLAT, at_least=False),
    ]


def _done(octavo: Octavo, job_id: Any) -> int:
    with octavo.runtime.database.read() as rows:
        steps = [step.id for step in rows.jobs.steps(job_id)]
        return sum(counts.calls for counts in rows.jobs.counts(steps).values())


def _around(trail: Sequence[tuple[int, float, float]], done: int) -> tuple[int, float, float]:
    return next((point for point in trail if point[0] >= done), trail[-1])


def resident_mb(pid: int) -> float:
    """What a process holds now, as `ps` says."""
    said = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], check=True, capture_output=True, text=True).stdout
    return int(said) * 1024 / 1e6


# The cost of a chunk

PARTS = ("plan", "dispatch", "claim", "checkpoint")


@dataclass(slots=True)
class Cost:
    """Processor seconds, here and in the database server's sessions, by what they were spent on, over one whole job.

    Processor time, for the machine may be used by others: they slow both books down, but not alike.
    """

    chunks: int
    postmaster: int
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """What is done inside is spent on a part."""
        began = self._used()
        yield
        self.spent[part] += self._used() - began

    def _used(self) -> float:
        ticks = sum(_ticks(int(pid)) for pid in _children(self.postmaster))
        return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")

    def each(self, part: str) -> float:
        """Microseconds a chunk."""
        return self.spent[part] / self.chunks * 1e6


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _ticks(pid: int) -> int:
    """Clock ticks that a session of the server used, in user and kernel mode (proc(5), fields 14 and 15 of `stat`)."""
    try:
        if not Path(f"/proc/{pid}/cmdline").read_text().startswith("postgres: octavo"):
            return 0
        found = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(found[11]) + int(found[12])


def _postmaster(folder: Path) -> int:
    return int((folder / "servers" / "postgres" / "data" / "postmaster.pid").read_text().split()[0])


def costs(octavo: Octavo, folder: Path, short: int, long: int) -> list[Bound]:
    """Do a short book a few times and a long one, by the functions that workers use; compare a chunk's cost."""
    shorts = [_cost(octavo, folder, short, f"s{number}") for number in range(SHORT_ROUNDS)]
    found = _cost(octavo, folder, long, "l")
    bounds = []
    for part in PARTS:
        usual = statistics.median(cost.each(part) for cost in shorts)
        print(f"{part:10} {usual:7.1f} µs a chunk of {short:,}, {found.each(part):7.1f} µs a chunk of {long:,}")
        what = f"{part}: cost of a chunk of {long:,} / of {short:,}"
        bounds.append(Bound(what=what, value=found.each(part) / usual, bound=SAME, at_least=False))
    return bounds


def _cost(octavo: Octavo, folder: Path, pieces: int, salt: str) -> Cost:
    book = folder / f"{salt}.md"
    write(book, pieces, salt)
    runtime, database = octavo.runtime, octavo.runtime.database
    documents = octavo.ingest(book, LIMIT)
    book.unlink()
    job, _ = begin_job(
        database, spec("bench_noop", LIMIT, salt=salt), documents, ops=runtime.ops, models=runtime,
        model="extractive", tokenizer="characters",
    )  # fmt: skip
    loader = Loader(database, runtime.ops)
    context = loader.context(job.id)
    rings: list[Ring] = []
    dispatcher = Dispatcher(database, loader, lambda _rows: WINDOW, rings.append)
    cost = Cost(context.selection.total, _postmaster(folder))
    with database.read() as rows:
        (step,) = rows.jobs.steps(job.id)
    with cost.on("plan"):
        plan_map(database, context, step)
    while True:
        with cost.on("dispatch"):
            dispatcher.top_up()
        if not rings:
            break
        with cost.on("claim"):
            works = _claim(octavo, loader, rings.pop())
        ended = [_done_work(work) for work in works]
        with cost.on("checkpoint"), database.write() as rows:
            commit(rows, OWNER, ended)
    octavo.end(job.id)
    return cost


def _claim(octavo: Octavo, loader: Loader, ring: Ring) -> list[Work]:
    now = now_ms()
    with octavo.runtime.database.write() as rows:
        found = rows.dispatches.rung([(bell.task_id, bell.dispatch) for bell in ring.bells])
        taken = lease_found(rows, found, OWNER, now, now + 600_000)
    return loader.load(taken.claims)


def _done_work(work: Work) -> Done:
    output = canonical.dumps((work.text or "")[:16])
    result = NewResult(
        key=work.claim.key, op="bench_noop", output=output, output_sha256=canonical.sha256(output), spans=b"",
        tokens_in=0, tokens_out=0, cost_micros=0, latency_ms=0, model="",
    )  # fmt: skip
    now = now_ms()
    return Done(work, result, now, now)
