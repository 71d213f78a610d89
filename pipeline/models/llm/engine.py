"""The port between a chat model and what makes its text: a server or a model in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.models.llm.prompts import Message
from pipeline.ops.values import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One request."""

    messages: Sequence[Message]
    max_tokens: int
    sampling: Mapping[str, Json] = field(default_factory=dict)  # temperature, top_p, seed …: what was set, no more
    schema: Json = None  # for a server that keeps answers to a schema
    name: str = "answer"  # of the schema
    timeout_s: float = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """What came back. `tokens_*` None: the engine did not say, or said what can not be."""

    content: str
    finish: str  # stop, length, content_filter, or what else the engine says
    thoughts: str = ""
    refusal: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None


class Engine(Protocol):
    """Makes text. Safe to call from many threads."""

    on_wire: bool  # its calls wait for a server (workers.wire)

    def complete(self, ask: Ask) -> Completion:
        """Answer one request, or raise CallError with one of the names of pipeline.models.errors."""

    def close(self) -> None:
        """Let go of connections and memory."""
