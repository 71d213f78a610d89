"""A model server's stand-in: answers `POST /N` N ms after it came. Prints its port, then serves until killed."""

from __future__ import annotations

import asyncio

from benchmarks.distributed.calls import HOST


class Stub(asyncio.Protocol):
    """One keep-alive connection: a request at a time, as `http.client` sends them."""

    def __init__(self) -> None:
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer when a request is whole."""
        self._data += data
        head, _, body = self._data.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
        if not length or len(body) < int(length):
            return
        self._data = b""
        ms = int(head.split(b" ", 2)[1].lstrip(b"/"))
        asyncio.get_running_loop().call_later(ms / 1000, self._answer, b"%d bytes" % len(body))

    def _answer(self, body: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(Stub, HOST, 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
