"""Context bundles from the index, their traces, and the rebuilding of what a model saw from a trace."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit
from uuid import UUID

from db.database import Database, Repositories
from db.sections import StoredSections
from db.values import Document, PagePlace
from pipeline import canonical
from pipeline.errors import NotFoundError, OctavoError
from pipeline.evidence.bundle import Count, Source, pack, render
from pipeline.ids import uuid7
from pipeline.ops.values import Json
from pipeline.read.reading import Section
from workers.evidence.index import refresh
from workers.evidence.search import Hit, Searcher, scope_of
from workers.outputs.cite import Sections

TRACE_VERSION = 1
RANKED = 64  # candidates that are looked at for a bundle, and kept in its trace
ORDERS = ("search", "manifest")


class TraceLostError(OctavoError):
    """What a model was shown can not be rebuilt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is asked, and of which evidence."""

    question: str
    documents: tuple[UUID, ...] = ()
    section: str | None = None
    most: int = 3
    order: str = "search"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """Candidates in rank order, with where each comes from."""

    terms: tuple[str, ...]
    sources: tuple[Source, ...]
    origins: dict[str, dict[str, Json]]  # by chunk: revision, content hash, ordinal of the section


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle:
    """Chosen sources and the evidence as the model sees it."""

    trace: UUID
    question: str
    sources: tuple[Source, ...]
    evidence: str
    tokens: int

    def as_json(self) -> dict[str, Json]:
        """For programs."""
        return {
            "trace": str(self.trace),
            "question": self.question,
            "tokens": self.tokens,
            "evidence": self.evidence,
            "sources": [
                {
                    "marker": source.marker,
                    "chunk": source.chunk,
                    "document": source.document,
                    "title": source.title,
                    "section": source.section,
                    "start_line": source.start_line,
                    "end_line": source.end_line,
                    "cut": source.cut is not None,
                    "text": source.shown,
                }
                for source in self.sources
            ],
        }


def ranked(database: Database, wanted: Wanted, *, index: bool = True) -> Ranked:
    """The candidates of a question, best first; or the chunks in the manifest's order.

    `index`: bring the index up to date first, which takes a while after a large ingest.
    """
    if index:
        refresh(database)
    with database.read() as rows:
        scope = scope_of(rows, wanted.documents, wanted.section)
        searcher = Searcher(rows, scope)
        if wanted.order == "manifest":
            return Placer(rows).ranked((), _in_order(rows, wanted.documents))
        page = searcher.search(wanted.question, limit=RANKED)
        return Placer(rows).ranked(page.terms, page.hits)


def _in_order(rows: Repositories, documents: Sequence[UUID]) -> list[Hit]:
    """The first chunks of documents in reading order."""
    chunkings = rows.search.of_documents(documents or [document.id for document in rows.documents.all(RANKED)])
    hits: list[Hit] = []
    for chunking_id in [at for found in chunkings.values() for at in found]:
        _, revision_id = rows.search.places([chunking_id])[chunking_id]
        for place in rows.documents.pages(revision_id, chunking_id) or []:
            indexed = rows.search.of_page(place.page_id)
            hits += [Hit(chunk, 0.0) for chunk in indexed]
            if len(hits) >= RANKED:
                return hits[:RANKED]
    return hits


class Placer:
    """Finds title, section and lines of indexed chunks."""

    def __init__(self, rows: Repositories, known: MutableMapping[int, StoredSections] | None = None) -> None:
        """`known`: sections by revision that were loaded before; those that are come into it."""
        self._rows = rows
        self._known: MutableMapping[int, StoredSections] = {} if known is None else known
        self._layouts: dict[int, tuple[Document, int, dict[int, PagePlace], StoredSections]] = {}

    def ranked(self, terms: Sequence[str], hits: Sequence[Hit]) -> Ranked:
        """Hits as the candidates of a bundle."""
        sources, origins = self.place(hits)
        return Ranked(terms=tuple(terms), sources=tuple(sources), origins=origins)

    def place(self, hits: Sequence[Hit]) -> tuple[list[Source], dict[str, dict[str, Json]]]:
        """Sources in the order of the hits, and their origins. A page that is in no current revision falls out."""
        chunks = self._rows.chunks.at([(hit.chunk.page_id, hit.chunk.ordinal) for hit in hits])
        texts = self._rows.contents.texts(list({hit.chunk.content_sha256 for hit in hits}))
        pages: dict[int, set[int]] = {}
        for hit in hits:
            pages.setdefault(hit.chunk.chunking_id, set()).add(hit.chunk.page_id)
        self._load(pages)
        sources: list[Source] = []
        origins: dict[str, dict[str, Json]] = {}
        for hit in hits:
            layout = self._layouts.get(hit.chunk.chunking_id)
            chunk = chunks.get((hit.chunk.page_id, hit.chunk.ordinal))
            place = layout[2].get(hit.chunk.page_id) if layout else None
            if layout is None or chunk is None or place is None:
                continue
            document, revision_id, _, sections = layout
            text = texts[chunk.content_sha256]
            start, line, shown = _bare(text, place.start + chunk.start, place.start_line + chunk.line)
            section = Sections(sections).at(start)
            sources.append(
                Source(
                    chunk=str(chunk.logical_id),
                    document=str(document.id),
                    title=document.title,
                    section=_path(sections, section) or _file(document),
                    start_line=line,
                    end_line=line + shown.count("\n"),
                    text=shown,
                    score=hit.score,
                )
            )
            origins[str(chunk.logical_id)] = {
                "revision": revision_id,
                "content": chunk.content_sha256.hex(),
                "section": None if section is None else section.ordinal,
                "file": _file(document),
            }
        return sources, origins

    def _load(self, pages: Mapping[int, set[int]]) -> None:
        for chunking_id, (document_id, revision_id) in self._rows.search.places(sorted(pages)).items():
            document = self._rows.documents.get(document_id)
            places = self._rows.documents.places_among(revision_id, chunking_id, pages[chunking_id])
            if document is not None and places:
                sections = _loaded(self._rows, revision_id, self._known)
                self._layouts[chunking_id] = (document, revision_id, places, sections)


def _bare(text: str, start: int, line: int) -> tuple[int, int, str]:
    """(offset, line, text) of a chunk without the blank lines around it."""
    lead = len(text) - len(text.lstrip())
    return start + lead, line + text.count("\n", 0, lead), text.strip()


def _path(sections: Sequence[Section], section: Section | None) -> str:
    """The titles that lead to a section."""
    titles: list[str] = []
    while section is not None:
        if section.title:
            titles.append(section.title)
        section = None if section.parent is None else sections[section.parent]
    return " › ".join(reversed(titles))


def _file(document: Document) -> str:
    """The name of a document's file: where a text without headings is from."""
    return unquote(PurePosixPath(urlsplit(document.uri).path).name) or document.title


def bundle(
    database: Database,
    wanted: Wanted,
    found: Ranked,
    *,
    budget: int,
    count: Count,
    counter: str,
    more: dict[str, Json] | None = None,
    kind: str = "context",
) -> Bundle:
    """Pack candidates into a budget of tokens, and store the trace. `counter` names what counts; `more` goes along."""
    chosen = pack(found.sources, budget=budget, count=count, most=wanted.most)
    evidence = render(chosen)
    made = Bundle(
        trace=uuid7(),
        question=wanted.question,
        sources=tuple(chosen),
        evidence=evidence,
        tokens=count(evidence) if chosen else 0,
    )
    body: dict[str, Json] = {
        "version": TRACE_VERSION,
        "question": wanted.question,
        "terms": list(found.terms),
        "documents": [str(document) for document in wanted.documents],
        "order": wanted.order,
        "most": wanted.most,
        "budget": budget,
        "counter": counter,
        "candidates": [[source.chunk, source.score] for source in found.sources],
        "chosen": [_chosen(source, found.origins[source.chunk]) for source in chosen],
        "tokens": made.tokens,
        "evidence_sha256": canonical.sha256(evidence.encode()).hex(),
        **(more or {}),
    }
    with database.write() as rows:
        rows.traces.add(id=made.trace, kind=kind, body=body)
    return made


def _chosen(source: Source, origin: dict[str, Json]) -> dict[str, Json]:
    return {
        "marker": source.marker,
        "chunk": source.chunk,
        "document": source.document,
        "title": source.title,
        "lines": [source.start_line, source.end_line],
        "score": source.score,
        "cut": source.cut,
        **origin,
    }


def replay(database: Database, text: str, known: MutableMapping[int, StoredSections] | None = None) -> Bundle:
    """What the model saw, from its trace: the texts by their hashes, the sections of the revision as it was.

    `known` as for `Placer`.
    Raises NotFoundError for an unknown trace, TraceLostError when what it names was collected.
    """
    with database.read() as rows:
        trace_id, body = _trace(rows, text)
        chosen = body["chosen"]
        texts = rows.contents.texts([bytes.fromhex(item["content"]) for item in chosen])
        kept: MutableMapping[int, StoredSections] = {} if known is None else known
        layouts = {item["revision"]: _sections(rows, item["revision"], kept) for item in chosen}
        sources = [_again(item, texts, layouts[item["revision"]]) for item in chosen]
    evidence = render(sources)
    if canonical.sha256(evidence.encode()).hex() != body["evidence_sha256"]:
        raise TraceLostError(f"Trace {trace_id} can not be rebuilt: its evidence would not be the same")
    return Bundle(
        trace=trace_id, question=body["question"], sources=tuple(sources), evidence=evidence, tokens=body["tokens"]
    )


def _loaded(rows: Repositories, revision_id: int, known: MutableMapping[int, StoredSections]) -> StoredSections:
    found = known.get(revision_id)
    if found is None:
        found = known[revision_id] = rows.documents.sections(revision_id)
    return found


def _sections(rows: Repositories, revision_id: int, known: MutableMapping[int, StoredSections]) -> StoredSections:
    if rows.documents.revision(revision_id) is None:
        raise TraceLostError("A revision that this trace names was collected", hint="octavo context asks anew")
    return _loaded(rows, revision_id, known)


def _again(item: dict[str, Json], texts: dict[bytes, str], sections: StoredSections) -> Source:
    text = texts.get(bytes.fromhex(item["content"]))
    if text is None:
        raise TraceLostError("A text that this trace names was collected", hint="octavo context asks anew")
    section = None if item["section"] is None else sections[item["section"]]
    return Source(
        chunk=item["chunk"],
        document=item["document"],
        title=item["title"],
        section=_path(sections, section) or item["file"],
        start_line=item["lines"][0],
        end_line=item["lines"][1],
        text=text.strip(),
        score=item["score"],
        marker=item["marker"],
        cut=item["cut"],
    )


def _trace(rows: Repositories, text: str) -> tuple[UUID, dict[str, Json]]:
    """The trace of an id, or of its beginning or end; `last` is the newest."""
    try:
        whole = rows.traces.get(UUID(text))
    except ValueError:
        whole = None
    if whole is not None:
        return whole.id, whole.body
    latest = rows.traces.latest(1 if text == "last" else 10_000)
    matches = [
        item for item in latest if text == "last" or str(item.id).startswith(text) or str(item.id).endswith(text)
    ]
    if not text or len(matches) != 1:
        many = "Several traces are" if len(matches) > 1 else "There is no trace"
        raise NotFoundError(f"{many} {text!r}", hint="octavo context prints the id of the trace that it stores")
    return matches[0].id, matches[0].body
