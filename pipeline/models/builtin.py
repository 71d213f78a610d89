"""The `extractive` model: built in, deterministic, no download, no network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from pipeline.errors import PipelineError
from pipeline.models import extractive
from pipeline.models.protocol import Answer, Measure, OwnPrompt, Request
from pipeline.ops.kinds import Asking, Params
from pipeline.ops.values import OpOutput
from pipeline.retry import CallError, ErrorClass


def _summarize(request: Request) -> OpOutput:
    return extractive.summarize(request.text or "", sentences=cast(int, request.params["sentences"]))


def _extract(request: Request) -> OpOutput:
    return extractive.extract(request.text or "")


def _fold(request: Request) -> OpOutput:
    return extractive.fold_summary(request.children, sentences=cast(int, request.params["sentences"]))


def _outline(request: Request) -> OpOutput:
    return extractive.headline(request.children, terms=cast(int, request.params["terms"]))


def _facts(request: Request) -> OpOutput:
    return extractive.facts(request.text or "")


_ANSWERS: dict[str, Callable[[Request], OpOutput]] = {
    "summarize": _summarize,
    "extract": _extract,
    "facts": _facts,
    "fold_summary": _fold,
    "outline": _outline,
}


class ExtractiveModel:
    """Answers from the text alone, by statistics."""

    name = "extractive"
    identity = f"extractive/{extractive.EXTRACTIVE_VERSION}"
    window = 1_000_000_000
    on_wire = False

    def __init__(self, slots: int) -> None:
        self.slots = slots

    def answer(self, request: Request) -> Answer:
        """Answer one of the ops it knows. It reads tokens and writes none of its own: quotes are the book's."""
        found = _ANSWERS.get(request.op)
        if found is None:
            raise CallError(ErrorClass.PERMANENT, "unknown_op", f"The extractive model does not know op {request.op!r}")
        return Answer(output=found(request), tokens_in=request.tokens)

    def knows(self, op: Asking) -> bool:
        """Is it one of the built-in text ops?"""
        return op.name in _ANSWERS

    def sends(self, _op: Asking, _params: Params, own: OwnPrompt) -> None:
        """It is sent the text and no prompt. Raises PipelineError when the step has one."""
        if own.prompt or own.schema is not None or own.sampling:
            raise PipelineError(
                f"{own.where} has a prompt, a schema or sampling, and the extractive model takes none",
                hint="name a model of octavo.toml with --model, or as model in the step",
            )

    def measure(self, request: Request) -> Measure:
        """The tokens of the text: it writes none."""
        return Measure(tokens_in=request.tokens, tokens_out=0)

    def price(self, _tokens_in: int, _tokens_out: int) -> int:
        """Nothing."""
        return 0

    @staticmethod
    def ops() -> Sequence[str]:
        """Names of the ops it knows."""
        return sorted(_ANSWERS)
