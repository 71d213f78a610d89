"""The calls as ops of a user's own. `salt` is there to be in the key: no round is answered by another's memo."""

from __future__ import annotations

from benchmarks.distributed import calls
from octavo import map_op, reduce_op


@map_op(name="bench_noop", version=1)
def bench_noop(text: str, salt: str = "") -> str:  # noqa: ARG001
    """Nothing."""
    return calls.nothing(text)


@map_op(name="bench_quick", version=1, batch=16)
def bench_quick(text: str, salt: str = "") -> str:  # noqa: ARG001
    """Nothing, by an op that says it is cheaper than a message."""
    return calls.nothing(text)


@map_op(name="bench_call", version=1)
def bench_call(text: str, salt: str = "", ms: int = 20) -> str:  # noqa: ARG001
    """A call over HTTP."""
    return calls.ask(text, ms)


@map_op(name="bench_words", version=1, batch=16)
def bench_words(text: str, salt: str = "") -> dict[str, list[str]]:  # noqa: ARG001
    """The first words, to be counted."""
    return {"items": text.split()[:3]}


@reduce_op(name="bench_count", version=1, key=lambda item: str(item).casefold())
def bench_count(items: list[str]) -> int:
    """How often each word stands."""
    return len(items)
