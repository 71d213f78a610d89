"""Who is asked about evidence: a chat model behind a port, with its window and its way of counting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.evidence.asking import Message, request
from pipeline.evidence.budget import Budget
from pipeline.evidence.bundle import Count
from pipeline.models.protocol import Model
from pipeline.split.grain import TokenCounter

PER_MESSAGE = 8  # tokens that a template puts around a message


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a model said, and what it cost."""

    text: str
    tokens_in: int
    tokens_out: int
    seconds: float


class Chat(Protocol):
    """A model that takes messages."""

    name: str
    window: int  # tokens, input and output together
    reserve: int  # tokens of an answer at most
    safety: int  # tokens that are left free because a count is not the model's own
    counter: str  # what counts, for traces

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat with its template."""

    def complete(self, messages: Sequence[Message], *, thinking: bool | None = None) -> Reply:
        """Answer. Raises CallError."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts evidence as part of a whole request: the template and the question are in the count, then taken off."""

    question: str
    chat: Chat | None
    tokenizer: TokenCounter

    @property
    def name(self) -> str:
        """What counts."""
        return self.chat.counter if self.chat else self.tokenizer.name

    def request(self, evidence: str) -> int:
        """Tokens of the whole request with this evidence."""
        messages = request(self.question, evidence)
        if self.chat:
            return self.chat.count(messages)
        return sum(self.tokenizer.count(message.content) + PER_MESSAGE for message in messages)

    def evidence(self, evidence: str) -> int:
        """Tokens that evidence adds to the request."""
        return max(0, self.request(evidence) - self.request(""))

    def budget(self) -> Budget | None:
        """What the model's window leaves; None without a model that has one."""
        if self.chat is None:
            return None
        chat = self.chat
        return Budget(window=chat.window, fixed=self.request(""), reserve=chat.reserve, safety=chat.safety)


def counting(question: str, chat: Chat | None, tokenizer: TokenCounter) -> tuple[Counted, Count]:
    """How the evidence of a question is counted."""
    made = Counted(question, chat, tokenizer)
    return made, made.evidence


def chat_of(_model: Model) -> Chat | None:
    """A profile's model as something that can be asked freely; None for one that only answers ops."""
    return None
