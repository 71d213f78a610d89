"""`octavo up`: the whole distributed Octavo on this machine, under one supervisor."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from octavo.cli import console, options
from pipeline import settings as settings_module
from pipeline.errors import StorageError, UsageError
from pipeline.ops.values import Json

if TYPE_CHECKING:
    from workers.supervise.service import Change
    from workers.supervise.stack import Options, Stack
    from workers.supervise.supervisor import Supervisor
    from workers.supervise.watched import Watched

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta", "bright_green")
LOCK_FILE = "up.lock"


def up(
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Worker processes.")] = 1,
    slots: Annotated[int | None, typer.Option("--slots", min=1, max=4096, help="Tasks at once in each worker.")] = None,
    ops: options.Ops = None,
    flower: Annotated[bool, typer.Option("--flower/--no-flower", help="Show the tasks in a browser.")] = True,
    flower_port: Annotated[int, typer.Option("--flower-port", min=1, max=65535, help="Its port on 127.0.0.1.")] = 5555,
    web: Annotated[bool, typer.Option("--web/--no-web", help="Serve the pages and the HTTP API.")] = True,
    web_port: Annotated[int, typer.Option("--web-port", min=1, max=65535, help="Their port on 127.0.0.1.")] = 8321,
    stop_after: Annotated[
        float, typer.Option("--stop-after", min=0, max=3600, help="Seconds that running calls get to end at a stop.")
    ] = 30,
    log: Annotated[Path | None, typer.Option("--log", help="Append the log to this file too.")] = None,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Run workers and the pages here, with PostgreSQL, Redis and Flower where needed, until Ctrl-C."""
    from workers.supervise import stack as stacks

    settings = settings_module.current({"state": state})
    asked = stacks.Options(
        state=settings.state,
        workers=workers,
        slots=slots,
        worker_options=tuple(part for module in ops or () for part in ("--ops", module)),
        with_flower=flower,
        flower_port=flower_port,
        with_web=web,
        web_port=web_port,
        worker_stop_s=stop_after,
        database_url=settings.database_url,
        redis_url=settings.redis_url,
    )
    _run(asked, log, as_json=as_json)


def _run(asked: Options, log: Path | None, *, as_json: bool) -> None:
    from filelock import FileLock, Timeout

    from workers.supervise import stack as stacks

    asked.state.mkdir(parents=True, exist_ok=True)
    lock = FileLock(asked.state / LOCK_FILE, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise UsageError(
            f"octavo up runs already for the state folder {asked.state}", hint="stop that one, or name another --state"
        ) from error
    with lock:
        stack = stacks.build(asked, os.environ)
        try:
            stack.write_files()
            with Printer(stack, log, as_json=as_json) as printer:
                printer.supervisor(os.environ).run()
        finally:
            stack.close()


class Printer:
    """One log for all: each line by its service, in its colour on a terminal, and to a file where one was named."""

    def __init__(self, stack: Stack, log: Path | None, *, as_json: bool) -> None:
        self._stack = stack
        self._as_json = as_json
        self._width = max(len(service.name) for service in stack.services)
        self._colours = {service.name: COLOURS[at % len(COLOURS)] for at, service in enumerate(stack.services)}
        self._seen = True  # does somebody still read stderr?
        self._file: IO[str] | None = None
        if log is not None:
            try:
                self._file = log.open("a", encoding="utf-8", buffering=1)
            except OSError as error:
                raise StorageError(f"The log {log} can not be written: {error.strerror}") from error

    def __enter__(self) -> Printer:
        for note in self._stack.notes:
            self.line("octavo", note)
        return self

    def __exit__(self, *_: object) -> None:
        self.line("octavo", "everything is stopped")
        if self._file is not None:
            self._file.close()

    def supervisor(self, environ: Mapping[str, str]) -> Supervisor:
        """A supervisor that tells this printer."""
        from workers.supervise.supervisor import Supervisor, Told

        told = Told(line=self.line, change=self.change, ready=self.ready)
        return Supervisor(self._stack.services, told, environ=environ)

    def line(self, service: str, line: str) -> None:
        """A line of a service's output."""
        said = console.safe(line)
        if self._file is not None:
            self._file.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {service} {said}\n")
        if self._seen:
            head = (f"{service:<{self._width}} | ", self._colours.get(service, "bold"))
            try:
                console.err().print(Text.assemble(head, said))
            except OSError:  # the terminal was closed: the services still have to be stopped in order
                self._seen = False

    def change(self, change: Change) -> None:
        """Something happened to a service."""
        self.line("octavo", f"{change.service} {change.says}")
        if self._as_json:
            console.print_json(
                {
                    "event": "change", "service": change.service, "status": change.status.value,
                    "says": change.says, "pid": change.pid,
                }
            )  # fmt: skip

    def ready(self, services: Mapping[str, Watched]) -> None:
        """All is up: where everything is, and how to use it."""
        shown: list[Json] = [
            {"name": name, "status": found.status.value, "pid": found.child.pid if found.child else None,
             "at": found.service.shown}
            for name, found in services.items()
        ]  # fmt: skip
        if self._as_json:
            console.print_json({"event": "ready", "services": shown, "env_file": str(self._stack.env_file)})
        self.line("octavo", "all is up:")
        for name, found in services.items():
            if found.service.shown:
                self.line("octavo", f"  {name:<{self._width}}  {found.service.shown}")
        self.line("octavo", f"use it from another terminal:  . {self._stack.env_file}  &&  octavo run BOOK")
        self.line("octavo", "Ctrl-C stops everything, workers first; a second one kills")
