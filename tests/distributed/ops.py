"""Ops of a user, as the tests of the engine run them: a map and a fold that call the counting stub, and a merge."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import signal
import threading
from typing import Any
from urllib.parse import urlencode

from octavo import OpOutput, Span, map_op, reduce_op
from pipeline.retry import CallError, ErrorClass

MARK = re.compile(r"@(\w+)@")
_mine = threading.local()


def call(kind: str, key: str, mark: str = "") -> None:
    """One call of the provider. It is counted where it arrives, so it is never tried again here."""
    port = int(os.environ["STUB_PORT"])
    if getattr(_mine, "pid", None) != os.getpid():
        _mine.pid, _mine.connection = os.getpid(), http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        _mine.connection.request("GET", "/call?" + urlencode({"kind": kind, "key": key, "mark": mark}))
        answer = _mine.connection.getresponse()
        body = json.loads(answer.read())
    except (OSError, http.client.HTTPException):
        _mine.pid = None
        raise
    if answer.status == 429:
        later = int(body["after_s"] * 1000)
        raise CallError(ErrorClass.RATE_LIMITED, "rate_limited", "the provider says: later", retry_after_ms=later)
    if answer.status != 200:
        raise ConnectionError(f"the provider answers {answer.status}")
    _do(body["act"])


def _do(act: str) -> None:
    if act == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if act == "memory":
        raise MemoryError


def digest(value: Any) -> str:
    """A key for the provider."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@map_op(version=1)
def draw(text: str) -> OpOutput:
    """The first words of a chunk, and what the provider makes of it."""
    found = MARK.search(text)
    call("map", digest(text), found[1] if found else "")
    words = text.split()[:6]
    return OpOutput(
        value={"words": words, "items": words, "drawn": digest(text)[:8]},
        spans=(Span(item=0, start=0, end=min(9, len(text))),),
    )


@map_op(version=1)
def refine(text: str, before: Any = None) -> dict[str, Any]:
    """A map after a map."""
    call("refine", digest([text, before]))
    return {"words": [before["drawn"]], "items": before["items"]}


@map_op(version=1, batch=16)
def count(text: str) -> dict[str, Any]:
    """A cheap op: no call, several tasks in one message."""
    return {"words": [str(len(text))], "items": text.split()[:2]}


@reduce_op(version=1)
def gather(children: list[Any]) -> dict[str, Any]:
    """A fold that calls the provider."""
    call("fold", digest(children))
    return {"words": [word for child in children for word in child["words"]][:12], "of": digest(children)[:8]}


@reduce_op(version=1, key=lambda item: item.casefold())
def tally(items: list[Any]) -> int:
    """A merge without calls."""
    return len(items)
