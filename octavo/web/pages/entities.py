"""The names and terms of a document: find, merge, split, rename, and take it back."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from octavo.web.access import Parts
from octavo.web.api.entities import decide_on
from octavo.web.api.paging import Id, goes_on, key_of
from octavo.web.pages.asked import Acts, Sees
from octavo.web.pages.render import render
from pipeline.errors import NotFoundError
from workers.faces import books, entities
from workers.outputs import entities as decided

router = APIRouter(prefix="/documents/{document_id}")
PAGE = 50
DECISIONS = 50
Kind = Annotated[str, Form(pattern="^(merge|split|rename)$")]
Name = Annotated[str, Form(min_length=1, max_length=500)]


@router.get("/entities")
def entity_list(
    request: Request,
    document_id: UUID,
    web: Parts,
    _: Sees,
    q: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Annotated[str | None, Query(max_length=1024)] = None,
) -> Response:
    """The entities, and what was decided."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        document = books.get_document(rows, document_id)
        made = [entities.decision_row(item) for item in rows.decisions.page(document_id, limit=DECISIONS)]
        try:
            output = entities.glossary_of(rows, web.outputs, document_id)
        except NotFoundError:
            output = None
        after = key[0] if key else -1
        items = output.items(0, after=after, limit=PAGE + 1, search=q or None) if output else []
        job = output.view.context.job.id if output else None
    onward = goes_on(request, items, PAGE, "item")
    values = {"document": document, "items": items[:PAGE], "onward": onward, "q": q or "", "job": job}
    return render(request, "entities.html", values | {"decisions": made})


@router.post("/decisions")
def decide(
    document_id: UUID,
    web: Parts,
    _: Acts,
    kind: Annotated[str, Form(pattern="^(merge|split|rename)$")],
    name: Name,
    other: Name,
) -> Response:
    """Decide about an entity."""
    decide_on(web, document_id, kind, name, other)
    return RedirectResponse(f"/documents/{document_id}/entities", 303)


@router.post("/decisions/{decision}/undo")
def undo(document_id: UUID, decision: Id, web: Parts, _: Acts) -> Response:
    """Take a decision back."""
    decided.undo(web.runtime.database, document_id, decision)
    return RedirectResponse(f"/documents/{document_id}/entities", 303)
