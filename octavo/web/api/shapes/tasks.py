"""Tasks and their tries."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import BaseModel

from octavo.web.api.shapes.base import TaskWord


class Place(BaseModel):
    """Where a map task's chunk stands."""

    document: UUID
    title: str
    section: str
    chunk: UUID
    start_line: int
    start: int
    end: int


class Task(BaseModel):
    """A unit of work: one chunk, or one reduce node."""

    id: int
    step: str
    level: int
    ordinal: int
    state: TaskWord
    hit: bool
    attempt: int
    losses: int
    error: str | None
    not_before_ms: int | None
    key: str | None
    owner: str | None
    place: Place | None


class TaskDetail(Task):
    """A task with its output, where it has one."""

    job: UUID
    output: Any = None
    result: dict[str, Any] | None = None


class ChunkTask(BaseModel):
    """What a job made of a chunk. `text_sha256` is of the text that it saw."""

    id: int
    job: UUID
    pipeline: str
    step: str
    ordinal: int
    state: TaskWord
    hit: bool
    attempt: int
    error: str | None
    key: str | None
    text_sha256: str


class Attempt(BaseModel):
    """One try of a task."""

    id: int
    number: int
    owner: str
    started_ms: int
    ended_ms: int
    outcome: str
    error: str | None
    message: str | None
    tokens_in: int
    tokens_out: int
