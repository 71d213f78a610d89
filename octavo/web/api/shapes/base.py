"""What all shapes share."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")

MOST = 500
BIGGEST = 2**63 - 1

JobWord = Literal["running", "paused", "done", "holes", "failed", "cancelled"]
TaskWord = Literal["blocked", "ready", "dispatched", "leased", "waiting_key", "done", "failed", "waived", "cancelled"]
ScopeWord = Literal["read", "run", "admin"]


class Given(BaseModel):
    """A body that a caller sends: nothing in it that is not known."""

    model_config = ConfigDict(extra="forbid", str_max_length=10_000)


class Page(BaseModel, Generic[T]):
    """A part of a list. `next_cursor` leads on; without it this was the last part."""

    items: list[T]
    next_cursor: str | None = None
    total: int | None = Field(default=None, description="Only with `count=true`.")
