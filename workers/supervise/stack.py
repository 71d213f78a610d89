"""What `octavo up` runs: the services of a distributed Octavo on one machine, and how a person reaches them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline import canonical
from pipeline.errors import UsageError
from workers.supervise import broker, flower, pages, postgres
from workers.supervise.broker import OwnRedis, free_ports
from workers.supervise.folders import write_private
from workers.supervise.health import HttpProbe
from workers.supervise.postgres import OwnPostgres
from workers.supervise.service import Service

MIGRATE = "migrate"
ENV_FILE = "up.env"
TARGETS_FILE = "prometheus-targets.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a person asked for."""

    state: Path
    workers: int = 1
    slots: int | None = None  # None: the worker's own default
    worker_options: tuple[str, ...] = ()  # said to every worker as they are
    with_flower: bool = True
    flower_port: int = 5555
    with_web: bool = True
    web_port: int = 8321
    worker_stop_s: float = 30.0  # for the calls in flight, when it is stopped
    database_url: str | None = None  # None: a server of our own
    redis_url: str | None = None
    command: tuple[str, ...] = ()  # how `octavo` is called; empty: this installation's


@dataclass(kw_only=True, slots=True)
class Stack:
    """The services, and what they told about themselves. `close` takes back what lies outside the state folder."""

    state: Path
    database_url: str
    redis_url: str
    services: list[Service]
    notes: list[str] = field(default_factory=list)
    own_postgres: OwnPostgres | None = None

    @property
    def env_file(self) -> Path:
        """Shell commands that point `octavo run` and the others at this stack. Holds Redis's password."""
        return self.state / ENV_FILE

    def write_files(self) -> None:
        """Write what other programs read: the environment file, and Prometheus's list of workers."""
        settings = _settings(self.state, self.database_url, self.redis_url)
        write_private(self.env_file, "".join(f"export {name}={shlex.quote(said)}\n" for name, said in settings.items()))
        targets = [
            f"127.0.0.1:{s.health.port}" for s in self.services if is_worker(s) and isinstance(s.health, HttpProbe)
        ]
        groups = canonical.dumps([{"targets": targets, "labels": {"job": "octavo-worker"}}])
        (self.state / TARGETS_FILE).write_bytes(groups + b"\n")

    def close(self) -> None:
        """The stack is down: nothing points at it any more."""
        for name in (ENV_FILE, TARGETS_FILE):
            (self.state / name).unlink(missing_ok=True)
        if self.own_postgres is not None:
            self.own_postgres.close()


def is_worker(service: Service) -> bool:
    """Is it one of the workers?"""
    return service.name.startswith("worker-")


def octavo_command() -> tuple[str, ...]:
    """How this very installation's `octavo` is called."""
    script = Path(sys.executable).with_name("octavo")
    if script.exists():
        return (str(script),)
    return (sys.executable, "-c", "from octavo.cli.main import main; main()")


def build(options: Options, environ: Mapping[str, str]) -> Stack:
    """Find or make what is needed and lay out the services. Nothing runs yet but the making of a new cluster.

    Raises UsageError, MissingProgramError or StorageError.
    """
    state = Path(os.path.abspath(options.state))  # noqa: PTH100  # not resolved: a person knows the name they gave
    state.mkdir(parents=True, exist_ok=True)
    search = environ.get("PATH")
    ports = free_ports(options.workers + 1)
    stack = Stack(state=state, database_url=options.database_url or "", redis_url=options.redis_url or "", services=[])
    if not options.database_url:
        stack.own_postgres = OwnPostgres(state, search)
        if stack.own_postgres.make():
            stack.notes.append(f"made a PostgreSQL database in {stack.own_postgres.home}")
        stack.database_url = stack.own_postgres.url
        stack.services.append(stack.own_postgres.service())
    if not options.redis_url:
        own = OwnRedis(state, search, ports.pop())
        stack.redis_url = own.url
        stack.services.append(own.service())
    stack.services += _work(options, stack, environ, ports)
    return stack


def _work(options: Options, stack: Stack, environ: Mapping[str, str], ports: Sequence[int]) -> Sequence[Service]:
    started = tuple(service.name for service in stack.services)
    env = _settings(stack.state, stack.database_url, stack.redis_url)
    databases = tuple(name for name in started if name == postgres.NAME)
    migrate = Service(
        name=MIGRATE,
        argv=(*(options.command or octavo_command()), "db", "upgrade"),
        env=env,
        needs=databases,
        once=True,
    )
    needs = (*started, MIGRATE)
    numbered = enumerate(ports[: options.workers], 1)
    workers = [_worker(number, port, options, env, needs) for number, port in numbered]
    web = _web(options, stack, env, needs) if options.with_web else ()
    return [migrate, *workers, *web, *(_flower(options, stack, environ) if options.with_flower else ())]


def _web(options: Options, stack: Stack, env: Mapping[str, str], needs: tuple[str, ...]) -> Sequence[Service]:
    if not pages.installed():
        stack.notes.append("The pages are not installed: pip install 'octavo[web]' brings octavo web")
        return ()
    check_port(options.web_port, "web")
    command = (*(options.command or octavo_command()),)
    shown = options.with_flower and flower.installed()
    at = f"http://127.0.0.1:{options.flower_port}/" if shown else None
    return (pages.service(stack.state, command=command, port=options.web_port, env=env, needs=needs, flower_url=at),)


def _worker(number: int, port: int, options: Options, env: Mapping[str, str], needs: tuple[str, ...]) -> Service:
    slots = () if options.slots is None else ("--slots", str(options.slots))
    # From their start: Flower asks for events itself, but what is done until it is heard would never be shown.
    events = ("--events",) if options.with_flower and flower.installed() else ()
    return Service(
        name=f"worker-{number}",
        argv=(
            *(options.command or octavo_command()),
            "worker",
            *slots,
            *events,
            *options.worker_options,
            "--metrics-port",
            str(port),
        ),
        env=env,
        health=HttpProbe(port=port),
        needs=needs,
        stops=0,
        stop_s=options.worker_stop_s,
        shown=f"http://127.0.0.1:{port}/metrics",
    )


def _flower(options: Options, stack: Stack, environ: Mapping[str, str]) -> Sequence[Service]:
    if not flower.installed():
        stack.notes.append("Flower is not installed: pip install 'octavo[flower]' shows the tasks in a browser")
        return ()
    check_port(options.flower_port, "flower")
    needs = tuple(service.name for service in stack.services if service.name == broker.NAME)
    return (
        flower.service(stack.state, broker_url=stack.redis_url, port=options.flower_port, needs=needs, environ=environ),
    )


def _settings(state: Path, database_url: str, redis_url: str) -> dict[str, str]:
    return {"OCTAVO_STATE": str(state), "OCTAVO_DATABASE_URL": database_url, "OCTAVO_REDIS_URL": redis_url}


def check_port(port: int, name: str) -> None:
    """Raises UsageError when somebody listens on a loopback port already."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(
                f"Port {port} is taken: {error.strerror}", hint=f"name another with --{name}-port, or --no-{name}"
            ) from error
