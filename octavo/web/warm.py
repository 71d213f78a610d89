"""What the first visitor would else wait for: templates are compiled and the statements of the common pages made."""

from __future__ import annotations

import logging
from collections.abc import Callable

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from octavo.web.api.documents import list_documents
from octavo.web.pages import home, jobs, library, repair, settings, views
from octavo.web.pages.render import compile_templates
from octavo.web.state import Web, launched
from pipeline.errors import OctavoError

log = logging.getLogger(__name__)


def warm(app: FastAPI, web: Web) -> None:
    """Show the common pages to nobody. Raises nothing: what is wrong is told to who asks for it."""
    compile_templates()
    caller = launched()
    request = Request(
        {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [], "app": app, "router": None}
    )
    common: tuple[Callable[[], object], ...] = (
        lambda: home.home(request, web, caller),
        lambda: library.documents(request, web, caller),
        lambda: jobs.job_list(request, web, caller),
        lambda: repair.hole_list(request, web, caller),
        lambda: views.view_list(request, web, caller),
        lambda: settings.workers(request, web, caller),
        lambda: settings.cost(request, web, caller),
        lambda: list_documents(request, Response(), web, caller),
        app.openapi,
    )
    for show in common:
        try:
            show()
        except OctavoError as error:
            log.warning("a page could not be made ready: %s", error.message)
