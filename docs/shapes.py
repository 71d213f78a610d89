"""The shapes of docs/outputs.md, to be checked by: what Octavo prints, and the examples in that page.

Version 1. A field that is added leaves the version; one that is renamed, removed or given another meaning raises it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """A JSON object with these fields and no others."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SourcePlace(Shape):
    """Where a thing stands in a source whose lines are not the text's: only what the format has."""

    item: str | None = None
    page: int | None = Field(default=None, ge=1)
    label: str | None = None
    paragraph: int | None = Field(default=None, ge=1)
    line: int | None = Field(default=None, ge=1)
    element: str | None = None


class Citation(Shape):
    """Where in a book a thing stands."""

    document: str
    section: str
    chunk: str
    start_line: int = Field(ge=1)
    end_line: int = Field(ge=1)
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    source: SourcePlace | None = None
    source_end: SourcePlace | None = None


class CanonicalCitation(Shape):
    """The same without names and ids."""

    document: str = Field(pattern="^[0-9a-f]{64}$")
    chunk: int
    content: str = Field(pattern="^[0-9a-f]{64}$")
    start_line: int
    end_line: int
    start: int
    end: int


class Hole(Citation):
    """A chunk that failed."""

    error: str | None


class EntryAlias(Shape):
    """What the book says of two names of an entry, where it says so first, and how often."""

    alias: str
    name: str
    times: int
    judged: Literal["rule", "model"] | None = None
    quote: str
    citations: list[Citation]


class Entry(Shape):
    """A name or term."""

    name: str
    kind: str
    count: int
    aliases: list[str]
    citation_count: int
    citations: list[Citation]
    stated: list[EntryAlias] | None = None


class Glossary(Shape):
    """Most mentioned first."""

    entries: list[Entry]


class Sentence(Shape):
    """A sentence of the book."""

    text: str
    citations: list[Citation]


class Chapter(Shape):
    """A section with its own summary."""

    title: str
    level: int
    start_line: int
    source: SourcePlace | None = None
    text: str
    citations: list[Citation]


class Summary(Shape):
    """Of one book."""

    document: str
    text: str
    sentences: list[Sentence]
    chapters: list[Chapter]
    holes: list[Hole]


class OutlineSection(Chapter):
    """A section with the sentence and the terms that tell best what it is about."""

    end_line: int
    terms: list[str]


class Outline(Shape):
    """Of one book."""

    document: str
    sections: list[OutlineSection]
    holes: list[Hole]


class Several(Shape):
    """Summaries or outlines of several books."""

    documents: list[Summary | Outline]


class Run(Shape):
    """What `run --json` and `resume --json` print."""

    version: Literal[1]
    job: str
    pipeline: str
    state: Literal["running", "paused", "done", "holes", "failed", "cancelled"]
    reason: str | None
    documents: int
    chunks: int
    tasks: int
    hits: int
    calls: int
    retries: int
    holes: int
    unasked: dict[str, int] = {}  # by step
    tokens_in: int
    tokens_out: int
    model_calls: int
    cost: float
    estimate: dict[str, float | int | None] | None
    tokenizer: str
    seconds: float
    output: Any


class ManifestSection(Shape):
    """A node of the book's own structure."""

    title: str
    level: int
    kind: Literal["front", "chapter", "volume", "heading", "contents", "boilerplate", "notes"]
    parent: int | None
    start_line: int
    end_line: int
    start: int
    end: int
    source: SourcePlace | None = None


class CanonicalChunk(Shape):
    """A chunk without its id."""

    ordinal: int
    section: int | None
    start_line: int
    end_line: int
    start: int
    end: int
    lead: int
    token_count: int
    over_limit: bool
    text_sha256: str


class Chunk(CanonicalChunk):
    """A chunk."""

    id: str
    source: SourcePlace | None = None


class Grain(Shape):
    """How the book was cut."""

    limit: int
    overlap: int
    heading_level: int
    tokenizer: str
    splitter: int


class CanonicalManifest(Shape):
    """`manifest --canonical`."""

    manifest: Literal[1]
    text_sha256: str
    char_count: int
    line_count: int
    grain: Grain
    sections: list[ManifestSection]
    chunks: list[CanonicalChunk]


class DocumentName(Shape):
    """Which document it is."""

    id: str
    title: str
    uri: str


class ReadWarning(Shape):
    """What the reader noticed."""

    code: str
    message: str
    line: int | None
    byte_offset: int | None


class Manifest(Shape):
    """`manifest`."""

    manifest: Literal[1]
    document: DocumentName
    revision: int
    source_sha256: str
    text_sha256: str
    media_type: str
    encoding: str
    reader: str
    authors: list[str]
    language: str | None
    warnings: list[ReadWarning]
    char_count: int
    line_count: int
    grain: Grain
    sections: list[ManifestSection]
    chunks: list[Chunk]


class ChunkResult(Citation):
    """One chunk of a map step: a line of `export`, an item of `results --json`. A hole has `error`, others `output`."""

    step: str
    state: Literal["done", "failed", "waived", "ready", "dispatched", "leased", "blocked", "waiting_key", "cancelled"]
    output: Any = None
    error: str | None = None


class Last(Shape):
    """The last line of `export`."""

    output: Any


class Change(Shape):
    """One difference between two revisions."""

    what: Literal["edited", "moved", "added", "removed"]
    chunk: str | None
    ordinal: int
    chunks: int
    section: str
    start_line: int | None
    was_line: int | None
    before: str | None
    after: str | None


class Counts(Shape):
    """What happened to the chunks of a document."""

    kept: int
    edited: int
    moved: int
    added: int
    removed: int


class Diff(Shape):
    """`diff --json`."""

    document: str
    from_: int = Field(alias="from")
    to: int
    counts: Counts
    changes: list[Change]


class Swept(Shape):
    """An item of `sweep --json`."""

    view: str
    fresh: bool
    documents: int
    changed: int
    missing: int
    withdrawn: int
    stale: dict[str, int]
    lost: int
    troubles: list[str]
    job: str | None
    state: str | None
    calls: int


class Collected(Shape):
    """`gc --json`."""

    dry_run: bool
    jobs: int
    tasks: int
    nodes: int
    revisions: int
    pages: int
    chunks: int
    texts: int | None
    results: int
    result_bytes: int
    kept_results: int
    unreached: int
    calls: int


class Dismissed(Shape):
    """Who dismissed the staleness of a document, and why."""

    note: str
    by: str
    at: str


class ViewDocument(Shape):
    """A document of a view."""

    document: str
    uri: str
    state: Literal["fresh", "stale", "missing", "withdrawn", "new"]
    why: list[str]
    revision: int | None
    served: int | None
    chunks: int
    holes: int
    lost: int
    stamp: str | None
    dismissed: Dismissed | None


class ViewRow(Shape):
    """`status VIEW --json`."""

    view: str
    pipeline: str
    selectors: list[str]
    state: Literal["fresh", "stale", "missing"]
    fresh: int
    stale: int
    missing: int
    withdrawn: int
    new: int
    holes: int
    lost: int
    dismissed: int
    why: list[str]
    refresh: int
    served: str | None
    job: str | None
    job_state: str | None
    because: str | None
    swept_at: str | None
    trouble: str | None
    documents: list[ViewDocument]


class CanonicalStep(Shape):
    """A step by what makes its keys."""

    octavo: Literal[1]
    step: str
    kind: Literal["map", "merge", "fold"]
    op: str
    version: int | str
    model: str | None
    prompt: str | None
    schema_: str | None = Field(alias="schema")
    params: dict[str, Any]


class CanonicalHead(Shape):
    """The first line of `export --canonical`."""

    octavo: Literal[1]
    documents: list[str]
    steps: list[CanonicalStep]
    shards: int


class CanonicalResult(CanonicalCitation):
    """A line of `export --canonical`."""

    step: str
    state: str
    output: Any = None
    error: str | None = None


class ConflictSide(Shape):
    """One side of a contradiction, in the book's words."""

    subject: str
    value: str
    quote: str
    citations: list[Citation]


class ConflictPair(Shape):
    """A contradiction; `first` stands before `second`."""

    subject: str
    attribute: str
    first: ConflictSide
    second: ConflictSide
    verdict: Literal["conflict", "change", "flashback", "not_comparable"] | None = None
    why: str | None = None


class StatedAlias(Shape):
    """A name that the book says is another's."""

    name: str
    alias: str
    stated: int
    quote: str
    citations: list[Citation]


class Conflicts(Shape):
    """`conflicts`."""

    conflicts: list[ConflictPair]
    aliases: list[StatedAlias]
    dismissed: list[ConflictPair] | None = None


class EntityDecision(Shape):
    """`entities merge`, `split`, `rename`, `undo`."""

    decision: int
    kind: Literal["merge", "split", "rename"]
    name: str
    other: str


class SearchHit(Shape):
    """A chunk that was found."""

    score: float
    document: str
    section: str
    chunk: str
    start_line: int = Field(ge=1)
    end_line: int = Field(ge=1)
    text: str


class SearchPage(Shape):
    """`search`."""

    terms: list[str]
    hits: list[SearchHit]
    cursor: str | None


class BundleSource(Shape):
    """A source of a bundle."""

    marker: str = Field(pattern="^S[1-9][0-9]*$")
    chunk: str
    document: str
    title: str
    section: str
    start_line: int = Field(ge=1)
    end_line: int = Field(ge=1)
    cut: bool
    text: str


class ContextBundle(Shape):
    """`context`."""

    trace: str
    question: str
    tokens: int
    evidence: str
    sources: list[BundleSource]


class SourceCitation(Shape):
    """A source that an answer rests on."""

    marker: str
    chunk: str
    document: str
    title: str
    section: str
    start_line: int = Field(ge=1)
    end_line: int = Field(ge=1)


class Used(Shape):
    """What a model's answer cost."""

    tokens_in: int
    tokens_out: int
    cost: float
    seconds: float


class AskAnswer(Shape):
    """`ask`."""

    answer: str
    sufficient: bool
    citations: list[SourceCitation]
    unknown: list[str]
    model: str
    used: Used | None
    trace: str
    sources: list[BundleSource]


class MeasuredRow(Shape):
    """One budget of `measure`; a dry run has the first four fields."""

    budget: int
    sources: int
    evidence_tokens: int
    request_tokens: int
    trace: str | None = None
    answer: str | None = None
    sufficient: bool | None = None
    cited: list[str] | None = None
    unknown: list[str] | None = None
    seconds: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None


class Measured(Shape):
    """`measure`."""

    question: str
    counter: str
    rows: list[MeasuredRow]


Output: TypeAlias = Glossary | Summary | Outline | Conflicts | Several


class MadeEdit(Shape):
    """An edit of a chunk: by which revision, where, and what."""

    chunk: str | None = None
    document: str
    what: Literal[
        "text inserted", "text deleted", "text replaced", "chunk added", "chunk removed", "chunk moved"
    ]  # fmt: skip
    revision: int | None
    at: str | None
    was_revision: int | None
    section: str
    line: int | None
    before: str | None
    after: str | None


class KeyChange(Shape):
    """A field of a key that is not what it was in the last key that was another."""

    why: str
    before: Any
    now: Any
    since: str
    edit: MadeEdit | None = None
    shown: dict[str, list[Any]] | None = None


class ExplainedStep(Shape):
    """Why a map step's key of a chunk hit or missed."""

    step: str
    state: str
    memo: str
    key: str | None
    document: dict[str, Any] | None
    changes: list[KeyChange]


class NodeAbove(Shape):
    """A reduce node that a chunk's output reaches."""

    node: str
    state: str
    hit: bool


class ExplainedChunk(Shape):
    """What `octavo explain CHUNK` says."""

    place: Citation
    job: str
    pending: MadeEdit | None
    steps: list[ExplainedStep]
    above: list[NodeAbove]


class NewChildren(Shape):
    """Which inputs of a node are new, by their place, and how many are gone."""

    new: list[int]
    gone: int


class NodeChange(Shape):
    """A field of a node's key that is not what it was; of its inputs how many there are."""

    why: str
    before: Any
    now: Any
    children: NewChildren | None
    since: str


class StepCause(Shape):
    """What is another in the keys of the map below a node, texts aside."""

    step: str
    why: str
    before: Any
    now: Any


class CutCause(Shape):
    """A document that another grain or splitter cut."""

    document: str
    before: dict[str, Any]
    now: dict[str, Any]


class NodeCauses(Shape):
    """What made a node's inputs others."""

    edits: list[MadeEdit]
    more_edits: int
    moved: int
    regrouped: int
    steps: list[StepCause]
    cuts: list[CutCause]


class NodeName(Shape):
    """A node of a job."""

    node: str
    job: str


class ExplainedNode(Shape):
    """What `octavo explain NODE` says."""

    node: str
    job: str
    kind: Literal["fold", "shard", "judgement"]
    chunks: int
    first: Citation | None
    last: Citation | None
    children: list[str]
    state: str | None
    memo: str
    key: str | None
    document: dict[str, Any]
    was: NodeName | None
    changes: list[NodeChange]
    causes: NodeCauses


class PlannedWhere(Shape):
    """A section whose nodes a fold makes; of a document's own no section."""

    document: str
    section: str | None
    least: int
    most: int


class PlannedStep(Shape):
    """What a step would do."""

    step: str
    kind: str
    model: str | None
    tasks: int
    hits: int
    calls_least: int
    calls_most: int
    tokens_in: int
    tokens_in_least: int
    tokens_in_most: int
    tokens_out_most: int
    tokens_out_usual: int | None
    cost_micros_least: int
    cost_micros_most: int
    seconds_least: float | None
    exact: bool
    where: list[Citation | PlannedWhere]


class PlannedWhole(Shape):
    """All steps that ask a model, added up."""

    tasks: int
    hits: int
    calls_least: int
    calls_most: int
    tokens_in_least: int
    tokens_in_most: int
    tokens_out_most: int
    cost_micros_least: int
    cost_micros_most: int
    seconds_least: float | None


class Planned(Shape):
    """What `octavo plan` says."""

    steps: list[PlannedStep]
    whole: PlannedWhole


class Lengths(Shape):
    """Lengths in tokens: median, 99th percentile, longest."""

    count: int
    p50: int
    p99: int
    most: int


class GrainBound(Shape):
    """Tokens that a grain's limit should not go below, or above; neither: it bounds nothing."""

    question: Literal["must see whole", "fits the model", "can be pointed at", "changes alone"]
    step: str | None
    least: int | None
    most: int | None
    reason: str


class GrainNow(Shape):
    """The pipeline's grain, and about how many chunks it makes."""

    name: str
    limit: int
    chunks: int


class GrainProposed(Shape):
    """The coarsest grain inside the bounds."""

    limit: int
    chunks: int
    decided_by: str
    conflict: str | None


class GrainAdvice(Shape):
    """What `octavo grain` says of one document."""

    document: str
    revision: int
    tokenizer: str
    lengths: dict[Literal["chapters", "paragraphs", "sentences"], Lengths]
    grain: GrainNow
    bounds: list[GrainBound]
    proposed: GrainProposed
