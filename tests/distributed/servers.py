"""Servers of the tests' own: PostgreSQL, Redis, the stub. Each can be killed and started again where it was."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import redis

from workers.supervise.broker import find_server
from workers.supervise.folders import copy_programs, ordinary_user, reachable
from workers.supervise.postgres import find_programs

HOST = "127.0.0.1"


def until(condition: Callable[[], Any], *, within_s: float, what: str) -> Any:
    """Poll until something holds; gives it. Fails with `what` when it does not in time."""
    deadline = time.monotonic() + within_s
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.05)  # a poll, not a wait


def free_port() -> int:
    """A loopback port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Postgres:
    """One cluster, reached by a socket file. Commits survive a kill of the server, though not of the machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user = ordinary_user()
        programs = find_programs(os.environ.get("PATH")).folder
        if self.user is not None:
            folder.chmod(0o755)
            os.chown(folder, self.user, self.user)
            programs = programs if reachable(programs) else copy_programs(programs, folder)
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        self._as = {"user": self.user, "group": self.user, "extra_groups": []} if self.user is not None else {}
        subprocess.run(
            [programs / "initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "--no-locale", "-U", "postgres",
             "-D", folder / "data"],
            check=True, cwd=folder, env={"LC_ALL": "C", "PATH": os.defpath}, stdout=subprocess.DEVNULL, timeout=120,
            **self._as,
        )  # fmt: skip
        self.start()

    def url(self, name: str) -> str:
        """Where a database is."""
        return f"postgresql+psycopg://postgres@/{name}?host={self.folder}"

    def connect(self, name: str = "postgres") -> psycopg.Connection[Any]:
        """A connection that commits by itself."""
        return psycopg.connect(f"host={self.folder} user=postgres dbname={name}", autocommit=True)

    def sql(self, statement: str, name: str = "postgres") -> list[Any]:
        """Run one statement; gives its rows."""
        with contextlib.closing(self.connect(name)) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = {
            "listen_addresses": "", "unix_socket_directories": str(self.folder), "max_connections": "200",
            "fsync": "off", "autovacuum": "off",
        }  # fmt: skip
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.folder / "data", *arguments],
                cwd=self.folder, env={"LC_ALL": "C"}, stdout=log, stderr=log, start_new_session=True, **self._as,
            )  # fmt: skip
        until(self._answers, within_s=60, what="PostgreSQL answers")

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop it: at once (SIGQUIT, as after a crash), or fast (SIGINT)."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None

    def restart(self) -> None:
        """What a crash and a supervisor do to it."""
        self.stop()
        self.start()


class Redis:
    """A broker without persistence: what it held is gone after a restart."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_port()
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.client = redis.Redis(host=HOST, port=self.port, socket_timeout=10)
        self.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://{HOST}:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it answers."""
        program = find_server(os.environ.get("PATH"))
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, "--port", str(self.port), "--bind", HOST, "--save", "", "--appendonly", "no", *self._options],
                cwd=self._folder, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        until(self._answers, within_s=20, what="Redis answers")

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=20)
            self._process = None

    def restart(self) -> None:
        """What a crash and a supervisor do to it."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End it for good."""
        self.client.close()
        self.stop()


class Provider:
    """The stub's process and what it counted."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-S", str(Path(__file__).with_name("stub.py"))], stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def _get(self, path: str, **query: object) -> Any:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=20)
        try:
            connection.request("GET", f"{path}?{urlencode(query)}")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def rule(self, of: str, **rule: object) -> None:
        """How calls of a kind, or with a mark, are answered."""
        self._get("/rule", of=of, **rule)

    def counts(self, kind: str) -> dict[str, int]:
        """Calls by key."""
        found: dict[str, dict[str, int]] = self._get("/counts")
        return found.get(kind, {})

    def calls(self, *kinds: str) -> int:
        """How many calls there were."""
        found: dict[str, dict[str, int]] = self._get("/counts")
        return sum(sum(keys.values()) for kind, keys in found.items() if not kinds or kind in kinds)

    def keys(self) -> int:
        """How many different calls there were."""
        return sum(len(keys) for keys in self._get("/counts").values())

    def order(self) -> list[str]:
        """The marks of calls, as they came."""
        found: list[str] = self._get("/now")["order"]
        return found

    def spans(self) -> list[tuple[float, float]]:
        """When calls came and when they were answered, in ms."""
        return [(begin, end) for begin, end in self._get("/spans")]

    def under_way(self) -> int:
        """Calls that wait for their answer now."""
        return int(self._get("/now")["now"])

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


@contextlib.contextmanager
def own_postgres() -> Iterator[Postgres]:
    """A cluster in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="octavo-pg-", ignore_cleanup_errors=True) as folder:
        server = Postgres(Path(folder))
        try:
            yield server
        finally:
            server.stop()
