"""Plain Celery: the same work as tasks with late acknowledgement and a prefetch of one. Started by `fleets`.

`nothing` takes a number, the smallest message there is. `ask` takes its piece, as a task that makes a call must.
What was done is told by a few shared bytes a process: a stored result would cost plain Celery more than the work.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from pathlib import Path

from celery import Celery

from benchmarks.distributed import calls

BROKER, TALLY, QUEUE = "PLAIN_BENCH_BROKER", "PLAIN_BENCH_TALLY", "plain"
_COUNT = struct.Struct("<q")

app = Celery("plain", broker=os.environ.get(BROKER))
app.conf.update(
    task_acks_late=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    task_default_queue=QUEUE,
    broker_connection_retry_on_startup=True,
)


class Tally:
    """How many tasks this process has done, in a file that the driver reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._map: mmap.mmap | None = None

    def add(self) -> None:
        """One more."""
        with self._lock:
            if self._map is None:
                path = Path(os.environ[TALLY]) / str(os.getpid())
                path.write_bytes(_COUNT.pack(0))
                with path.open("r+b") as file:
                    self._map = mmap.mmap(file.fileno(), _COUNT.size)
            self._count += 1
            _COUNT.pack_into(self._map, 0, self._count)


def done(folder: Path) -> int:
    """How many tasks all processes have done."""
    return sum(_COUNT.unpack(path.read_bytes())[0] for path in folder.iterdir() if path.stat().st_size)


tally = Tally()


def _nothing(number: int) -> None:
    calls.nothing(str(number))
    tally.add()


def _ask(text: str, ms: int) -> None:
    calls.ask(text, ms)
    tally.add()


nothing = app.task(name="plain.nothing")(_nothing)
ask = app.task(name="plain.ask")(_ask)
