"""Jobs, their steps, holes and outputs, and what people ask of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from octavo.web.api.shapes.base import BIGGEST, Given, JobWord, Page


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
    eta_s: int | None = Field(
        description="Seconds until its planned tasks are done, at the pace of the last minute; None when nothing moves."
    )
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
    pace: float | None = Field(description="Tasks a second in the last minute.")
    steps: list[Step]


class JobDocument(BaseModel):
    """A document of a job, at the revision the job works on."""

    ordinal: int
    document: UUID
    title: str
    revision: int | None


class Happened(BaseModel):
    """Something that happened to a job."""

    sequence: int
    at_ms: int
    state: str | None = Field(description="The state that it came to, if that is what happened.")
    says: str | None


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
    runs: list[Annotated[list[int], Field(min_length=3, max_length=3)]]


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
