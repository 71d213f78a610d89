"""Views: what is kept fresh, where it stands, and the sweep that renews it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request, Response

from db.database import Repositories
from octavo.web.access import Parts, Reader, Runner
from octavo.web.api import shapes
from octavo.web.api.jobs import operation, operation_response
from octavo.web.api.once import Key, once
from octavo.web.api.paging import Cursor, Limit, key_of, page_of
from octavo.web.problems import ProblemError
from octavo.web.state import Web
from pipeline.ops.values import Json
from workers.faces import views
from workers.faces.child import spec_of

router = APIRouter(tags=["views"])
Name = Annotated[str, Path(pattern=shapes.VIEW_NAME, description="A view's name.")]
FIRST_LOOK_S = 10.0  # how long the API waits for a view that was never looked at


@router.get("/views", operation_id="listViews", response_model=shapes.Page[shapes.View])
def list_views(
    request: Request, response: Response, web: Parts, _: Reader, limit: Limit = 50, cursor: Cursor = None
) -> dict[str, Json]:
    """Views, by name."""
    key = key_of(request, cursor)
    items = view_rows(web, limit=limit + 1, after=key[0] if key else None)
    return page_of(request, response, items, limit, "name")


def view_rows(web: Web, *, limit: int, after: str | None = None) -> list[dict[str, Json]]:
    """Views after a name, each as far as it is known where it stands."""
    with web.runtime.database.read() as rows:
        found = rows.views.page(limit=limit, after=after)
        stood = [web.standings.of(view, wait_s=0) for view in found]
        return views.view_lines(rows, found, web.runtime.settings, stood)


@router.post("/views", operation_id="addView", status_code=201, response_model=shapes.View)
def add_view(body: shapes.NewView, response: Response, web: Parts, _: Runner) -> dict[str, Json]:
    """Keep a pipeline fresh over documents. A sweep makes it, and renews what changed."""
    if body.name == "last":
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", "A view can not be called 'last'")
    options: dict[str, Json] = {} if body.model is None else {"model": body.model}
    with web.runtime.database.write() as rows:
        views.add_view(
            web.runtime,
            rows,
            name=body.name,
            spec=spec_of(body.pipeline),
            documents=body.documents,
            options=options,
            every_s=body.every_s,
        )
    response.headers["Location"] = f"/v1/views/{body.name}"
    return view_of(web, body.name)


@router.get("/views/{view}", operation_id="getView", response_model=shapes.View)
def get_view(view: Name, web: Parts, _: Reader) -> dict[str, Json]:
    """One view."""
    return view_of(web, view)


def view_of(web: Web, name: str, *, wait_s: float = views.WAIT_S) -> dict[str, Json]:
    """A view with where it stands, looked at of late. Raises NotFoundError."""
    with web.runtime.database.read() as rows:
        found = views.get_view(rows, name)
        stood = web.standings.of(found, wait_s=wait_s)
        return views.view_lines(rows, [found], web.runtime.settings, [stood])[0]


@router.get(
    "/views/{view}/documents", operation_id="listViewDocuments", response_model=shapes.Page[shapes.ViewDocument]
)
def list_view_documents(
    request: Request, response: Response, view: Name, web: Parts, _: Reader, limit: Limit = 50, cursor: Cursor = None
) -> dict[str, Json]:
    """The documents of a view, in order: fresh, stale and why, missing, with holes. The first look may take a while."""
    key = key_of(request, cursor)
    items = document_rows(web, view, after=key[0] if key else -1, limit=limit + 1, wait_s=FIRST_LOOK_S)
    if items is None:
        raise not_looked_at()
    return page_of(request, response, items, limit, "item")


def not_looked_at() -> ProblemError:
    """What is said while a view is looked at for the first time."""
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "being-looked-at",
        "The view is being looked at for the first time",
        hint="ask again in a moment",
        headers={"Retry-After": "2"},
    )


def document_rows(
    web: Web, name: str, *, after: int, limit: int, wait_s: float = views.WAIT_S
) -> list[dict[str, Json]] | None:
    """A part of a view's documents; None while it is looked at for the first time. Raises NotFoundError."""
    with web.runtime.database.read() as rows:
        found = views.get_view(rows, name)
    stood = web.standings.of(found, wait_s=wait_s)
    if stood is None:
        return None
    documents = stood.row["documents"] if stood.row else []
    return [row | {"item": at} for at, row in enumerate(documents)][after + 1 : after + 1 + limit]


@router.post("/views/{view}/sweep", operation_id="sweepView", status_code=202, response_model=shapes.Operation)
def sweep_view(request: Request, response: Response, view: Name, web: Parts, caller: Runner, key: Key = None) -> Json:
    """Bring a view up to date: find changed files and stale chunks, and re-derive those and nothing else."""

    def do(rows: Repositories) -> dict[str, Json]:
        views.get_view(rows, view)
        return {"operation": str(operation(rows, "sweep", {"view": view}))}

    done = once(web, caller, request, key, {}, do)
    web.hands.wake()
    return operation_response(web, response, UUID(done["operation"]))


@router.post("/views/{view}/plan", operation_id="planView", status_code=202, response_model=shapes.Operation)
def plan_view(response: Response, view: Name, web: Parts, _: Runner) -> Json:
    """What the next refresh would cost, step by step. Changed files are read, nothing is asked."""
    with web.runtime.database.write() as rows:
        views.get_view(rows, view)
        made = operation(rows, "plan", {"view": view})
    web.hands.wake()
    return operation_response(web, response, made)


@router.post("/views/{view}/dismissals", operation_id="dismissStaleness", response_model=shapes.View)
def dismiss_staleness(view: Name, body: shapes.Dismiss, web: Parts, caller: Runner) -> dict[str, Json]:
    """Note that documents of a view are not fresh and that it is no trouble. A sweep renews them all the same."""
    dismiss(web, view, note=body.note, by=caller.name, uris=body.uris)
    return view_of(web, view, wait_s=FIRST_LOOK_S)


def dismiss(web: Web, name: str, *, note: str, by: str, uris: list[str]) -> None:
    """Dismiss staleness. Raises NotFoundError, ProblemError (503) while the view is looked at for the first time."""
    if not views.dismiss(web.runtime.database, web.standings, name, note=note, by=by, uris=uris):
        raise not_looked_at()


@router.delete("/views/{view}/dismissals", operation_id="undoDismissals", status_code=204)
def undo_dismissals(view: Name, web: Parts, _: Runner) -> None:
    """Take back all that was dismissed of a view."""
    revive(web, view)


def revive(web: Web, name: str) -> None:
    """Take dismissals back. Raises NotFoundError."""
    with web.runtime.database.write() as rows:
        found = views.get_view(rows, name)
        rows.views.revive(found.id)
    web.standings.forget(found.id)


@router.delete("/views/{view}", operation_id="removeView", status_code=204)
def remove_view(view: Name, web: Parts, _: Runner) -> None:
    """Keep a view no more. Its documents and what it computed stay."""
    with web.runtime.database.write() as rows:
        rows.views.remove(views.get_view(rows, view).id)
