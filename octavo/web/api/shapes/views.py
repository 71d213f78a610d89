"""Views: pipelines kept fresh over documents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from octavo.web.api.shapes.base import Given, JobWord

VIEW_NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"


class ViewStanding(BaseModel):
    """Where a view stood when it was last looked at, which takes a look at each of its files."""

    state: Literal["fresh", "stale", "missing"]
    documents: int
    fresh: int
    stale: int
    missing: int
    withdrawn: int
    new: int
    holes: int
    lost: int = Field(description="Results that are gone from the memo.")
    dismissed: int = Field(description="Of those not fresh, how many a person has dismissed as they are.")
    attention: bool = Field(description="Is something not fresh that nobody has dismissed?")
    why: list[str]
    causes: dict[str, int] = Field(description="How many documents each cause made stale.")
    as_of_ms: int


class View(BaseModel):
    """A view. What it serves is its last whole refresh."""

    name: str
    pipeline: str
    selectors: list[str]
    options: dict[str, Any]
    every_s: int | None
    refresh: int
    served: UUID | None = Field(description="The job whose result it serves.")
    job: UUID | None = Field(description="A refresh that is under way, or that ended without being served.")
    job_state: JobWord | None
    because: str | None = Field(description="Why that refresh does not move, where it does not.")
    swept_at: datetime | None
    trouble: str | None
    standing: ViewStanding | None = Field(description="None while it is looked at for the first time: ask again.")


class Dismissed(BaseModel):
    """Who knows that a document is not fresh, and says that it is no trouble."""

    note: str
    by: str
    at: datetime


class ViewDocument(BaseModel):
    """A document of a view."""

    item: int
    document: str
    uri: str
    state: Literal["fresh", "stale", "missing", "withdrawn", "new"]
    why: list[str]
    revision: int | None
    served: int | None
    chunks: int
    holes: int
    lost: int
    stamp: str | None = Field(description="Names the state that it is in, where that is not fresh.")
    dismissed: Dismissed | None


class Dismiss(Given):
    """Dismiss the staleness of a view's documents as they stand now: any change more, and they are told anew."""

    note: Annotated[str, Field(min_length=1, max_length=1000)] = Field(examples=["only a typo: the next sweep will do"])
    uris: Annotated[list[Annotated[str, Field(max_length=4000)]], Field(max_length=500)] = Field(
        default=[], description="Of these documents; of none named: of all that are not fresh."
    )


class NewView(Given):
    """Keep a built-in pipeline fresh over documents that are in. Files and folders are chosen by `octavo view add`."""

    name: Annotated[str, Field(pattern=VIEW_NAME)] = Field(examples=["names"])
    pipeline: Annotated[str, Field(min_length=1, max_length=64)] = "summary"
    documents: Annotated[list[UUID], Field(min_length=1, max_length=1000)]
    model: Annotated[str, Field(max_length=200)] | None = None
    every_s: Annotated[int, Field(ge=1, le=31_536_000, description="Have it swept so often.")] | None = None
