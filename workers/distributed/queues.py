"""Queues by kind of work, and the messages on them: ids only, at most 1 KB (DESIGN §3)."""

from __future__ import annotations

import unicodedata

from workers.planning.plan import StepPlan

CALL = "octavo.call"  # calls that wait for a network: many threads
COMPUTE = "octavo.compute"  # models that compute in the worker: as many as there are cores
CHEAP = "octavo.cheap"  # ops and reduce nodes that ask no model
CONTROL = "octavo.control"  # a job has begun or changed: look at once
QUEUES = (CALL, COMPUTE, CHEAP, CONTROL)

_SHOWN = 30  # characters of a title in what Flower shows
_BYTES = 96  # of what Flower shows: a message of many ids stays under 1 KB


def queue_for(plan: StepPlan, provider: str) -> str:
    """The queue of a step's tasks."""
    return queue_of(plan.model, provider)


def queue_of(model: str | None, provider: str) -> str:
    """The queue of tasks that ask a model, by the model's provider; of those that ask none."""
    if model is None:
        return CHEAP
    return COMPUTE if provider in ("extractive", "mlx") else CALL


def readable(document: str, section: str, ordinal: int, step: str) -> str:
    """How a task reads in Flower: document slug, chapter, chunk, step. Titles only, no text of the book."""
    parts = (_slug(document), " ".join(section.split())[:_SHOWN], f"chunk {ordinal}", step)
    return " · ".join(part for part in parts if part)


def readable_node(document: str, step: str, level: int, ordinal: int) -> str:
    """How a reduce node reads in Flower."""
    return f"{_slug(document)} · {step} · level {level} · node {ordinal}"


def readable_batch(first: str, count: int) -> str:
    """How a message of `count` tasks reads in Flower, given how its first task does."""
    shown = first.encode()[:_BYTES].decode("utf-8", "ignore")
    return shown if count == 1 else f"{shown} and {count - 1} more"


def _slug(title: str) -> str:
    plain = unicodedata.normalize("NFKC", title).casefold()
    return "-".join("".join(char if char.isalnum() else " " for char in plain).split())[:_SHOWN]
