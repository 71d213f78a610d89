"""Who is asked about evidence: a chat model behind a port, with its window and its way of counting."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from pipeline.errors import OctavoError
from pipeline.evidence.asking import Message, request
from pipeline.evidence.budget import Budget
from pipeline.evidence.bundle import Count
from pipeline.models.llm import prompts
from pipeline.models.llm.chat import ChatModel, checked
from pipeline.models.llm.engine import Ask
from pipeline.models.protocol import Model
from pipeline.retry import CallError, Usage
from pipeline.split.grain import TokenCounter
from workers.models.direct import Direct

PER_MESSAGE = 8  # tokens that a template puts around a message


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a model said, and what it cost."""

    text: str
    tokens_in: int
    tokens_out: int
    cost_micros: int
    seconds: float


class AskError(OctavoError):
    """The model gave no answer."""


class Chat(Protocol):
    """A model that takes messages."""

    name: str
    window: int  # tokens, input and output together
    reserve: int  # tokens of an answer at most
    safety: int  # tokens that are left free because a count is not the model's own
    counter: str  # what counts, for traces

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat with its template."""

    def complete(self, messages: Sequence[Message], document: UUID | None = None) -> Reply:
        """Answer; `document` is whose text is sent, where it is one document's. Raises AskError."""


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


class LanguageChat:
    """A language model of a profile, asked freely: its own tokenizer and template count."""

    def __init__(self, model: ChatModel, direct: Direct) -> None:
        self._model = model
        self._direct = direct
        self.name = model.name
        self.window = model.profile.window
        self.reserve = min(int(model.profile.sampling.get("max_tokens") or model.profile.output_reserve), self.window)
        self.safety = model.counter.safety(self.window)
        self.counter = model.counter.name

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat with its template."""
        return self._model.counter.count(self._own(messages))

    def complete(self, messages: Sequence[Message], document: UUID | None = None) -> Reply:
        """Answer, within the profile's limits. Raises AskError for what is no answer: one that was cut off, a refusal,
        a provider that is down or has no room now.
        """
        own = self._own(messages)
        profile = self._model.profile
        sampling = {name: value for name, value in profile.sampling.items() if name != "max_tokens"}
        ask = Ask(messages=own, max_tokens=self.reserve, sampling=sampling, timeout_s=profile.timeout_s)
        tokens = self._model.counter.count(own)
        try:
            return self._direct.call(lambda: self._asked(ask, tokens), tokens=tokens + self.reserve, document=document)
        except CallError as error:
            told = f"Model {self.name!r} gave no answer: {error.code}: {error.message}"
            raise AskError(told, hint=error.hint) from error

    def _asked(self, ask: Ask, tokens: int) -> tuple[Reply, Usage]:
        began = time.perf_counter()
        completion = self._model.engine.complete(ask)
        took = time.perf_counter() - began
        used = self._model.used(completion, tokens, self.reserve)
        try:
            said = checked(completion)
        except CallError as error:
            error.used = used
            raise
        reply = Reply(
            text=said.answer,
            tokens_in=used.tokens_in,
            tokens_out=used.tokens_out,
            cost_micros=used.cost_micros,
            seconds=took,
        )
        return reply, used

    def _own(self, messages: Sequence[Message]) -> list[prompts.Message]:
        """As the model takes them: one that knows no system message gets it before the question."""
        if self._model.profile.system_role:
            return [prompts.Message(message.role, message.content) for message in messages]
        return [prompts.Message("user", "\n\n".join(message.content for message in messages))]


def chat_of(model: Model, direct: Callable[[], Direct]) -> Chat | None:
    """A profile's model as something that can be asked freely; None for one that only answers ops."""
    return LanguageChat(model, direct()) if isinstance(model, ChatModel) else None
