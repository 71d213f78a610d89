"""What repositories take and give: frozen values, mapped from rows by hand.

Those of which every chunk makes one are named tuples: a frozen dataclass costs three times as much to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from pipeline.ops.values import Json
from pipeline.read.places import Places
from pipeline.read.reading import LineEnding, Section
from pipeline.states import JobState, Outcome, RevisionState, StepState, TaskState


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRevision:
    """A reading about to be stored."""

    source_sha256: bytes
    source_size: int
    source_mtime_ns: int | None
    text_sha256: bytes
    encoding: str
    reader: str
    reader_version: int
    options: dict[str, object]
    title: str | None
    char_count: int
    line_count: int
    line_endings: tuple[LineEnding, ...]
    warnings: list[object]
    authors: list[object]
    language: str | None
    places: Places | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """A stored reading."""

    id: int
    document_id: UUID
    number: int | None
    state: RevisionState
    source_sha256: bytes
    source_size: int
    source_mtime_ns: int | None
    text_sha256: bytes
    encoding: str
    reader: str
    reader_version: int
    options: dict[str, object]
    char_count: int
    line_count: int
    warnings: list[object]
    authors: list[object]
    language: str | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A container and its current revision, if it has one."""

    id: UUID
    uri: str
    title: str
    media_type: str
    collection: str
    current: Revision | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """The sections of a revision, in reading order, with their places."""

    sections: tuple[Section, ...]


class PagePlace(NamedTuple):
    """A page where it stands in a revision. `section` is the ordinal of the section whose text it holds."""

    page_id: int
    section: int
    start: int
    start_line: int
    chunk_count: int


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk about to be stored; places are relative to its page."""

    content_sha256: bytes
    start: int
    end: int
    line: int
    lead: int
    lead_sha256: bytes | None
    token_count: int
    over_limit: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class NewPage:
    """A page about to be stored, with its chunks in order and their logical ids."""

    unit_sha256: bytes
    part: int
    parts: int
    char_count: int
    line_count: int
    chunks: tuple[NewChunk, ...]
    logical_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored chunk, within its page."""

    page_id: int
    ordinal: int
    logical_id: UUID
    content_sha256: bytes
    start: int
    end: int
    line: int
    lead: int
    lead_sha256: bytes | None
    token_count: int
    over_limit: bool


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """The pages of one unit, in order: (page id, chunk count, characters, line feeds, tokens)."""

    unit_sha256: bytes
    pages: tuple[tuple[int, int, int, int, int], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A stored job."""

    id: UUID
    pipeline_id: int
    pipeline: str
    spec: dict[str, Json]
    selection_sha256: bytes
    state: JobState
    reason: str | None
    resolved: dict[str, Json]
    priority: int
    retry_budget: int
    caps: dict[str, int]  # max_calls, max_tokens, max_cost_micros: those that are set
    estimate: dict[str, Json] | None  # of calls, tokens and cost, made before it began
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One level of a step of a job."""

    id: int
    job_id: UUID
    position: int
    level: int
    name: str
    state: StepState
    planned: int
    total: int | None
    unasked: int = 0  # questions of a merge that its cap left out


class NewTask(NamedTuple):
    """A task about to be stored. `key` None: blocked until the task it comes after is done."""

    ordinal: int
    key: bytes | None
    page_id: int | None = None
    page_ordinal: int | None = None
    inputs: bytes | None = None
    scope: int | None = None


class Claim(NamedTuple):
    """A task that a process holds."""

    id: int
    step_id: int
    ordinal: int
    key: bytes
    epoch: int
    attempt: int
    losses: int
    page_id: int | None
    page_ordinal: int | None
    inputs: bytes | None
    scope: int | None


@dataclass(frozen=True, slots=True)
class Overdue:
    """A leased task whose owner is dead or whose lease ran out."""

    id: int
    step_id: int
    attempt: int
    epoch: int
    owner: str
    losses: int
    key: bytes


@dataclass(frozen=True, slots=True)
class Task:
    """A stored task, as people look at it."""

    id: int
    step_id: int
    ordinal: int
    key: bytes | None
    state: TaskState
    hit: bool
    attempt: int
    losses: int
    error_code: str | None
    page_id: int | None
    page_ordinal: int | None
    not_before_ms: int | None


class NewResult(NamedTuple):
    """An output about to enter the memo."""

    key: bytes
    op: str
    output: bytes
    output_sha256: bytes
    spans: bytes
    tokens_in: int
    tokens_out: int
    cost_micros: int
    latency_ms: int
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """What one call of an op by a model took, read and wrote, on average."""

    seconds: float
    tokens_in: float
    tokens_out: float


@dataclass(frozen=True, kw_only=True, slots=True)
class NewPartition:
    """The parts of one output for one merge."""

    scheme: str  # merge op, its version and the number of shards
    output_sha256: bytes
    parts: bytes  # (shard, hash of the part) pairs
    items: tuple[tuple[int, bytes], ...]  # (shard, the part's items as canonical JSON)


class Dismissal(NamedTuple):
    """That a document of a view is not fresh, and that a person knows: good while it stands as `stamp` names it."""

    uri: str
    stamp: str
    note: str
    made_by: str
    made_at: datetime


class NewAttempt(NamedTuple):
    """One try, as it ended."""

    task_id: int
    number: int
    epoch: int
    owner: str
    started_ms: int
    ended_ms: int
    outcome: Outcome
    error_code: str | None = None
    message: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0
    calls: int = 1  # requests to the model: none for an input that was too long, several for one that was split


@dataclass(slots=True)
class Counts:
    """What was done for one step."""

    calls: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0
    busy_ms: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """What a model was shown for a question."""

    id: UUID
    kind: str
    body: dict[str, Json]
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDecision:
    """What a person decided about a document's entities."""

    id: int
    document_id: UUID
    kind: str
    body: dict[str, Json]
    created_at: datetime
    undone_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A pipeline that is kept fresh over what its selectors name."""

    id: int
    name: str
    pipeline: str
    selectors: tuple[str, ...]
    options: dict[str, Json]
    served_job_id: UUID | None
    refresh: int
    trouble: str | None
    swept_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often a view is swept, and when next."""

    view_id: int
    view: str
    every_s: int
    next_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A document with a current revision, and its chunking by a wanted grain if that revision was cut by it."""

    document: Document
    chunking_id: int | None
