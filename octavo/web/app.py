"""The application: guards, the API, the pages, and errors told in each one's own way."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from octavo.web import problems
from octavo.web.api import (
    documents,
    entities,
    events,
    evidence,
    jobs,
    merges,
    repair,
    system,
    tasks,
    tree,
    uploads,
    views,
)
from octavo.web.guards import Guard
from octavo.web.pages import routes as pages
from octavo.web.problems import Problem, ProblemError
from octavo.web.state import Web
from octavo.web.warm import warm
from pipeline.errors import OctavoError

log = logging.getLogger(__name__)

API = "/v1"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "description": "What is wrong with the request.", "content": {problems.MEDIA_TYPE: {}}},
    "5XX": {"model": Problem, "description": "What went wrong here.", "content": {problems.MEDIA_TYPE: {}}},
}


def create_app(web: Web) -> FastAPI:
    """The application over the parts of a process; its hub and hands run while it does."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(warm, app, web)
        web.hub.start()
        web.hands.start()
        yield
        web.close()

    app = _application(lifespan)
    app.state.web = web
    app.add_middleware(Guard, hosts=web.hosts, upload_bytes=web.runtime.settings.upload_mb << 20)
    return app


def described() -> dict[str, Any]:
    """The API's description, without a database or a server."""
    return openapi(_application(None))


def _application(lifespan: Any) -> FastAPI:
    app = FastAPI(
        title="Octavo",
        version=version("octavo"),
        description="Huge documents in; finished, cited results out. Resumable, memoized, chunk by chunk.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        responses=PROBLEMS,
    )
    api = APIRouter(prefix=API)
    for part in (documents, entities, views, jobs, repair, tree, merges, events, tasks, evidence, system, uploads):
        api.include_router(part.router)
    app.include_router(api)
    app.include_router(pages.router, include_in_schema=False)
    pages.mount(app)
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]
    _tell_errors(app)
    return app


def openapi(app: FastAPI) -> dict[str, Any]:
    """The API's description. Its errors are problem details, never FastAPI's own shape."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version="1", description=app.description, routes=app.routes)
        _as_problems(made)
        app.openapi_schema = made
    return app.openapi_schema


def _as_problems(made: dict[str, Any]) -> None:
    shape = {"$ref": "#/components/schemas/Problem"}
    for methods in made["paths"].values():
        for action in methods.values():
            action["responses"].pop("422", None)
            for status in ("4XX", "5XX"):
                action["responses"][status]["content"] = {problems.MEDIA_TYPE: {"schema": shape}}
    for name in ("HTTPValidationError", "ValidationError"):
        made["components"]["schemas"].pop(name, None)


def _tell_errors(app: FastAPI) -> None:
    def told(make: Callable[[Any], ProblemError]) -> Callable[[Request, Any], Response]:
        def handler(request: Request, error: Any) -> Response:
            problem = make(error)
            return problems.response(problem) if _is_api(request) else pages.error_page(request, problem)

        return handler

    app.add_exception_handler(ProblemError, told(lambda error: error))
    app.add_exception_handler(OctavoError, told(problems.of_error))
    app.add_exception_handler(RequestValidationError, told(lambda error: problems.of_fields(error.errors())))
    app.add_exception_handler(HTTPException, told(_of_http))
    app.add_exception_handler(Exception, told(_unexpected))


def _of_http(error: HTTPException) -> ProblemError:
    made = problems.of_status(error.status_code, error.detail if isinstance(error.detail, str) else None)
    made.headers = dict(error.headers or {})
    return made


def _unexpected(error: Exception) -> ProblemError:
    log.error("a request met something unexpected", exc_info=error)  # its kind and place, not its words
    return problems.of_status(500, "Octavo met something it did not expect; its log says what")


def _is_api(request: Request) -> bool:
    return request.url.path.startswith(API) or "text/html" not in request.headers.get("accept", "text/html,*/*")
