"""What a model is to the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.ops.asking import Ask
from pipeline.ops.kinds import Asking, Params
from pipeline.ops.values import Json, OpOutput


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One question: a map op's chunk (`text`) or a reduce node's children."""

    op: str
    params: Params
    text: str | None = None
    children: Sequence[Json] = ()  # of a map after a map: the one output it comes after
    tokens: int = 0  # of the text, by the grain's tokenizer
    ask: Ask | None = None  # how a language model is asked
    sent: Sent | None = None  # what the job resolved of that when it was planned
    attempt: int = 1
    timeout_s: float = 600
    split: bool = False  # an input that is too long is cut into parts
    shown: str = ""  # what stands around the chunk: to be known, not to be worked on


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What a language model is sent beside its input: part of the key, so resolved once, when the job is planned."""

    prompt: str  # the op's template
    schema: Json
    params: Mapping[str, Json] = field(default_factory=dict)  # sampling, max_tokens, thinking, form of the answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A model's (or a plain function's) answer, validated, with what it used."""

    output: OpOutput
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0
    calls: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """What a request will use, known before the call."""

    tokens_in: int  # as sent, prompt and all
    tokens_out: int  # at most
    calls: int = 1  # 0: the input fits no call


class Model(Protocol):
    """Answers requests. Safe to call from `slots` threads at once."""

    name: str
    identity: str  # goes into every key: changes whenever an answer could
    slots: int  # calls in flight at once
    window: int  # tokens that one request may hold
    on_wire: bool  # its calls wait for a server: a slot is held while one does, not before or after

    def answer(self, request: Request) -> Answer:
        """Answer, or raise pipeline.retry.CallError with the class of what went wrong."""

    def knows(self, op: Asking) -> bool:
        """Can it answer this op?"""

    def sends(self, op: Asking, params: Params, own: OwnPrompt) -> Sent | None:
        """What goes into the keys of a step beside op and parameters. Raises PipelineError for what can not be."""

    def measure(self, request: Request) -> Measure:
        """What the answer will use: for a plan, and for what a limit is asked before the call."""

    def price(self, tokens_in: int, tokens_out: int) -> int:
        """What so many tokens cost, in millionths of the profile's currency."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnPrompt:
    """What a pipeline's step says itself about how a model is asked."""

    where: str  # the step, for errors
    prompt: str | None = None
    schema: Json = None
    sampling: Mapping[str, Json] = field(default_factory=dict)
    split: bool = False
