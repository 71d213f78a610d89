"""The pages' addresses."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from octavo.web.pages import (
    enter,
    entities,
    evidence,
    home,
    jobs,
    library,
    merges,
    reader,
    reference,
    repair,
    settings,
    tasks,
    tree,
    views,
)
from octavo.web.pages.render import error_page, statics
from octavo.web.problems import of_status

PARTS = (
    enter, home, library, entities, reader, jobs, tasks, tree, merges, repair, views, evidence, settings, reference,
)  # fmt: skip
router = APIRouter()
for part in PARTS:
    router.include_router(part.router)


@router.get("/static/{stamp}/{name}")
def static_file(stamp: str, name: str) -> Response:  # noqa: ARG001  # the stamp only makes the address new
    """A file that comes with the pages."""
    found = statics().get(name)
    if found is None:
        raise of_status(404, "There is no such file")
    kind, data = found
    return Response(data, media_type=kind, headers={"Cache-Control": "public, max-age=31536000, immutable"})


@router.get("/health")
def health(request: Request) -> Response:
    """Does it answer, its database too? For supervisors: no token is needed, and nothing else is told."""
    from db.version import is_current

    web = request.app.state.web
    return PlainTextResponse("ok\n") if is_current(web.runtime.database) else PlainTextResponse("down\n", 503)


def mount(app: FastAPI) -> None:
    """What needs the application itself."""

    @app.get("/openapi.json", include_in_schema=False)
    def openapi_document() -> JSONResponse:
        return JSONResponse(app.openapi())


__all__ = ["error_page", "mount", "router"]
