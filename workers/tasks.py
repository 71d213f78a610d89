"""Celery tasks: shells of a few lines. Ids come in, a plain tested function does the work, nothing goes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from workers.app import app
from workers.current import engine


class BoundTask(Protocol):
    """A registered Celery task, as far as this project calls it."""

    def apply(self, args: Sequence[tuple[int, int]], *, task_id: str, throw: bool) -> Any:
        """Run the body here and now."""

    def apply_async(self, args: Sequence[Any], **options: Any) -> Any:
        """Send a message for it."""


def octavo_task(name: str) -> Callable[[Callable[..., None]], BoundTask]:
    """The one way to make a task: a name, no stored result."""

    def register(body: Callable[..., None]) -> BoundTask:
        return cast(BoundTask, app.task(name=name, ignore_result=True)(body))

    return register


@octavo_task("octavo.run")
def run_task(*rung: Sequence[int]) -> None:
    """Run tasks, each given as (id, number): the number of its dispatch, or of the lease that this process holds."""
    engine().run([(task_id, number) for task_id, number in rung])


@octavo_task("octavo.tend")
def tend() -> None:
    """A job has begun or changed: look at once."""
    engine().tend()
