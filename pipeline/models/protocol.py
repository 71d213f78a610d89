"""What a model is to the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.ops.kinds import Params
from pipeline.ops.values import Json, OpOutput


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One question: a map op's chunk (`text`) or a reduce node's children."""

    op: str
    params: Params
    text: str | None = None
    children: Sequence[Json] = ()
    tokens: int = 0  # of the text, by the grain's tokenizer


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A model's (or a plain function's) answer, validated, with what it used."""

    output: OpOutput
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0


class Model(Protocol):
    """Answers requests. Safe to call from `slots` threads at once."""

    name: str
    identity: str  # goes into every key: changes whenever an answer could
    slots: int  # calls in flight at once
    window: int  # tokens that one request may hold

    def answer(self, request: Request) -> Answer:
        """Answer, or raise pipeline.retry.CallError with the class of what went wrong."""

    def knows(self, op: str) -> bool:
        """Can it answer this op?"""
