"""Documents: the list, one of them, one of its chunks; and books that come in."""

from __future__ import annotations

import os
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, File, Form, Query, Request, UploadFile
from starlette.responses import RedirectResponse, Response

from octavo.web.access import Parts
from octavo.web.api import uploads
from octavo.web.api.documents import change_rows, document_row, document_rows, opened
from octavo.web.api.jobs import operation, rows_of
from octavo.web.api.paging import goes_on, key_of
from octavo.web.pages.asked import Acts, Sees
from octavo.web.pages.picture import strip_picture
from octavo.web.pages.render import render
from octavo.web.problems import of_status
from pipeline.errors import NotFoundError
from pipeline.spec import builtin_names
from workers.faces import books, chunks
from workers.faces.child import spec_of

router = APIRouter()

PAGE = 50
BLOCK = 1 << 20


@router.get("/documents")
def documents(
    request: Request,
    web: Parts,
    _: Sees,
    q: Annotated[str | None, Query(max_length=200)] = None,
    collection: Annotated[list[str] | None, Query(max_length=50)] = None,
    uri: Annotated[str | None, Query(max_length=4000)] = None,
    cursor: Annotated[str | None, Query(max_length=1024)] = None,
) -> Response:
    """The library."""
    key = key_of(request, cursor)
    filters: dict[str, Any] = {"search": q or None, "collections": collection or (), "uri": uri}
    with web.runtime.database.read() as rows:
        found = rows.lists.documents(limit=PAGE + 1, after=UUID(key[0]) if key else None, **filters)
        items = document_rows(web, rows, found[:PAGE])
        total = rows.lists.count_documents(**filters)
    onward = goes_on(request, found, PAGE, "id")
    asked = {"q": q or "", "collection": collection or [], "uri": uri}
    values = {"items": items, "total": total, "asked": asked, "onward": onward}
    return render(
        request,
        "documents.html",
        values | {"pipelines": builtin_names(), "upload_mb": web.runtime.settings.upload_mb},
    )


@router.post("/documents")
def upload(
    web: Parts,
    _: Acts,
    book: Annotated[UploadFile, File()],
    pipeline: Annotated[str, Form(max_length=64)] = "summary",
    start: Annotated[str, Form(max_length=3)] = "",
) -> Response:
    """A book that comes in by a form."""
    spec_of(pipeline)
    size = book.file.seek(0, os.SEEK_END)
    book.file.seek(0)
    made = uploads.announce(web, name=book.filename or "", size=size, pipeline=pipeline, start=start == "yes")
    with uploads.partial(web, made.id).open("wb") as out:
        while block := book.file.read(BLOCK):
            out.write(block)
    return RedirectResponse(f"/operations/{uploads.finish(web, made)}", 303)


@router.get("/operations/{operation_id}")
def show_operation(request: Request, operation_id: UUID, web: Parts, _: Sees) -> Response:
    """What was asked for: how far it is, and where it led."""
    with web.runtime.database.read() as rows:
        found = rows.web.operation(operation_id)
    if found is None:
        raise of_status(404, f"There is no operation {operation_id}")
    result = found.result or {}
    if found.state == "done" and result.get("job"):
        return RedirectResponse(f"/jobs/{result['job']}", 303)
    if found.state == "done" and result.get("document"):
        return RedirectResponse(f"/documents/{result['document']}", 303)
    return render(request, "operation.html", {"operation": found})


@router.get("/documents/{document_id}")
def document(
    request: Request,
    document_id: UUID,
    web: Parts,
    _: Sees,
    after: Annotated[int, Query(ge=-1, le=2**31)] = -1,
    revision: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Response:
    """One document: its structure, revisions and jobs."""
    with web.runtime.database.read() as rows:
        row = document_row(web, rows, document_id)
        revisions = books.revision_rows(rows, rows.lists.revisions(document_id, limit=20))
        jobs = rows_of(web, rows, rows.lists.jobs(limit=20, document=document_id))
        views = [view.name for view in rows.views.over(document_id, 20)]
        sections, count, chosen = [], 0, revision
        if revisions:
            try:
                chosen, shape = opened(web, rows, document_id, revision)
                sections = books.sections(rows, shape, after=after, limit=PAGE)
                count = len(shape.section_ids)
            except NotFoundError:
                if revision is not None:
                    raise
    values = {
        "document": row,
        "revisions": revisions,
        "revision": chosen,
        "jobs": jobs,
        "views": views,
        "mapped": next((job for job in jobs if job["documents"] == 1 and job["tasks"]), None),
        "doc_sections": sections,
        "section_count": count,
        "after": after,
        "pipelines": builtin_names(),
    }
    return render(request, "document.html", values)


@router.get("/documents/{document_id}/changes")
def changes(
    request: Request,
    document_id: UUID,
    web: Parts,
    _: Sees,
    revision: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    cursor: Annotated[str | None, Query(max_length=1024)] = None,
) -> Response:
    """What changed between two revisions, chunk by chunk."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        document = books.get_document(rows, document_id)
    old, new, found = web.edits.of(document_id, before, revision)
    items = change_rows(found, after=key[0] if key else -1, limit=PAGE + 1) if found else []
    onward = goes_on(request, items, PAGE, "item")
    values = {"document": document, "before": old, "revision": new, "found": found, "items": items[:PAGE]}
    asked = {"revision": revision, "before": before}
    return render(request, "changes.html", values | {"onward": onward, "asked": asked, "cursor": cursor})


@router.post("/documents/{document_id}/start")
def start(document_id: UUID, web: Parts, _: Acts, pipeline: Annotated[str, Form(max_length=64)]) -> Response:
    """Begin a job of a pipeline over a document."""
    spec_of(pipeline)
    what = {"pipeline": pipeline, "documents": [str(document_id)]}
    with web.runtime.database.write() as rows:
        books.get_document(rows, document_id)
        made = operation(rows, "start", what)
    web.hands.wake()
    return RedirectResponse(f"/operations/{made}", 303)


@router.post("/documents/{document_id}/plan")
def plan(document_id: UUID, web: Parts, _: Acts, pipeline: Annotated[str, Form(max_length=64)]) -> Response:
    """What a job of a pipeline over a document would cost."""
    spec_of(pipeline)
    with web.runtime.database.write() as rows:
        books.get_document(rows, document_id)
        made = operation(rows, "plan", {"pipeline": pipeline, "documents": [str(document_id)]})
    web.hands.wake()
    return RedirectResponse(f"/operations/{made}", 303)


@router.get("/documents/{document_id}/strip.png")
def strip(document_id: UUID, web: Parts, _: Sees) -> Response:
    """The chunks of a document in its latest job as a strip of at most 100 stretches, each as bad as its worst."""
    with web.runtime.database.read() as rows:
        books.get_document(rows, document_id)
        codes = chunks.strip(rows, document_id)
    return Response(strip_picture(codes), media_type="image/png", headers={"Cache-Control": "private, max-age=5"})


@router.get("/chunks/{chunk_id}")
def chunk(request: Request, chunk_id: UUID, web: Parts, _: Sees) -> Response:
    """One chunk, and what jobs made of it."""
    with web.runtime.database.read() as rows:
        values = {
            "chunk": chunks.chunk_row(rows, web.shapes, chunk_id),
            "tasks": chunks.tasks_of(rows, web.shapes, chunk_id),
        }
    return render(request, "chunk.html", values)
