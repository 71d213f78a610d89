"""The way in: a launch code or a token becomes a session."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from octavo.web.access import Parts, caller_of
from octavo.web.pages.render import render
from octavo.web.state import Web, launched
from workers.faces.tokens import SESSION_DAYS, Caller, find_caller, make_session, revoke_session

router = APIRouter()


@router.get("/enter")
def enter(request: Request, code: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    """Ask for the code or a token. A visit alone uses no code up."""
    return render(request, "enter.html", {"code": code, "wrong": None})


@router.post("/enter")
def let_in(request: Request, web: Parts, secret: Annotated[str, Form(max_length=500)]) -> Response:
    """Exchange a launch code or a token for a session."""
    caller = _whose(web, secret.strip())
    if caller is None:
        wrong = "That code has been used, is too old, or never was one. octavo web prints a new one when it starts."
        return render(request, "enter.html", {"code": None, "wrong": wrong}, status=403)
    response = RedirectResponse("/", 303)
    response.set_cookie(
        web.cookie,
        make_session(web.runtime.database, caller),
        max_age=SESSION_DAYS * 86_400,
        httponly=True,
        samesite="strict",
        secure=web.secure,
    )
    return response


def _whose(web: Web, secret: str) -> Caller | None:
    if web.codes.use(secret):
        return launched()
    return find_caller(web.runtime.database, secret, "token", configured=web.token)


@router.post("/leave")
def leave(request: Request, web: Parts) -> Response:
    """End the session."""
    if caller_of(request) is not None:
        revoke_session(web.runtime.database, request.cookies.get(web.cookie, ""))
    response = RedirectResponse("/enter", 303)
    response.delete_cookie(web.cookie)
    return response
