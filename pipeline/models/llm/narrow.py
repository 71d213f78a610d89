"""Children that are too long together for the window are taken in halves, and then the answers about these.

A fold groups outputs by their bytes, before any tokenizer of the model has seen them (`pipeline.reduce.groups`); where
that counts too low (a script that the tokenizer cuts fine), a node is still answered, and no call is over the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pipeline.models.protocol import Measure, Request
from pipeline.ops.values import Json, OpOutput
from pipeline.retry import CallError, Usage


def narrows(request: Request) -> bool:
    """Can its children be taken in parts? Of two nothing is gained."""
    return request.ask is not None and request.ask.through is not None and len(request.children) > 2


def answered(request: Request, answer: Callable[[Request], tuple[OpOutput, Usage]]) -> tuple[OpOutput, Usage]:
    """The answer about all children by way of their halves; `answer` may take a half in parts again."""
    assert request.ask is not None
    assert request.ask.through is not None
    used = Usage(calls=0)
    parts: list[tuple[int, Json]] = []
    try:
        for first, run in _halves(request.children):
            output, more = answer(replace(request, children=run)) if len(run) > 1 else (None, Usage(calls=0))
            parts.append((first, None if output is None else output.value))
            used = used + more
        between = [request.children[first] if value is None else value for first, value in parts]
        output, more = answer(replace(request, children=between))
    except CallError as error:
        error.used = error.used + used
        raise
    return request.ask.through(output, parts), used + more


def measured(request: Request, measure: Callable[[Request], Measure], last: Measure) -> Measure:
    """What that will use; `last` is the most that the call over both answers can."""
    found = [measure(replace(request, children=run)) for _, run in _halves(request.children) if len(run) > 1]
    if not all(part.calls for part in found):
        return Measure(tokens_in=0, tokens_out=0, calls=0)
    found.append(last)
    return Measure(
        tokens_in=sum(part.tokens_in for part in found),
        tokens_out=sum(part.tokens_out for part in found),
        calls=sum(part.calls for part in found),
    )


def _halves(children: Sequence[Json]) -> list[tuple[int, Sequence[Json]]]:
    middle = len(children) // 2
    return [(0, children[:middle]), (middle, children[middle:])]
