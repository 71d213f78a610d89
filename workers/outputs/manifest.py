"""The manifest of a document: its sections and chunks with their places, and nothing that changes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from db.database import Repositories
from db.sections import StoredSections
from db.values import Chunk, Document, PagePlace, Revision
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from pipeline.read.places import Places
from pipeline.read.reading import Section
from workers.ingest.find import printable
from workers.outputs.cite import Sections

MANIFEST_VERSION = 1


def find_document(rows: Repositories, text: str) -> Document:
    """The document that a person means by a path, title, URI or start of an id. Raises NotFoundError."""
    name = printable(text)
    # A path as it was typed first: in a URI, what is not plain ASCII looks otherwise.
    found = [] if "\0" in text else rows.documents.find(Path(text).resolve().as_uri())
    found = found or rows.documents.find(name)
    if len(found) > 1:
        names = ", ".join(f"{document.title} ({str(document.id)[-8:]})" for document in found[:5])
        raise NotFoundError(f"Several documents are called {name!r}: {names}", hint="give the path or the id")
    if not found:
        raise NotFoundError(
            f"There is no document {name!r}", hint="octavo status lists them; octavo ingest brings one in"
        )
    return found[0]


def manifest(
    rows: Repositories, document: Document, chunking_id: int, *, canonical: bool = False, text: bool = False
) -> dict[str, Json]:
    """The manifest of a document's current revision as one grain cut it.

    `canonical` leaves out ids, names and numbers of revisions: the same text and grain give the same bytes.
    """
    revision = document.current
    places = rows.documents.pages(revision.id, chunking_id) if revision else None
    if revision is None or places is None:
        raise NotFoundError(f"Document {document.title!r} has no chunks", hint="ingest it first")
    sections = rows.documents.sections(revision.id)
    policy = rows.chunks.policy(chunking_id)
    grain = {name: policy[name] for name in ("limit", "overlap", "heading_level", "tokenizer", "splitter")}
    head: dict[str, Json] = {
        "manifest": MANIFEST_VERSION,
        "text_sha256": revision.text_sha256.hex(),
        "char_count": revision.char_count,
        "line_count": revision.line_count,
        "grain": grain,
    }
    if not canonical:
        head |= _names(document, revision)
    sources = None if canonical else rows.documents.places(revision.id)
    chunks = list(chunk_rows(rows, sections, places, sources=sources, canonical=canonical, text=text))
    return head | {"sections": [_section(section, sources) for section in sections], "chunks": chunks}


def _names(document: Document, revision: Revision) -> dict[str, Json]:
    return {
        "document": {"id": str(document.id), "title": document.title, "uri": document.uri},
        "revision": revision.number,
        "source_sha256": revision.source_sha256.hex(),
        "media_type": document.media_type,
        "encoding": revision.encoding,
        "reader": f"{revision.reader}/{revision.reader_version}",
        "authors": revision.authors,
        "language": revision.language,
        "warnings": revision.warnings,
    }


def _source(sources: Places | None, offset: int, line: int) -> dict[str, Json]:
    found = sources.at(offset, line) if sources else None
    return {"source": found.named()} if found else {}


def _section(section: Section, sources: Places | None) -> dict[str, Json]:
    return {
        "title": section.title,
        "level": section.level,
        "kind": section.kind,
        "parent": section.parent,
        "start_line": section.start_line,
        "end_line": section.end_line,
        "start": section.start,
        "end": section.end,
        **_source(sources, section.start, section.start_line),
    }


def chunk_rows(
    rows: Repositories,
    sections: StoredSections,
    places: list[PagePlace],
    *,
    sources: Places | None = None,
    canonical: bool = False,
    text: bool = False,
) -> Iterator[dict[str, Json]]:
    """The chunks in reading order, with section, lines, offsets, tokens, hash of the text and place in the source."""
    finder = Sections(sections)
    by_page: dict[int, list[Chunk]] = {}
    for chunk in rows.chunks.of_pages([place.page_id for place in places]):
        by_page.setdefault(chunk.page_id, []).append(chunk)
    ordinal = 0
    for place in places:
        texts = rows.contents.texts([chunk.content_sha256 for chunk in by_page[place.page_id]])
        for chunk in by_page[place.page_id]:
            row = _chunk(chunk, place, finder, ordinal, texts[chunk.content_sha256])
            row |= _source(sources, row["start"], row["start_line"])
            if canonical:
                row.pop("id")
            if text:
                row["text"] = texts[chunk.content_sha256]
            yield row
            ordinal += 1


def _chunk(chunk: Chunk, place: PagePlace, finder: Sections, ordinal: int, text: str) -> dict[str, Json]:
    start = place.start + chunk.start
    line = place.start_line + chunk.line
    section = finder.at(start)
    return {
        "id": str(chunk.logical_id),
        "ordinal": ordinal,
        "section": section.ordinal if section else None,
        "start_line": line,
        "end_line": line + text.count("\n", 0, max(0, len(text) - 1)),
        "start": start,
        "end": place.start + chunk.end,
        "lead": chunk.lead,
        "token_count": chunk.token_count,
        "over_limit": chunk.over_limit,
        "text_sha256": chunk.content_sha256.hex(),
    }
