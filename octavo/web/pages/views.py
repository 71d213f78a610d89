"""Views: the list, one of them with its documents and causes, and the buttons that sweep and remove it."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request
from pydantic import Field
from starlette.responses import RedirectResponse, Response

from octavo.web.access import Parts
from octavo.web.api.jobs import operation
from octavo.web.api.paging import goes_on, key_of
from octavo.web.api.shapes import VIEW_NAME
from octavo.web.api.views import Name, dismiss, document_rows, revive, view_of, view_rows
from octavo.web.pages.asked import Acts, Sees
from octavo.web.pages.render import render
from octavo.web.problems import of_status
from octavo.web.state import Web
from pipeline.ops.values import Json
from workers.faces import views
from workers.faces.child import spec_of

router = APIRouter()
PAGE = 50
CAUSES = {
    "source": "the file, or its text, changed",
    "reader": "a newer reader reads it otherwise",
    "splitter": "a newer splitter cuts it otherwise",
    "grain": "the pipeline asks for other chunks",
    "pipeline": "the pipeline's steps changed",
    "op": "an op has a new version",
    "prompt": "a prompt or schema changed",
    "model": "another model answers",
    "params": "parameters changed",
    "context": "what the model is shown besides changed",
    "selection": "other documents are gathered with it",
    "results": "results are gone from the memo",
}


@router.get("/views")
def view_list(
    request: Request, web: Parts, _: Sees, cursor: Annotated[str | None, Query(max_length=1024)] = None
) -> Response:
    """All views."""
    key = key_of(request, cursor)
    found = view_rows(web, limit=PAGE + 1, after=key[0] if key else None)
    onward = goes_on(request, found, PAGE, "name")
    return render(request, "views.html", {"items": found[:PAGE], "onward": onward})


@router.get("/views/{view}")
def one_view(
    request: Request,
    view: Name,
    web: Parts,
    _: Sees,
    cursor: Annotated[str | None, Query(max_length=1024)] = None,
) -> Response:
    """One view: where it stands, why, and each of its documents."""
    key = key_of(request, cursor)
    found = document_rows(web, view, after=key[0] if key else -1, limit=PAGE + 1)
    onward = goes_on(request, found or (), PAGE, "item")
    values: dict[str, Any] = {"view": view_of(web, view), "documents": (found or [])[:PAGE], "onward": onward}
    return render(request, "view.html", values | {"causes": CAUSES, "cursor": cursor, "looking": found is None})


@router.post("/views/{view}/sweep")
def sweep(view: Name, web: Parts, _: Acts) -> Response:
    """Bring it up to date."""
    return _begun(web, "sweep", view)


@router.post("/views/{view}/plan")
def plan(view: Name, web: Parts, _: Acts) -> Response:
    """What a refresh would cost."""
    return _begun(web, "plan", view)


def _begun(web: Web, what: str, view: str) -> Response:
    """Have an operation done about a view, and go to where it is told of."""
    with web.runtime.database.write() as rows:
        views.get_view(rows, view)
        made = operation(rows, what, {"view": view})
    web.hands.wake()
    return RedirectResponse(f"/operations/{made}", 303)


@router.post("/views/{view}/dismiss")
def dismiss_staleness(
    view: Name,
    web: Parts,
    caller: Acts,
    note: Annotated[str, Form(min_length=1, max_length=1000)],
    uri: Annotated[list[Annotated[str, Field(max_length=4000)]] | None, Form()] = None,
) -> Response:
    """Dismiss the staleness of a document, or of all."""
    dismiss(web, view, note=note, by=caller.name, uris=uri or [])
    return RedirectResponse(f"/views/{view}", 303)


@router.post("/views/{view}/revive")
def undo_dismissals(view: Name, web: Parts, _: Acts) -> Response:
    """Take all dismissals of a view back."""
    revive(web, view)
    return RedirectResponse(f"/views/{view}", 303)


@router.post("/views/{view}/remove")
def remove(view: Name, web: Parts, _: Acts) -> Response:
    """Keep it no more."""
    with web.runtime.database.write() as rows:
        rows.views.remove(views.get_view(rows, view).id)
    return RedirectResponse("/views", 303)


@router.post("/documents/{document_id}/keep")
def keep(
    document_id: UUID,
    web: Parts,
    _: Acts,
    pipeline: Annotated[str, Form(max_length=64)],
    name: Annotated[str, Form(pattern=VIEW_NAME)],
) -> Response:
    """Keep a pipeline fresh over a document, and make it for the first time."""
    if name == "last":
        raise of_status(422, "A view can not be called 'last'")
    options: dict[str, Json] = {}
    with web.runtime.database.write() as rows:
        views.add_view(
            web.runtime,
            rows,
            name=name,
            spec=spec_of(pipeline),
            documents=[document_id],
            options=options,
            every_s=None,
        )
        made = operation(rows, "sweep", {"view": name})
    web.hands.wake()
    return RedirectResponse(f"/operations/{made}", 303)
