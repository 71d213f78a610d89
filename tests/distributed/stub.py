"""A model server's stand-in that counts: a process of its own, so that it outlives whatever a test kills.

`GET /call?kind=…&key=…&mark=…` answers after the rule of the mark (else of the kind) and counts the call;
`/rule?of=…&latency_ms=…&fail=…&after_s=…&act=…&times=…` sets a rule; `/counts` gives the calls by kind and key; `/now`
those under way; `/spans` when each came and was answered. A rule's `fail` answers 500 to the first so many calls of
each key (429 where `after_s` says when to try again); its `act` is told to the first `times` callers of each key, which
do it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, defaultdict
from typing import Any
from urllib.parse import parse_qsl, urlsplit

HOST = "127.0.0.1"


class Stub:
    """What was called, and how to answer."""

    def __init__(self) -> None:
        self.calls: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.rules: dict[str, dict[str, str]] = {}
        self.now = 0
        self.most = 0  # calls under way at once, at most
        self.order: list[str] = []  # marks of calls, as they came
        self.spans: list[tuple[float, float]] = []  # when calls came and were answered, in ms

    async def answer(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        """Status and body."""
        if path == "/rule":
            self.rules[query["of"]] = query
        elif path == "/counts":
            return 200, {kind: dict(found) for kind, found in self.calls.items()}
        elif path == "/now":
            return 200, {"now": self.now, "most": self.most, "order": self.order}
        elif path == "/spans":
            return 200, self.spans
        elif path == "/call":
            return await self._call(query)
        return 200, {}

    async def _call(self, query: dict[str, str]) -> tuple[int, Any]:
        mark, kind, key = query.get("mark", ""), query["kind"], query["key"]
        rule = self.rules.get(mark) or self.rules.get(kind) or {}
        self.calls[kind][key] += 1
        self.order.append(mark)
        self.now += 1
        self.most = max(self.most, self.now)
        began = time.monotonic()
        try:
            await asyncio.sleep(float(rule.get("latency_ms", 0)) / 1000)
        finally:
            self.now -= 1
            self.spans.append((began * 1000, time.monotonic() * 1000))
        number = self.calls[kind][key]
        if number <= int(rule.get("fail", 0)):
            return (429, {"after_s": float(rule["after_s"])}) if "after_s" in rule else (500, {})
        return 200, {"act": rule.get("act", "") if number <= int(rule.get("times", 1_000_000)) else ""}


async def _serve() -> None:
    stub = Stub()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                target = urlsplit(line.split()[1].decode())
                status, found = await stub.answer(target.path, dict(parse_qsl(target.query)))
                body = json.dumps(found).encode()
                writer.write(b"HTTP/1.1 %d OK\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))
                await writer.drain()
        except ConnectionError:
            pass  # the caller was killed
        finally:
            writer.close()

    server = await asyncio.start_server(connected, HOST, 0, backlog=512)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
