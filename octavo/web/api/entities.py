"""Names and terms of a document, and decisions about them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response

from octavo.web.access import Parts, Reader, Runner
from octavo.web.api import shapes
from octavo.web.api.paging import Cursor, Limit, key_of, page_of
from octavo.web.state import Web
from pipeline.ops.values import Json
from pipeline.reduce.glossary import DecisionKind
from workers.faces import books, entities
from workers.outputs import entities as decided

router = APIRouter(prefix="/documents/{document}", tags=["entities"])


@router.get("/entities", operation_id="listEntities", response_model=shapes.Page[shapes.Entity])
def list_entities(
    request: Request,
    response: Response,
    document: UUID,
    web: Parts,
    _: Reader,
    q: Annotated[str | None, Query(max_length=200, description="A part of a name or alias.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """The entities of the latest glossary over a document, most mentioned first, decisions included."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        output = entities.glossary_of(rows, web.outputs, document)
        items = output.items(0, after=key[0] if key else -1, limit=limit + 1, search=q)
    return page_of(request, response, items, limit, "item")


@router.get("/decisions", operation_id="listDecisions", response_model=shapes.Page[shapes.Decision])
def list_decisions(
    request: Request,
    response: Response,
    document: UUID,
    web: Parts,
    _: Reader,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """What was decided about a document's entities, newest first, those undone too."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        books.get_document(rows, document)
        found = rows.decisions.page(document, limit=limit + 1, before=key[0] if key else None)
    return page_of(request, response, [entities.decision_row(item) for item in found], limit, "id", of=found)


@router.post("/decisions", operation_id="decide", status_code=201, response_model=shapes.Decision)
def decide(document: UUID, body: shapes.Decide, web: Parts, _: Runner) -> dict[str, Json]:
    """Decide about an entity. The same again is refused once it holds; no model is asked."""
    number = decide_on(web, document, body.kind, body.name, body.other)
    with web.runtime.database.read() as rows:
        return entities.decision_row(rows.decisions.page(document, limit=1, before=number + 1)[0])


def decide_on(web: Web, document: UUID, kind: str, name: str, other: str) -> int:
    """Store a decision; gives its number. Raises NotFoundError, UsageError."""
    with web.runtime.database.read() as rows:
        found = entities.glossed(rows, web.outputs, document)
    return decided.decide(web.runtime.database, found, DecisionKind(kind), name, other)


@router.delete("/decisions/{decision}", operation_id="undoDecision", status_code=204)
def undo_decision(
    document: UUID, decision: Annotated[int, Path(ge=0, le=shapes.BIGGEST)], web: Parts, _: Runner
) -> None:
    """Take a decision back."""
    with web.runtime.database.read() as rows:
        books.get_document(rows, document)
    decided.undo(web.runtime.database, document, decision)
