"""Documents, revisions, sections, chunks and text."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from db.database import Repositories
from db.listed import DocumentLine
from octavo.web.access import Parts, Reader
from octavo.web.api import shapes
from octavo.web.api.paging import Count, Cursor, Limit, key_of, page_of
from octavo.web.problems import ProblemError
from octavo.web.state import Web
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from workers.faces import books, chunks, views

router = APIRouter(tags=["documents"])

COMPARE_S = 10.0  # how long the API waits for two revisions to be compared
Number = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="A revision; without it the current one.")]
Search = Annotated[str | None, Query(max_length=200, description="A part of the title or URI.")]


@router.get("/documents", operation_id="listDocuments", response_model=shapes.Page[shapes.Document])
def list_documents(
    request: Request,
    response: Response,
    web: Parts,
    _: Reader,
    q: Search = None,
    collection: Annotated[list[str] | None, Query(max_length=50)] = None,
    uri: Annotated[str | None, Query(max_length=4000)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    count: Count = False,
) -> dict[str, Json]:
    """Documents, newest first."""
    key = key_of(request, cursor)
    filters: dict[str, Any] = {"search": q, "collections": collection or (), "uri": uri}
    with web.runtime.database.read() as rows:
        found = rows.lists.documents(limit=limit + 1, after=UUID(key[0]) if key else None, **filters)
        items = document_rows(web, rows, found)
        total = rows.lists.count_documents(**filters) if count else None
    return page_of(request, response, items, limit, "id", total=total)


@router.get("/documents/{document}", operation_id="getDocument", response_model=shapes.Document)
def get_document(document: UUID, web: Parts, _: Reader) -> dict[str, Json]:
    """One document."""
    with web.runtime.database.read() as rows:
        return document_row(web, rows, document)


def document_row(web: Web, rows: Repositories, document: UUID) -> dict[str, Json]:
    """A document as a list shows it. Raises NotFoundError."""
    found = books.get_document(rows, document)
    return document_rows(web, rows, rows.lists.documents(limit=1, uri=found.uri))[0]


def document_rows(web: Web, rows: Repositories, found: Sequence[DocumentLine]) -> list[dict[str, Json]]:
    """Documents in a list: their size, latest job, and how fresh they stand in views."""
    fresh = views.freshness(rows, web.standings, {line.id: line.uri for line in found})
    return [row | {"freshness": fresh.get(UUID(row["id"]))} for row in books.documents(rows, found)]


@router.get(
    "/documents/{document}/revisions", operation_id="listRevisions", response_model=shapes.Page[shapes.Revision]
)
def list_revisions(
    request: Request,
    response: Response,
    document: UUID,
    web: Parts,
    _: Reader,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """The revisions of a document, newest first."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        books.get_document(rows, document)
        found = rows.lists.revisions(document, limit=limit + 1, before=key[0] if key else None)
        items = books.revision_rows(rows, found)
    return page_of(request, response, items, limit, "revision")


@router.get("/documents/{document}/changes", operation_id="listChanges", response_model=shapes.Changes)
def list_changes(
    request: Request,
    response: Response,
    document: UUID,
    web: Parts,
    _: Reader,
    revision: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The later one; else the last.")] = None,
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The earlier; else that before it.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """What changed between two revisions, chunk by chunk, in reading order. The first look may take a while."""
    key = key_of(request, cursor)
    found = web.edits.of(document, before, revision, wait_s=COMPARE_S)[2]
    if found is None:
        raise ProblemError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "being-compared",
            "The revisions are being compared",
            hint="ask again in a moment",
            headers={"Retry-After": "2"},
        )
    items = change_rows(found, after=key[0] if key else -1, limit=limit + 1)
    page = page_of(request, response, items, limit, "item")
    return page | {"before": found["from"], "revision": found["to"], "counts": found["counts"], "more": found["more"]}


def change_rows(found: dict[str, Json], *, after: int, limit: int) -> list[dict[str, Json]]:
    """A part of the changes of a comparison, each with its `item` number."""
    changes = found["changes"][after + 1 : after + 1 + limit]
    return [row | {"item": at} for at, row in enumerate(changes, after + 1)]


@router.get("/documents/{document}/sections", operation_id="listSections", response_model=shapes.Page[shapes.Section])
def list_sections(
    request: Request,
    response: Response,
    document: UUID,
    web: Parts,
    _: Reader,
    revision: Number = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """The sections of a revision, in reading order."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        shape = opened(web, rows, document, revision)[1]
        items = books.sections(rows, shape, after=key[0] if key else -1, limit=limit + 1)
    return page_of(request, response, items, limit, "ordinal")


@router.get("/documents/{document}/chunks", operation_id="listChunks", response_model=shapes.Page[shapes.Chunk])
def list_chunks(
    request: Request,
    response: Response,
    document: UUID,
    web: Parts,
    _: Reader,
    revision: Number = None,
    text: Annotated[bool, Query(description="Give the chunks' text too.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """The chunks of a revision, in reading order, as the finest grain cut it."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        shape = opened(web, rows, document, revision)[1]
        items = books.chunks(rows, shape, after=key[0] if key else -1, limit=limit + 1, text=text)
    return page_of(request, response, items, limit, "ordinal")


def opened(web: Web, rows: Repositories, document: UUID, number: int | None) -> tuple[int, books.Shape]:
    """(number, shape) of a revision of a document. Raises NotFoundError."""
    revision = books.get_revision(rows, books.get_document(rows, document), number)
    return revision.number or 0, web.shapes.of(rows, revision.id)


@router.get("/documents/{document}/text", operation_id="getText", response_model=shapes.Text)
def get_text(
    document: UUID,
    web: Parts,
    _: Reader,
    revision: Number = None,
    line: Annotated[int, Query(ge=1, le=shapes.BIGGEST, description="The first line, from 1.")] = 1,
    lines: Annotated[int, Query(ge=1, le=books.WINDOW_LINES)] = 100,
) -> dict[str, Json]:
    """Lines of a revision's text."""
    with web.runtime.database.read() as rows:
        found = books.get_revision(rows, books.get_document(rows, document), revision)
        if line > max(1, found.line_count):
            raise NotFoundError(f"The text has {found.line_count} lines")
        window = books.window(rows, web.shapes.of(rows, found.id), line, lines)
    return {
        "document": document,
        "revision": found.number,
        "first_line": line,
        "lines": [
            {"number": number, "start": start, "text": body, "cut": cut} for number, start, body, cut in window.lines
        ],
        "next_line": window.next_line,
        "previous_line": window.previous_line,
        "total_lines": found.line_count,
    }


@router.get("/chunks/{chunk}", operation_id="getChunk", response_model=shapes.ChunkPlace, tags=["chunks"])
def get_chunk(chunk: UUID, web: Parts, _: Reader) -> dict[str, Json]:
    """A chunk by its logical id, with its text, where it stands now, or stood in the last revision cut so."""
    with web.runtime.database.read() as rows:
        return chunks.chunk_row(rows, web.shapes, chunk)


@router.get(
    "/chunks/{chunk}/tasks",
    operation_id="listChunkTasks",
    response_model=shapes.Page[shapes.ChunkTask],
    tags=["chunks"],
)
def list_chunk_tasks(request: Request, response: Response, chunk: UUID, web: Parts, _: Reader) -> dict[str, Json]:
    """What the latest 10 jobs over its document made of a chunk, the newest first."""
    with web.runtime.database.read() as rows:
        items = chunks.tasks_of(rows, web.shapes, chunk)
    return page_of(request, response, items, len(items))
