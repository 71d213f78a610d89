"""Search, evidence, answers and their traces; entities and what people decided about them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from octavo.web.api.shapes.base import BIGGEST, Given, Page, TaskWord


class Hit(BaseModel):
    """A chunk that was found."""

    score: float
    document: UUID
    title: str
    section: str
    chunk: UUID
    start_line: int
    end_line: int
    text: str


class Hits(Page[Hit]):
    """Chunks that have the words, best first."""

    terms: list[str]
    indexing: bool = Field(description="New texts are being indexed: soon there may be more.")


class Source(BaseModel):
    """A chunk as evidence. `cut`: only its beginning fitted."""

    marker: str
    chunk: UUID
    document: UUID
    title: str
    section: str
    start_line: int
    end_line: int
    cut: bool
    text: str


class Bundle(BaseModel):
    """Evidence for a question, exactly within a budget of tokens."""

    trace: UUID
    question: str
    tokens: int
    evidence: str
    sources: list[Source]


class Trace(BaseModel):
    """What a model was shown for a question: ids and scores."""

    id: UUID
    kind: str
    question: str
    created_at: datetime


class TraceDetail(Trace):
    """A trace with all that was noted."""

    body: dict[str, Any]


class Entity(BaseModel):
    """A name or term of a document, decisions included."""

    item: int
    name: str
    kind: str
    count: int
    aliases: list[str]
    shards: list[str] = Field(description="The nodes of the merge in which it was gathered.")
    citation_count: int
    citations: list[dict[str, Any]]


class Decision(BaseModel):
    """What a person decided about an entity. It holds through reruns and edits until it is undone."""

    id: int
    kind: Literal["merge", "split", "rename"]
    name: str
    other: str
    created_at: datetime
    undone_at: datetime | None


class Decide(Given):
    """`merge`: `name` and `other` are one. `split`: `name` is not `other`. `rename`: show `name` as `other`."""

    kind: Literal["merge", "split", "rename"]
    name: Annotated[str, Field(min_length=1, max_length=500)]
    other: Annotated[str, Field(min_length=1, max_length=500)]


class Question(Given):
    """Evidence for a question, from all documents or some."""

    question: Annotated[str, Field(min_length=1, max_length=4000)] = Field(examples=["Who keeps the lamp?"])
    documents: Annotated[tuple[UUID, ...], Field(max_length=100)] = ()
    section: Annotated[str, Field(max_length=200)] | None = None
    budget: Annotated[int, Field(ge=1, le=BIGGEST, description="Tokens of evidence at most.")] | None = None
    max_sources: Annotated[int, Field(ge=1, le=200)] = 3
    order: Literal["search", "manifest"] = "search"
    model: Annotated[str, Field(max_length=200)] | None = None


class Ask(Question):
    """A question to be answered from the books."""

    thinking: bool | None = Field(default=None, description="Let the model think first, or not; else its own default.")


class FoldChild(BaseModel):
    """A node that went into another, or a chunk's own output (level 0), with the beginning of what it says."""

    item: int
    node: str
    says: str
    characters: int


class FoldRoot(FoldChild):
    """The root of a document's fold."""

    document: UUID
    title: str


class FoldNode(Page[FoldChild]):
    """A node of a fold, and a page of the nodes it was made of."""

    step: str
    node: str
    level: int
    parent: str | None
    child_count: int
    output: Any


class MergeNode(BaseModel):
    """A node of a merge, with a few words about what is in it."""

    item: int
    node: str
    kind: Literal["chunk", "shard", "judgement", "question"]
    state: TaskWord
    task: int
    says: str


class MergeChild(BaseModel):
    """What went into a node of a merge: a shard, or what a chunk gave to it."""

    item: int
    node: str
    says: str


class MergeEntry(BaseModel):
    """An entry of a shard, as it stands before the judgement."""

    name: str
    kind: str
    count: int


class MergeDetail(Page[MergeChild]):
    """A node of a merge, and a page of what it was made of."""

    step: str
    node: str
    level: int
    kind: Literal["chunk", "shard", "judgement", "question"]
    state: TaskWord
    hit: bool
    task: int
    above: list[str] = Field(description="The nodes that it went into.")
    output: Any = Field(description="What it gave; None where it is long, or told as `entries`.")
    output_bytes: int | None
    entries: list[MergeEntry] = Field(description="Of a shard: its 50 most mentioned entries.")
    entry_count: int | None
    about: Any = Field(description="Of a question: what it is about.")
    text: str | None = Field(description="Of a question: the text that was judged.")
    child_count: int
