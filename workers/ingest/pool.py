"""Sources brought in by several processes at once.

Each process takes one source at a time, so memory stays bounded by the largest few; one that dies or hangs costs that
source alone, and another process takes its place. They are plain children that end when their parent does.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from workers.ingest import serving
from workers.ingest.attempt import Attempt, Failed
from workers.ingest.find import Found
from workers.ingest.serving import Task

PATIENCE_S = 120.0  # for any source, and one second more for each
BYTES_PER_SECOND = 20_000  # slower than any reading that goes on at all
FULL_BYTES = 400 << 20  # a process that has held so much is replaced: what Python once took it seldom gives back
START_S = 60.0  # more for the first source of a process, and for a process to end

# Told of a source that is done: its number, what became of it, and the most memory in bytes that its process had held
# by then (0: not known).
Done = Callable[[int, Attempt, int], None]


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection
    at: int | None = None  # the number of the source it is at
    until: float = 0.0  # when that source has taken too long
    is_new: bool = True


def ingest_parallel(task: Task, sources: Sequence[Found], *, processes: int, on_done: Done) -> list[Attempt]:
    """Bring sources in, several at once; what became of each, in their order. `on_done` is told as they come.

    Raises StorageError when the database can not be written: then no other source could be stored either.
    """
    pool = _Pool(task, sources, on_done)
    try:
        pool.run(min(processes, len(sources)))
    finally:
        pool.close()
    return [outcome for outcome in pool.outcomes if outcome is not None]


class _Pool:
    def __init__(self, task: Task, sources: Sequence[Found], on_done: Done) -> None:
        self._task, self._sources, self._on_done = task, sources, on_done
        # One process imports what is needed, once; each that reads is a fork of it, and starts at once.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([serving.__name__])
        self._waiting = deque(range(len(sources)))
        self._workers: list[_Worker] = []
        self.outcomes: list[Attempt | None] = [None] * len(sources)

    def run(self, processes: int) -> None:
        for _ in range(processes):
            self._workers.append(self._start())
            self._give(self._workers[-1])
        while busy := [worker for worker in self._workers if worker.at is not None]:
            soonest = min(worker.until for worker in busy)
            ready = set(wait([worker.connection for worker in busy], max(0.0, soonest - time.monotonic())))
            for worker in busy:
                if worker.connection in ready:
                    self._hear(worker)
                elif time.monotonic() > worker.until:
                    self._give_up(worker)

    def close(self) -> None:
        for worker in self._workers:
            self._end(worker, kill=worker.at is not None)
        self._workers = []

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=serving.serve, args=(theirs, self._task), daemon=True, name="octavo-ingest"
        )
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _give(self, worker: _Worker) -> None:
        """Give a free process the next source, if there is one."""
        worker.at = self._waiting.popleft() if self._waiting else None
        if worker.at is None:
            return
        source = self._sources[worker.at]
        worker.until = time.monotonic() + patience_s(source) + (START_S if worker.is_new else 0.0)
        worker.is_new = False
        try:
            worker.connection.send(source)
        except OSError:
            self._died(worker)

    def _hear(self, worker: _Worker) -> None:
        try:
            outcome, held = worker.connection.recv()
        except (EOFError, OSError):
            self._died(worker)
            return
        self._settle(worker, outcome, held)
        if held > FULL_BYTES and self._waiting:
            self._replace(worker, kill=False)
        self._give(worker)

    def _settle(self, worker: _Worker, outcome: Attempt, held: int = 0) -> None:
        at, worker.at = worker.at, None
        assert at is not None
        self.outcomes[at] = outcome
        if isinstance(outcome, Failed) and outcome.is_storage:
            raise outcome.error(outcome.message, cause=outcome.cause, hint=outcome.hint)
        self._on_done(at, outcome, held)

    def _died(self, worker: _Worker) -> None:
        """The process is gone: its source failed, unless a signal came from outside before it had one."""
        worker.process.join(START_S)
        code = worker.process.exitcode
        self._fail(worker, f"the process that read it died ({_how(code)})")

    def _give_up(self, worker: _Worker) -> None:
        assert worker.at is not None
        seconds = patience_s(self._sources[worker.at])
        self._fail(worker, f"it was not read within {seconds:.0f} s and was given up")

    def _fail(self, worker: _Worker, why: str) -> None:
        assert worker.at is not None
        found = self._sources[worker.at]
        self._settle(worker, Failed(found=found, message=f"{found.name}: {why}", cause=None, hint=None))
        self._replace(worker, kill=True)
        self._give(worker)

    def _replace(self, worker: _Worker, *, kill: bool) -> None:
        self._end(worker, kill=kill)
        fresh = self._start()
        worker.process, worker.connection, worker.is_new = fresh.process, fresh.connection, True

    def _end(self, worker: _Worker, *, kill: bool) -> None:
        worker.connection.close()  # an idle process ends by itself when nobody is at the other end
        if kill:
            worker.process.kill()
        worker.process.join(START_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def patience_s(found: Found) -> float:
    """How long a source may take."""
    return PATIENCE_S + size_of(found) / BYTES_PER_SECOND


def size_of(found: Found) -> int:
    """Bytes of a source, as far as they can be told without opening it; 0 when it is not there."""
    paths = [found.path / name for name in found.parts] if found.parts and found.path.is_dir() else [found.path]
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.stat().st_size
    return total


def usable_processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _how(code: int | None) -> str:
    if code is None:
        return "it does not answer"
    if code < 0:
        with suppress(ValueError):
            name = signal.Signals(-code).name
            return f"{name}: perhaps no memory was left" if name == "SIGKILL" else name
    return f"exit code {code}"
