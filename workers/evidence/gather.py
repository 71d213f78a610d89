"""A question's evidence, packed for a model: the same for the command line, the HTTP API and the pages."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.errors import UsageError
from pipeline.ops.values import Json
from pipeline.spec import GrainSpec
from workers.evidence.chat import Chat, Counted, chat_of, counting
from workers.evidence.context import Bundle, Wanted, bundle, ranked
from workers.runtime import Runtime

USUAL_BUDGET = 2000  # tokens, where the model has no window that says how many


def _silent(_text: str) -> None:
    """Nobody looks on."""


def chat_for(
    runtime: Runtime, model: str, thinking: bool | None, kind: str, tell: Callable[[str], None] = _silent
) -> Chat | None:
    """The model that is asked, made to think or not where that is said; None for the extractive one.

    Its calls are counted as of a `kind`; who waits for one that is put off is told so.
    """
    if thinking is not None:
        runtime.think(model, thinking)
    return chat_of(runtime.model(model), lambda: runtime.direct(kind, model, tell))


def gather(
    runtime: Runtime,
    wanted: Wanted,
    *,
    budget: int | None,
    kind: str = "context",
    model: str | None = None,
    thinking: bool | None = None,
    index: bool = True,
    tell: Callable[[str], None] = _silent,
) -> tuple[Bundle, Chat | None, Counted]:
    """The bundle of a question, its trace stored, with the model it is for and how it was counted.

    `index`: bring the index up to date first. Raises UsageError for a budget that the model's window does not leave.
    """
    name = model or runtime.settings.model
    chat = chat_for(runtime, name, thinking, kind, tell)
    counted, count = counting(wanted.question, chat, runtime.cutting(GrainSpec()).counter)
    whole = counted.budget()
    left = whole.evidence if whole else None
    if budget is not None and left is not None and budget > left:
        raise UsageError(f"A budget of {budget} does not fit: {name} leaves {left} tokens")
    more: dict[str, Json] = {"model": name, "window": whole.as_json() if whole else None}
    made = bundle(
        runtime.database,
        wanted,
        ranked(runtime.database, wanted, index=index),
        budget=budget or left or USUAL_BUDGET,
        count=count,
        counter=counted.name,
        more=more,
        kind=kind,
    )
    return made, chat, counted
