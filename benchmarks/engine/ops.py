"""The calls as ops of a user's own."""

from __future__ import annotations

from benchmarks.engine import calls
from octavo import map_op


@map_op(name="bench_http", version=1)
def bench_http(text: str, prompt: str = "A") -> str:  # noqa: ARG001  # the prompt is there to be in the key
    """A call over HTTP."""
    return calls.ask(text)


@map_op(name="bench_noop", version=1)
def bench_noop(text: str, prompt: str = "A") -> str:  # noqa: ARG001
    """Nothing."""
    return calls.nothing(text)


@map_op(name="bench_quick", version=1, batch=16)
def bench_quick(text: str, prompt: str = "A") -> str:  # noqa: ARG001
    """Nothing, by an op that says it is cheaper than a message."""
    return calls.nothing(text)
