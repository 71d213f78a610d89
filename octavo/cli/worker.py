"""`octavo worker`: one worker process over the broker."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from octavo.cli import options
from octavo.cli.exits import Exit
from pipeline import settings as settings_module
from pipeline.errors import UsageError


class Pool(StrEnum):
    """How a worker's slots run."""

    THREADS = "threads"  # one process, many calls that wait
    PREFORK = "prefork"  # one process a slot, for models that compute in it


def worker(
    queues: Annotated[
        str, typer.Option("--queues", help="Queues to serve: call, compute, cheap, control; with commas between.")
    ] = "call,compute,cheap,control",
    slots: Annotated[int, typer.Option("--slots", min=1, max=4096, help="Tasks at once.")] = 32,
    pool: Annotated[Pool, typer.Option("--pool", help="threads, or prefork for models in process.")] = Pool.THREADS,
    max_tasks_per_child: Annotated[
        int | None,
        typer.Option(
            "--max-tasks-per-child", min=1, help="Messages after which a process of --pool prefork is replaced."
        ),
    ] = None,
    loglevel: Annotated[str, typer.Option("--loglevel", help="Celery's log level.")] = "WARNING",
    events: Annotated[bool, typer.Option("--events", help="Send task events, for Flower.")] = False,
    metrics_port: Annotated[
        int | None, typer.Option("--metrics-port", min=0, max=65535, help="Answer /metrics and /health there.")
    ] = None,
    metrics_address: Annotated[
        str, typer.Option("--metrics-address", help="Address for --metrics-port.")
    ] = "127.0.0.1",
    ops: options.Ops = None,
    state: options.State = None,
) -> None:
    """Serve jobs over Redis and PostgreSQL until told to end (OCTAVO_REDIS_URL, OCTAVO_DATABASE_URL)."""
    from workers import logs
    from workers.distributed import worker as module
    from workers.distributed.queues import QUEUES

    wanted = [f"octavo.{name.strip()}" for name in queues.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in QUEUES]
    if unknown or not wanted:
        known = ", ".join(name.removeprefix("octavo.") for name in QUEUES)
        raise UsageError(f"There is no queue {queues!r}", hint=f"known: {known}")
    if max_tasks_per_child is not None and pool is not Pool.PREFORK:
        raise UsageError("--max-tasks-per-child is for processes", hint="add --pool prefork, or leave it out")
    settings = settings_module.current({"state": state, "ops": tuple(ops) if ops else None})
    logs.set_up(settings)
    code = module.run(
        settings,
        queues=wanted,
        slots=slots,
        pool=pool.value,
        max_tasks_per_child=max_tasks_per_child,
        loglevel=loglevel.upper(),
        events=events,
        metrics=None if metrics_port is None else (metrics_address, metrics_port),
    )
    raise typer.Exit(Exit(code))
