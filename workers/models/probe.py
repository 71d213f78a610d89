"""What a model and its server really do, found out by asking: `octavo models test` and `octavo models probe`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.models.errors import fault
from pipeline.models.llm import answers
from pipeline.models.llm.chat import ChatModel
from pipeline.models.llm.engine import Ask, Completion
from pipeline.models.llm.prompts import Message
from pipeline.ops.values import Json
from pipeline.retry import CallError, Usage
from workers.models.direct import Direct

SHORT = 64  # tokens of the answers that a probe asks for
THINKING = 512  # of one that may think first
SCHEMA: Json = {
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}
Raw = Callable[..., Mapping[str, Any]]  # one chat completion with more fields in its body; the whole answer
_WORDS = "The ferry crossed the river at dawn and nobody spoke until it had landed. "
_MOST_WINDOW = 1 << 20


@dataclass(kw_only=True, slots=True)
class Found:
    """One thing that was looked for: what is, and what the profile might say of it."""

    name: str
    says: str
    advice: str = ""  # a line for octavo.toml


@dataclass(slots=True)
class Probe:
    """Asks one server, a few short questions."""

    model: ChatModel
    raw: Raw
    found: list[Found] = field(default_factory=list)
    calls: int = 0

    def run(self) -> list[Found]:
        """All questions. Raises CallError when the server does not answer even the simplest."""
        self._tokens()
        self._json("schema", {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}})
        self._json("object", {"type": "json_object"})
        self._seed()
        self._logprobs()
        self._thinking()
        self._window()
        return self.found

    def _note(self, name: str, says: str, advice: str = "") -> None:
        self.found.append(Found(name=name, says=says, advice=advice))

    def _ask(self, text: str, *, max_tokens: int = SHORT, **body: Json) -> Mapping[str, Any]:
        self.calls += 1
        return self.raw(text, max_tokens=max_tokens, **body)

    def _tokens(self) -> None:
        text = f"{_WORDS * 20}\nSay yes."
        began = time.monotonic()
        body = self._ask(text, temperature=0)
        took = time.monotonic() - began
        ours = self.model.counter.count([Message("user", text)])
        theirs = (body.get("usage") or {}).get("prompt_tokens")
        self._note("answers", f"in {took:.1f} s")
        if not isinstance(theirs, int) or theirs <= 0:
            self._note("tokens", f"the server counts none, {self.model.counter.name} counts {ours}")
            return
        off = 100 * (ours - theirs) / theirs
        advice = "" if self.model.counter.exact or abs(off) < 2 else f"token_factor = {theirs / max(1, ours):.3f}"
        self._note("tokens", f"the server counts {theirs}, {self.model.counter.name} {ours} ({off:+.1f} %)", advice)

    def _json(self, mode: str, form: Json) -> None:
        try:
            body = self._ask("Name the colour of the sky, as JSON.", temperature=0, response_format=form)
            answers.read_json(answers.apart(_content(body)).answer, SCHEMA if mode == "schema" else {"type": "object"})
        except CallError as error:
            self._note(f"JSON by {mode}", f"no ({error.code})")
            return
        self._note(f"JSON by {mode}", "yes", f'json_mode = "{mode}"')

    def _seed(self) -> None:
        said = []
        try:
            for seed in (7, 7, 8):
                body = self._ask("Tell of a ship, in one long sentence.", temperature=1.0, seed=seed)
                said.append(_content(body))
        except CallError as error:
            self._note("seeds", f"no ({error.code})")
            return
        self._note("seeds", "kept" if said[0] == said[1] != said[2] else "not kept, or not told apart")

    def _logprobs(self) -> None:
        try:
            body = self._ask("Say yes.", logprobs=True)
        except CallError as error:
            self._note("logprobs", f"no ({error.code})")
            return
        self._note("logprobs", "yes" if (body.get("choices") or [{}])[0].get("logprobs") else "no")

    def _thinking(self) -> None:
        try:
            body = self._ask("What is 17 times 23?", max_tokens=THINKING, temperature=0)
        except CallError as error:
            self._note("thinking", f"not known ({error.code})")
            return
        message = (body.get("choices") or [{}])[0].get("message") or {}
        thoughts = (
            message.get("reasoning_content") or message.get("reasoning") or answers.apart(_content(body)).thoughts
        )
        self._note(
            "thinking", "it thinks first" if thoughts else "it answers at once", "thinking = false" if thoughts else ""
        )

    def _window(self) -> None:
        """The largest prompt that is taken: doubled until it is not, never beyond twice what the profile says."""
        told = self.model.profile.window
        size, taken = told // 2, 0
        while size <= min(_MOST_WINDOW, told * 2):
            words = max(1, size // max(1, self.model.counter.count_text(_WORDS)))
            try:
                self._ask(_WORDS * words, max_tokens=1)
            except CallError as error:
                if error.code not in ("context_length", "bad_request", "server_error"):
                    self._note("context window", f"not known ({error.code})")
                    return
                break
            taken, size = size, size * 2
        says = f"a prompt of {taken} tokens is taken" if taken else f"a prompt of {told // 2} tokens is refused"
        self._note("context window", f"{says}; the profile says {told}", "" if taken else "context_window = …")


def _content(body: Mapping[str, Any]) -> str:
    try:
        return str(body["choices"][0]["message"].get("content") or "")
    except (LookupError, TypeError, AttributeError):
        raise fault("bad_response", "The server's answer has no choices[0].message") from None


def counted(
    model: ChatModel, raw: Callable[..., Mapping[str, Any]], direct: Direct
) -> Callable[..., Mapping[str, Any]]:
    """A way to ask within the model's limits, each call counted in `octavo usage`."""

    def ask(text: str, *, max_tokens: int, **body: Json) -> Mapping[str, Any]:
        tokens = model.counter.count([Message("user", text)])

        def make() -> tuple[Mapping[str, Any], Usage]:
            found = raw(text, max_tokens=max_tokens, **body)
            told = found.get("usage") or {}
            read, written = (told.get(name) for name in ("prompt_tokens", "completion_tokens"))
            said = Completion(
                content=_content(found),
                finish="stop",
                tokens_in=read if isinstance(read, int) else None,
                tokens_out=written if isinstance(written, int) else None,
            )
            return found, model.used(said, tokens, max_tokens)

        return direct.call(make, tokens=tokens + max_tokens)

    return ask


def try_out(model: ChatModel, direct: Direct) -> tuple[Completion, float]:
    """One short question: the answer and its seconds. Raises CallError."""
    sampling = {name: value for name, value in model.profile.sampling.items() if name != "max_tokens"}
    most = min(THINKING, model.profile.output_reserve)
    ask = Ask(
        messages=[Message("user", "Say yes.")], max_tokens=most, sampling=sampling, timeout_s=model.profile.timeout_s
    )
    tokens = model.counter.count(ask.messages)

    def make() -> tuple[tuple[Completion, float], Usage]:
        began = time.monotonic()
        found = model.engine.complete(ask)
        return (found, time.monotonic() - began), model.used(found, tokens, most)

    return direct.call(make, tokens=tokens + most, tries=1)
