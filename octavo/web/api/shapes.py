"""What the API takes and gives."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

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


class LatestJob(BaseModel):
    """The latest job of a document."""

    id: UUID
    pipeline: str
    state: JobWord
    holes: int


class Document(BaseModel):
    """A document: a container with its current revision."""

    id: UUID
    title: str
    uri: str
    media_type: str
    collection: str
    created_at: datetime
    revision: int | None
    characters: int
    lines: int
    chunks: int
    tokens: int
    latest_job: LatestJob | None


class Revision(BaseModel):
    """One immutable reading of a document."""

    revision: int
    state: Literal["current", "superseded"]
    created_at: datetime
    encoding: str
    reader: str
    characters: int
    lines: int
    source_bytes: int
    source_sha256: str
    text_sha256: str
    warnings: list[Any]


class Section(BaseModel):
    """A node of a document's own structure. `start` and `end` count characters of the text."""

    ordinal: int
    parent: int | None
    title: str
    kind: str
    level: int
    start: int
    end: int
    start_line: int
    end_line: int


class Chunk(BaseModel):
    """A span of a revision's text: `text[start:end]`, exactly."""

    id: UUID
    ordinal: int
    section: str
    start: int
    end: int
    start_line: int
    end_line: int
    tokens: int
    over_limit: bool
    text_sha256: str
    text: str | None = None


class ChunkPlace(Chunk):
    """A chunk where it stands in the current revision of a document."""

    document: UUID
    title: str
    revision: int


class Line(BaseModel):
    """A line of a text. `start` counts characters from the text's beginning; `cut`: the line goes on."""

    number: int
    start: int
    text: str
    cut: bool


class Text(BaseModel):
    """A window of a revision's text."""

    document: UUID
    revision: int
    first_line: int
    lines: list[Line]
    next_line: int | None
    previous_line: int | None
    total_lines: int


class Step(BaseModel):
    """One level of a step of a job."""

    step: str
    position: int
    level: int
    state: Literal["planning", "running", "complete"]
    tasks: int
    done: int
    hits: int
    running: int
    retrying: int
    holes: int
    waived: int
    calls: int
    retries: int
    tokens_in: int
    tokens_out: int
    cost_micros: int
    busy_ms: int


class Job(BaseModel):
    """A job in a list. Money is in millionths of the profile's currency."""

    id: UUID
    pipeline: str
    title: str
    documents: int
    document: UUID | None
    state: JobWord
    because: str | None = Field(description="Why it does not move, where it does not.")
    priority: int
    tasks: int
    done: int
    running: int
    retrying: int
    holes: int
    calls: int
    tokens: int
    cost_micros: int
    created_at: datetime
    finished_at: datetime | None


class JobDetail(Job):
    """A job with its steps."""

    hits: int
    waived: int
    retries: int
    tokens_in: int
    tokens_out: int
    busy_ms: int
    steps: list[Step]


class JobDocument(BaseModel):
    """A document of a job, at the revision the job works on."""

    ordinal: int
    document: UUID
    title: str
    revision: int | None


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


class HoleGroup(BaseModel):
    """Holes of one step that failed with the same code."""

    job: UUID
    pipeline: str
    step: str
    level: int
    error: str
    count: int
    first: int = Field(description="The lowest ordinal.")


class ChunkMap(BaseModel):
    """States of chunks in reading order, as runs [first cell, cells, index into `codes`]."""

    step: str
    total: int
    cells: int
    codes: list[str]
    runs: list[tuple[int, int, int]]


class Output(Page[Any]):
    """What a job gave: a document's head, then its items (chapters, sections, entries, chunk results)."""

    kind: str
    head: dict[str, Any]


class Pipeline(BaseModel):
    """A pipeline that can be run."""

    name: str
    builtin: bool
    description: str
    digest: str
    spec: dict[str, Any]


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


class Worker(BaseModel):
    """A worker process."""

    owner: str
    host: str
    pid: int
    queues: str
    slots: int
    started_ms: int
    beat_ms: int


class Upload(BaseModel):
    """A book that comes in. Send the rest of it, from `received` on, by PATCH."""

    id: UUID
    name: str
    size: int
    received: int
    pipeline: str
    start: bool
    operation: UUID | None


class StartJob(Given):
    """Begin a job of a pipeline over documents, at their current revisions."""

    pipeline: str | dict[str, Any] = Field(
        description="The name of a built-in pipeline, or one written out as its TOML file would be.",
        examples=["summary"],
    )
    documents: Annotated[list[UUID], Field(min_length=1, max_length=10_000)]


class Selecting(Given):
    """Which holes: all that are left out count as any."""

    step: Annotated[str, Field(max_length=200)] | None = None
    error: Annotated[str, Field(max_length=200)] | None = None
    ordinals: Annotated[list[Annotated[int, Field(ge=0, le=BIGGEST)]], Field(max_length=1000)] | None = None


class Repair(Given):
    """Retry or waive holes: all, or those of a filter."""

    filter: Selecting = Selecting()
    expected_count: Annotated[int, Field(ge=0, le=BIGGEST)] | None = Field(
        default=None, description="How many there must be: else nothing is done (409)."
    )
    dry_run: bool = False


class Priority(Given):
    """A job's share: each step up doubles it."""

    priority: Annotated[int, Field(ge=-6, le=6)]


class NewUpload(Given):
    """Announce a book."""

    name: Annotated[str, Field(min_length=1, max_length=200)] = Field(examples=["novel.txt"])
    size: Annotated[int, Field(ge=0, le=BIGGEST)]
    pipeline: Annotated[str, Field(min_length=1, max_length=64)] = "summary"
    start: bool = Field(default=False, description="Begin a job of the pipeline as soon as the book is in.")


class MakeToken(Given):
    """A new token."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    scope: ScopeWord = "read"
    days: Annotated[int, Field(ge=1, le=3650)] | None = None
