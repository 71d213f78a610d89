"""Cost, workers, settings and tokens."""

from __future__ import annotations

from datetime import date
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from db.listed import Token
from octavo.web.access import Parts, caller_of
from octavo.web.api.jobs import rows_of
from octavo.web.api.paging import goes_on, key_of
from octavo.web.api.shapes import ScopeWord
from octavo.web.api.system import queue_rows_of, usage_rows, worker_rows
from octavo.web.pages.asked import Rules, Sees
from octavo.web.pages.render import render
from octavo.web.state import Web
from workers.faces import tokens

router = APIRouter()
PAGE = 50


@router.get("/cost")
def cost(
    request: Request, web: Parts, _: Sees, cursor: Annotated[str | None, Query(max_length=1024)] = None
) -> Response:
    """What was spent, day by day."""
    key = key_of(request, cursor)
    found = usage_rows(web, limit=PAGE + 1, after=(date.fromisoformat(key[0]), key[1]) if key else None)
    onward = goes_on(request, found, PAGE, "day", "pipeline")
    return render(request, "cost.html", {"items": found[:PAGE], "onward": onward})


@router.get("/workers")
def workers(request: Request, web: Parts, _: Sees) -> Response:
    """Who works, and what holds them."""
    settings = web.runtime.settings
    with web.runtime.database.read() as rows:
        active = rows_of(web, rows, rows.lists.jobs(limit=50, states=("running",)))
    here = [(job, web.hands.pid(UUID(job["id"]))) for job in active]
    values = {"workers": worker_rows(web), "distributed": web.distributed, "active": here}
    values |= {"queues": queue_rows_of(web), "flower": settings.flower_url}
    return render(request, "workers.html", values | {"limits": settings.limits, "models": settings.models})


@router.get("/settings")
def show_settings(request: Request, web: Parts, caller: Sees) -> Response:
    """Settings and tokens."""
    return _settings(request, web, tokens.list_tokens(web.runtime.database) if caller.may("admin") else None)


def _settings(request: Request, web: Web, found: list[Token] | None, secret: str | None = None) -> Response:
    settings = web.runtime.settings
    shown = {
        "state folder": settings.state,
        "database": web.runtime.database.where,
        "mode": "workers" if web.distributed else "embedded",
        "model": settings.model,
        "lease": f"{settings.lease_s:g} s",
        "uploads": f"up to {settings.upload_mb} MB",
        "host names": ", ".join(sorted(web.hosts)),
    }
    return render(request, "settings.html", {"shown": shown, "tokens": found, "secret": secret})


@router.post("/settings/tokens")
def make_token(
    request: Request,
    web: Parts,
    _: Rules,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    scope: Annotated[ScopeWord, Form()] = "read",
) -> Response:
    """A new token, shown this once."""
    _made, secret = tokens.make_token(web.runtime.database, name=name, scope=scope)
    return _settings(request, web, tokens.list_tokens(web.runtime.database), secret)


@router.post("/settings/tokens/{token_id}/revoke")
def revoke_token(request: Request, token_id: UUID, web: Parts, _: Rules) -> Response:
    """Take a token back."""
    asking = caller_of(request)
    if asking is None or asking.id != str(token_id):
        tokens.revoke(web.runtime.database, token_id)
    return RedirectResponse("/settings", 303)
