"""Health checks: one question over a loopback or socket file each, answered within a second."""

from __future__ import annotations

import http.client
import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE_S = 1.0
PROTOCOL_3_0 = 196608  # PostgreSQL's frontend/backend protocol, "Message Formats", StartupMessage


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpProbe:
    """GET answers 200."""

    port: int
    path: str = "/health"
    address: str = "127.0.0.1"

    def ok(self) -> bool:
        """Does it?"""
        connection = http.client.HTTPConnection(self.address, self.port, timeout=PATIENCE_S)
        try:
            connection.request("GET", self.path)
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class RedisProbe:
    """PING is answered, by a server that has loaded its data."""

    port: int
    password: str
    address: str = "127.0.0.1"

    def __repr__(self) -> str:
        return f"RedisProbe(port={self.port})"

    def ok(self) -> bool:
        """Is it?"""
        try:
            with socket.create_connection((self.address, self.port), timeout=PATIENCE_S) as link:
                link.sendall(f"AUTH {self.password}\r\nPING\r\nQUIT\r\n".encode())
                return b"+PONG" in _read_all(link)
        except OSError:
            return False


@dataclass(frozen=True, kw_only=True, slots=True)
class PostgresProbe:
    """A connection to the database is taken: neither starting up nor shutting down."""

    socket_file: Path
    user: str
    database: str

    def ok(self) -> bool:
        """Is it?"""
        words = f"user\0{self.user}\0database\0{self.database}\0\0".encode()
        hello = struct.pack("!ii", len(words) + 8, PROTOCOL_3_0) + words
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(PATIENCE_S)
                link.connect(str(self.socket_file))
                link.sendall(hello)
                taken = link.recv(1) == b"R"  # an authentication answer; an error would begin with E
                link.sendall(b"X" + struct.pack("!i", 4))  # Terminate: the log stays free of lost connections
                return taken
        except OSError:
            return False


def _read_all(link: socket.socket, most: int = 4096) -> bytes:
    parts: list[Any] = []
    while sum(map(len, parts)) < most:
        part = link.recv(most)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)
