"""What every contestant does to a piece: nothing, or a call over HTTP that takes `ms`. One client for all."""

from __future__ import annotations

import http.client
import os
import threading

PORT = "DISTRIBUTED_BENCH_PORT"
HOST = "127.0.0.1"

_thread = threading.local()


def ask(text: str, ms: int) -> str:
    """Post a piece to the stub; gives its answer."""
    connection: http.client.HTTPConnection | None = getattr(_thread, "connection", None)
    if connection is None:
        connection = _thread.connection = http.client.HTTPConnection(HOST, int(os.environ[PORT]), timeout=60)
    connection.request("POST", f"/{ms}", text.encode())
    return connection.getresponse().read().decode()


def nothing(text: str) -> str:
    """Answer at once."""
    return text[:16]
