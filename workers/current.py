"""What runs tasks in this process, or in this thread of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Protocol


class Engine(Protocol):
    """Runs tasks by id."""

    def run(self, rung: Sequence[tuple[int, int]]) -> None:
        """Run tasks given as (id, number); return quietly for those that are not to be run."""

    def tend(self) -> None:
        """Look soon at what is to be planned, dispatched or taken back."""


# A context variable, for several engines may live in one process (tests, a program that embeds Octavo); a worker
# process has one for all its threads.
here: ContextVar[Engine] = ContextVar("octavo_engine")
_process: list[Engine] = []


def engine() -> Engine:
    """The engine of this thread, else of the process."""
    found = here.get(None)
    if found is not None:
        return found
    if not _process:
        raise RuntimeError("no engine serves this process: tasks of Octavo run in `octavo worker`")
    return _process[0]


def serve_process(made: Engine | None) -> None:
    """Let all threads of this process be served by an engine; None ends it."""
    _process[:] = [] if made is None else [made]
