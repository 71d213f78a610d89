"""A language model as the engine sees it: prompts, budget, one call (or one a part), the answer read and checked."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pipeline import canonical
from pipeline.errors import PipelineError
from pipeline.models.errors import fault
from pipeline.models.llm import answers, narrow, parts, prompts
from pipeline.models.llm.engine import Ask, Completion, Engine
from pipeline.models.llm.fence import fenced
from pipeline.models.llm.tokens import ChatCounter
from pipeline.models.protocol import Answer, Measure, OwnPrompt, Request, Sent
from pipeline.ops.asking import Ask as OpAsk
from pipeline.ops.asking import Material
from pipeline.ops.kinds import Asking, Params
from pipeline.ops.values import Json, OpOutput
from pipeline.retry import CallError, ErrorClass, Usage

MILLION = 1_000_000
BELIEVED = 4.0  # a server's count of tokens is taken where it is within so many times of ours
LEAST_BELIEVED = 64  # tokens: small counts may differ by more, templates add what we do not see
SPLIT_MOST = 64  # parts of one input


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatProfile:
    """What of a profile decides about prompts, keys and prices."""

    window: int  # tokens: input and output together
    output_reserve: int  # max_tokens where the step's sampling says nothing
    sampling: Mapping[str, Json] = field(default_factory=dict)
    thinking: bool | str | None = None
    json_mode: str = "prompt"  # schema, object, or prompt
    system_role: bool = True
    input_price: float = 0.0  # for a million tokens
    output_price: float = 0.0
    timeout_s: float = 600


class ChatModel:
    """Answers ops that say how a language model is asked."""

    def __init__(
        self, *, name: str, identity: str, slots: int, engine: Engine, counter: ChatCounter, profile: ChatProfile
    ) -> None:
        self.name = name
        self.identity = identity
        self.slots = slots
        self.engine = engine
        self.on_wire = engine.on_wire
        self.counter = counter
        self.profile = profile
        self._last = threading.local()
        fixed = prompts.messages("{{ text }}", {"text": ""}, schema=None, show_schema=True, attempt=1)
        taken = profile.output_reserve + counter.safety(profile.window) + counter.count(fixed)
        self.window = max(1, profile.window - taken)

    def knows(self, op: Asking) -> bool:
        """Does the op say how it is asked?"""
        return op.ask is not None

    def sends(self, op: Asking, params: Params, own: OwnPrompt) -> Sent | None:
        """The prompt, the schema and every sampling parameter that the calls of a step will have."""
        assert op.ask is not None
        prompt, schema = op.ask.prompt, op.ask.schema_for(params)
        if op.ask.own_prompt:
            if not own.prompt:
                raise PipelineError(f"{own.where}: op {op.name!r} needs a prompt", hint='prompt = """…{{ text }}…"""')
            prompt, schema = own.prompt, own.schema
            prompts.check_template(prompt, ["text", "before", *params], own.where)
        elif own.prompt or own.schema is not None:
            raise PipelineError(f"{own.where}: op {op.name!r} has a prompt of its own", hint="op prompt takes one")
        if schema is not None:
            answers.check_schema(schema)
        if own.split and op.ask.join is None:
            raise PipelineError(f'{own.where}: on_overlong = "split" is not for op {op.name!r}: it can not join parts')
        return Sent(prompt=prompt, schema=schema, params=self._sent(op.ask, own, schema))

    def _sent(self, ask: OpAsk, own: OwnPrompt, schema: Json) -> dict[str, Json]:
        sampling = {"max_tokens": self.profile.output_reserve, **self.profile.sampling, **own.sampling}
        sent: dict[str, Json] = {"ask": ask.version, "sampling": sampling}
        if self.profile.thinking is not None:
            sent["thinking"] = self.profile.thinking
        if schema is not None and self.profile.json_mode != "prompt":
            sent["json_mode"] = self.profile.json_mode
        if not self.profile.system_role:
            sent["system_role"] = False
        if own.split:
            sent["split"] = self.profile.window
        return sent

    def measure(self, request: Request) -> Measure:
        """The prompt as it will be sent, and the longest answer; of an input that is split, of all its parts."""
        text = request.text or ""
        tokens, room, most = self._count(request, text), self._room(request), _max_tokens(request)
        if tokens <= room:
            return Measure(tokens_in=tokens, tokens_out=most)
        if narrow.narrows(request):
            return narrow.measured(request, self.measure, Measure(tokens_in=room, tokens_out=most))
        pieces = parts.cut(text, lambda part: self._count(request, part) <= room) if request.split else None
        if pieces is None:
            return Measure(tokens_in=0, tokens_out=0, calls=0)
        whole = sum(self._count(request, piece) for piece in pieces if piece.strip())
        return Measure(tokens_in=whole, tokens_out=most * len(pieces), calls=len(pieces))

    def answer(self, request: Request) -> Answer:
        """Ask, and read the answer. Raises CallError, with what the calls used."""
        output, used = self._answered(request, request.text or "", SPLIT_MOST if request.split else 1)
        return Answer(
            output=output,
            tokens_in=used.tokens_in,
            tokens_out=used.tokens_out,
            cost_micros=used.cost_micros,
            calls=used.calls,
        )

    def _answered(self, request: Request, text: str, most: int) -> tuple[OpOutput, Usage]:
        try:
            return self._one(request, text)
        except CallError as error:
            if error.kind is ErrorClass.OVERLONG and narrow.narrows(request):
                output, used = narrow.answered(request, lambda part: self._answered(part, text, most))
                return output, error.used + used
            if error.kind is not ErrorClass.OVERLONG or most < 2:
                raise
            pieces = self._pieces(request, text, counted=error.code == "overlong")
            if pieces is None or len(pieces) > most:
                raise
            spent = error.used
        return self._joined(request, pieces, most // len(pieces), spent)

    def _pieces(self, request: Request, text: str, *, counted: bool) -> list[str] | None:
        if not counted:  # the server counts otherwise than we do
            return parts.halves(text)
        room = self._room(request)
        return parts.cut(text, lambda part: self._count(request, part) <= room)

    def _joined(self, request: Request, pieces: Sequence[str], most: int, used: Usage) -> tuple[OpOutput, Usage]:
        assert request.ask is not None
        assert request.ask.join is not None
        outputs: list[OpOutput] = []
        for start, piece in zip(parts.starts(pieces), pieces, strict=True):
            if not piece.strip():
                continue
            try:
                output, more = self._answered(request, piece, most)
            except CallError as error:
                error.used = error.used + used
                raise
            used = used + more
            outputs.append(parts.moved(output, start))
        return request.ask.join(outputs), used

    def _one(self, request: Request, text: str) -> tuple[OpOutput, Usage]:
        material = self._material(request, text)
        messages, tokens = self._counted(request, text)
        room = self._room(request)
        if tokens > room:
            raise fault(
                "overlong",
                f"The input takes {tokens} tokens with its prompt; {room} of {self.profile.window} are for it",
                used=Usage(calls=0),
            )
        assert request.sent is not None
        ask = Ask(
            messages=messages,
            max_tokens=_max_tokens(request),
            sampling={k: v for k, v in _sampling(request).items() if k != "max_tokens"},
            schema=request.sent.schema,
            name=request.op,
            timeout_s=min(request.timeout_s, self.profile.timeout_s),
        )
        completion = self.engine.complete(ask)
        used = self.used(completion, tokens, ask.max_tokens)
        try:
            return self._read(request, material, completion), used
        except CallError as error:
            error.used = used
            raise

    def _read(self, request: Request, material: Material, completion: Completion) -> OpOutput:
        assert request.ask is not None
        assert request.sent is not None
        said = answers.apart(completion.content)
        _check_finish(completion, said)
        schema = request.sent.schema
        if schema is not None:
            return request.ask.finish(answers.read_json(said.answer, schema), material)
        if answers.refuses(said.answer):
            raise fault("refused", "The model refuses to answer")
        return request.ask.finish(said.answer, material)

    def _material(self, request: Request, text: str) -> Material:
        return Material(text=text, children=request.children, params=request.params, attempt=request.attempt)

    def messages(self, request: Request, material: Material) -> list[prompts.Message]:
        """The chat that asks about some material."""
        assert request.ask is not None
        assert request.sent is not None
        values: dict[str, Json] = dict(request.params)
        values["text"] = fenced(material.text)
        values["before"] = fenced(_shown(material.children[0])) if material.children else ""
        if request.ask.sees is not None:
            values |= request.ask.sees(material)
        try:
            return prompts.messages(
                request.sent.prompt,
                values,
                schema=request.sent.schema,
                show_schema=self.profile.json_mode != "schema",
                attempt=request.attempt,
                system_role=self.profile.system_role,
                shown=request.shown,
            )
        except PipelineError as error:
            raise fault("bad_prompt", error.message) from error

    def _count(self, request: Request, text: str) -> int:
        return self._counted(request, text)[1]

    def _counted(self, request: Request, text: str) -> tuple[list[prompts.Message], int]:
        """A prompt and its tokens. The last one of each thread is kept: it is measured, and then it is asked."""
        asked = (request.sent, request.attempt, request.params, request.children, request.shown, text)
        last: tuple[object, list[prompts.Message], int] | None = getattr(self._last, "made", None)
        if last is not None and last[0] == asked:
            return last[1], last[2]
        messages = self.messages(request, self._material(request, text))
        tokens = self.counter.count(messages)
        self._last.made = (asked, messages, tokens)
        return messages, tokens

    def _room(self, request: Request) -> int:
        """window − output reserve − safety: what system, instructions, history and input may take together."""
        return self.profile.window - _max_tokens(request) - self.counter.safety(self.profile.window)

    def used(self, completion: Completion, tokens_in: int, max_tokens: int) -> Usage:
        """What a call used: as the server counts where that may be right, else by our count (the prompt's is given)."""
        if _believable(completion.tokens_in, tokens_in):
            tokens_in = cast(int, completion.tokens_in)
        written = self.counter.count_text(completion.content + completion.thoughts)
        tokens_out = written
        if completion.tokens_out is not None and 0 <= completion.tokens_out <= max_tokens + LEAST_BELIEVED:
            tokens_out = completion.tokens_out or written
        return Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost_micros=self.price(tokens_in, tokens_out))

    def price(self, tokens_in: int, tokens_out: int) -> int:
        """In millionths, rounded up."""
        return math.ceil(tokens_in * self.profile.input_price + tokens_out * self.profile.output_price)

    def close(self) -> None:
        """Let go of the engine."""
        self.engine.close()


def _sampling(request: Request) -> Mapping[str, Json]:
    assert request.sent is not None
    found: Mapping[str, Json] = request.sent.params["sampling"]
    return found


def _max_tokens(request: Request) -> int:
    return int(_sampling(request)["max_tokens"])


def checked(completion: Completion) -> answers.Said:
    """The answer of a free question, without a schema. Raises CallError for one that is none."""
    said = answers.apart(completion.content)
    _check_finish(completion, said)
    if answers.refuses(said.answer):
        raise fault("refused", "The model refuses to answer")
    return said


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else canonical.dumps(value).decode()


def _believable(said: int | None, ours: int) -> bool:
    if said is None or said <= 0:
        return False
    low, high = min(said, ours), max(said, ours)
    return high - low <= LEAST_BELIEVED or high <= low * BELIEVED


def _check_finish(completion: Completion, said: answers.Said) -> None:
    """Raise for an answer that is none: each has its name."""
    if completion.finish == "length":
        raise fault("truncated", "The answer was cut off at max_tokens", hint="raise output_reserve, or cut smaller")
    if completion.finish == "content_filter":
        raise fault("content_filter", "The provider's filter withheld the answer")
    if completion.refusal:
        raise fault("refused", "The model refuses to answer")
    if said.answer:
        return
    if completion.thoughts or said.thoughts:
        raise fault("thinking_only", "The model thought and gave no answer", hint="set thinking = false")
    raise fault("empty", "The answer is empty")
