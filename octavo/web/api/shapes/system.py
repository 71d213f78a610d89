"""Operations, usage, workers and tokens."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from octavo.web.api.shapes.base import Given, ScopeWord


class Operation(BaseModel):
    """Something asked for that takes a while."""

    id: UUID
    kind: str
    state: Literal["waiting", "running", "done", "failed"]
    request: dict[str, Any]
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    created_at: datetime
    finished_at: datetime | None


class Usage(BaseModel):
    """What jobs of one pipeline that began on one day spent. Money is in millionths of the profile's currency."""

    day: date
    pipeline: str
    jobs: int
    calls: int
    retries: int
    tokens_in: int
    tokens_out: int
    cost_micros: int
    busy_ms: int
    failed_calls: int | None = Field(description="Tries that failed and used something; None: being added up.")
    failed_micros: int | None = Field(description="What those cost.")
    saved_calls: int | None = Field(description="Results that the memo knew.")
    saved_micros: int | None = Field(description="What those would have cost.")


class Token(BaseModel):
    """A token, without its secret."""

    id: UUID
    name: str
    scope: ScopeWord
    created_at: datetime
    expires_at: datetime | None
    used_on: date | None


class NewToken(Token):
    """A token that was just made: its secret is shown this once."""

    secret: str


class Queue(BaseModel):
    """A queue of tasks. `waiting` are ready or rung for, `running` are held, of jobs that run."""

    queue: str
    workers: int
    slots: int = Field(description="Of the workers that serve it; one may serve several.")
    waiting: int
    running: int


class Worker(BaseModel):
    """A worker process."""

    owner: str
    host: str
    pid: int
    queues: str
    slots: int
    started_ms: int
    beat_ms: int


class MakeToken(Given):
    """A new token."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    scope: ScopeWord = "read"
    days: Annotated[int, Field(ge=1, le=3650)] | None = None
