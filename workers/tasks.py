"""Celery tasks: shells of a few lines. An id comes in, a plain tested function does the work, nothing goes out."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol, cast

from workers.app import app


class Engine(Protocol):
    """What runs tasks in this process."""

    def run(self, task_id: int, epoch: int) -> None:
        """Run a task under the epoch of its dispatch; return quietly when it is not to be run."""


# A context variable, for several engines may live in one process (tests, a program that embeds Octavo).
engine: ContextVar[Engine] = ContextVar("octavo_engine")


class BoundTask(Protocol):
    """A registered Celery task, as far as this project calls it."""

    def apply(self, args: tuple[int, int], *, task_id: str, throw: bool) -> Any:
        """Run the body here and now."""


def octavo_task(name: str) -> Callable[[Callable[[int, int], None]], BoundTask]:
    """The one way to make a task: a name, no stored result, acknowledged late."""

    def register(body: Callable[[int, int], None]) -> BoundTask:
        return cast(BoundTask, app.task(name=name, ignore_result=True, acks_late=True)(body))

    return register


@octavo_task("octavo.run")
def run_task(task_id: int, epoch: int) -> None:
    """Run one task: one chunk, or one reduce node."""
    engine.get().run(task_id, epoch)
