"""What every contestant does to a piece: nothing, or a call over HTTP. One client for all, kept alive per thread."""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Callable

PORT = "ENGINE_BENCH_PORT"
HOST = "127.0.0.1"

_thread = threading.local()


def ask(text: str) -> str:
    """Post a piece to the stub; gives its answer."""
    connection: http.client.HTTPConnection | None = getattr(_thread, "connection", None)
    if connection is None:
        connection = _thread.connection = http.client.HTTPConnection(HOST, int(os.environ[PORT]), timeout=60)
    connection.request("POST", "/", text.encode())
    return connection.getresponse().read().decode()


def nothing(text: str) -> str:
    """Answer at once."""
    return text[:16]


KINDS: dict[str, Callable[[str], str]] = {"noop": nothing, "http": ask}


def calls_so_far() -> int:
    """How many pieces the stub was asked for since it began."""
    connection = http.client.HTTPConnection(HOST, int(os.environ[PORT]), timeout=60)
    connection.request("GET", "/count")
    count = int(connection.getresponse().read())
    connection.close()
    return count
