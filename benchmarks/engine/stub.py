"""A model server's stand-in: answers each POST 20 ms after it came. Prints its port, then serves until killed."""

from __future__ import annotations

import asyncio

from benchmarks.engine.calls import HOST

LATENCY_S = 0.020


class Stub(asyncio.Protocol):
    """One keep-alive connection: a request at a time, as `http.client` sends them."""

    calls = 0

    def __init__(self) -> None:
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer when a request is whole."""
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        self._data = b""
        if head.startswith(b"GET /count"):
            self._answer(b"%d" % Stub.calls)
            return
        Stub.calls += 1
        asyncio.get_running_loop().call_later(LATENCY_S, self._answer, b"%d bytes" % len(body))

    def _answer(self, body: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(Stub, HOST, 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
