"""What lists give: one frozen value a row, small enough that a page of them is small."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from pipeline.ops.values import Json
from pipeline.states import JobState


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentLine:
    """A document in a list."""

    id: UUID
    uri: str
    title: str
    media_type: str
    collection: str
    created_at: datetime
    revision_id: int | None
    revision: int | None
    char_count: int
    line_count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class JobLine:
    """A job in a list: without what was resolved for it, which grows with its documents."""

    id: UUID
    pipeline: str
    state: JobState
    reason: str | None
    priority: int
    created_at: datetime
    finished_at: datetime | None
    documents: int
    first_document: UUID | None
    title: str  # of its first document


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskLine:
    """A task in a list."""

    id: int
    step_id: int
    step: str
    level: int
    position: int
    ordinal: int
    state: str
    hit: bool
    attempt: int
    losses: int
    error_code: str | None
    not_before_ms: int | None
    key: bytes | None
    page_id: int | None
    page_ordinal: int | None
    lease_owner: str | None
    lease_until_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class HoleGroup:
    """Holes of one step that failed with the same code."""

    job_id: UUID
    pipeline: str
    step: str
    position: int
    code: str
    count: int
    first: int  # the lowest ordinal
    level: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Beside:
    """What jobs paid for in vain, and what the memo saved them. Money is in millionths of the profile's currency."""

    failed_calls: int = 0
    failed_micros: int = 0
    saved_calls: int = 0
    saved_micros: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What jobs of one pipeline that began on one day spent."""

    day: date
    pipeline: str
    jobs: int
    calls: int
    retries: int
    tokens_in: int
    tokens_out: int
    cost_micros: int
    busy_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A bearer token or a session, without its secret."""

    id: UUID
    name: str
    kind: str
    scope: str
    created_at: datetime
    expires_at: datetime | None
    used_on: date | None
    revoked_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """Something asked for that takes a while."""

    id: UUID
    kind: str
    state: str
    request: dict[str, Json]
    result: dict[str, Json] | None
    error: dict[str, Json] | None
    owner: str | None
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A book that comes in by HTTP."""

    id: UUID
    name: str
    size: int
    pipeline: str
    start: bool
    operation_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What a viewer of a job is told."""

    job_id: UUID
    sequence: int
    at_ms: int
    kind: str
    data: bytes
