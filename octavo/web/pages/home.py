"""The first page: what runs, what is broken, what it costs, what to do next."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request
from starlette.responses import Response

from octavo.web.access import Parts
from octavo.web.api.jobs import rows_of
from octavo.web.api.system import worker_rows
from octavo.web.api.views import view_rows
from octavo.web.pages.asked import Sees
from octavo.web.pages.render import render
from workers.faces import books, holes

router = APIRouter()
VIEWS = 50  # looked at for how many are stale


@router.get("/")
def home(request: Request, web: Parts, _: Sees) -> Response:
    """Home."""
    today = datetime.now(UTC).date()
    with web.runtime.database.read() as rows:
        active = rows_of(web, rows, rows.lists.jobs(limit=10, states=("running", "paused")))
        ended = rows_of(web, rows, rows.lists.jobs(limit=6, states=("done", "holes", "failed", "cancelled")))
        documents = books.documents(rows, rows.lists.documents(limit=6))
        values = {
            "active": active,
            "ended": ended,
            "documents": documents,
            "counts": rows.lists.jobs_by_state(),
            "document_count": rows.lists.count_documents(),
            "groups": holes.groups(rows, states=("running", "paused", "holes", "failed"))[:5],
            "usage": rows.lists.usage(limit=200, since=today),
            "operations": rows.web.operations(limit=5, states=("waiting", "running")),
        }
    views = view_rows(web, limit=VIEWS)
    stale = sum(1 for view in views if view["standing"] is None or view["standing"]["attention"])
    values |= {"stale_views": stale}
    return render(request, "home.html", values | {"workers": worker_rows(web), "distributed": web.distributed})
