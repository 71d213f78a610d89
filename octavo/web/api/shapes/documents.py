"""Documents and the books that come in."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from octavo.web.api.shapes.base import BIGGEST, Given, JobWord, Page

Freshness = Literal["fresh", "dismissed", "stale", "missing", "withdrawn", "new"]


class LatestJob(BaseModel):
    """The latest job of a document."""

    id: UUID
    pipeline: str
    state: JobWord
    tasks: int
    done: int
    holes: int
    cost_micros: int = Field(description="Of all its documents together.")


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
    freshness: Freshness | None = Field(
        default=None, description="The worst of the views over it; None: there is none, or it is being looked at."
    )


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
    changes: dict[str, int] = Field(description="Chunks kept, edited, moved, added, removed, by the finest grain.")


class Change(BaseModel):
    """A chunk that two revisions do not have alike, or a page of several that moved."""

    item: int
    what: Literal["edited", "moved", "added", "removed"]
    chunk: UUID | None
    ordinal: int
    chunks: int
    section: str
    start_line: int | None = Field(description="In the later revision.")
    was_line: int | None = Field(description="In the earlier one.")
    before: str | None = Field(description="The text about the first difference.")
    after: str | None


class Changes(Page[Change]):
    """What changed between two revisions."""

    before: int
    revision: int
    counts: dict[str, int] = Field(description="Chunks kept, edited, moved, added, removed.")
    more: int = Field(description="Changes beyond the 2,000 that are told.")


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
    """A chunk where it stands in the newest revision of a document that its grain cut."""

    document: UUID
    title: str
    revision: int
    current: bool = Field(description="Is that the document's current revision?")


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


class Upload(BaseModel):
    """A book that comes in. Send the rest of it, from `received` on, by PATCH."""

    id: UUID
    name: str
    size: int
    received: int
    pipeline: str
    start: bool
    operation: UUID | None


class NewUpload(Given):
    """Announce a book."""

    name: Annotated[str, Field(min_length=1, max_length=200)] = Field(examples=["novel.txt"])
    size: Annotated[int, Field(ge=0, le=BIGGEST)]
    pipeline: Annotated[str, Field(min_length=1, max_length=64)] = "summary"
    start: bool = Field(default=False, description="Begin a job of the pipeline as soon as the book is in.")
