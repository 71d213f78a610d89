"""A chat server that answers every request after so many ms: `python -m benchmarks.llm.stub MS` prints its port."""

from __future__ import annotations

import asyncio
import json
import sys

HOST = "127.0.0.1"
BODY = json.dumps(
    {
        "id": "1", "object": "chat.completion", "created": 1, "model": "stub",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1},
    }
).encode()  # fmt: skip
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


class Stub(asyncio.Protocol):
    """One keep-alive connection, a request at a time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
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
        if length and len(body) >= int(length):
            self._data = b""
            asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(ANSWER)


async def _serve(ms: float) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Stub(ms / 1000), HOST, 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
