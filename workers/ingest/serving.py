"""What a process of the pool does: brings in each source that it is given."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from pipeline.errors import OctavoError
from pipeline.settings import Settings
from pipeline.spec import GrainSpec
from workers.ingest.attempt import Attempt, Failed, attempt
from workers.ingest.ingest import Cutting
from workers.runtime import Runtime


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """How sources are brought in; goes to each process once."""

    settings: Settings
    grain: GrainSpec
    encoding: str | None
    collection: str


def serve(connection: Connection, task: Task) -> None:
    """The child: brings in each source that it is given, and says what became of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its children
    threading.Thread(target=_end_with_parent, daemon=True).start()
    runtime = Runtime(task.settings)
    cutting: Cutting | None = None
    try:
        while True:
            found = connection.recv()
            try:
                cutting = cutting or runtime.cutting(task.grain)
                database = runtime.database
            except OctavoError as error:
                outcome: Attempt = Failed.of(found, error)
            else:
                outcome = attempt(database, found, cutting, encoding=task.encoding, collection=task.collection)
            connection.send((outcome, held_bytes()))
    except (EOFError, OSError):
        return  # the parent is done, or gone
    finally:
        runtime.close()


def _end_with_parent() -> None:
    """Whatever the process is at, it ends when its parent does; what it has not committed is done again."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def held_bytes() -> int:
    """The most memory that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
