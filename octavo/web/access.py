"""Who asks, and what they may."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from octavo.web.problems import ProblemError
from octavo.web.state import Web, web_of
from octavo.web.strict import only_known
from workers.faces.tokens import Caller, find_caller

_bearer = HTTPBearer(auto_error=False, scheme_name="token", description="A token of `octavo token add`.")
_cookie = APIKeyCookie(
    name="octavo", auto_error=False, scheme_name="session", description="The session of a browser on the pages."
)


def caller_of(request: Request) -> Caller | None:
    """Who shows a token or a session; None when neither is good.

    A token goes before a session: a program says what it means.
    """
    web = web_of(request)
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme:
        found = scheme.lower() == "bearer" and secret
        return find_caller(web.runtime.database, secret.strip(), "token", configured=web.token) if found else None
    session = request.cookies.get(web.cookie)
    return find_caller(web.runtime.database, session, "session") if session else None


def allow(request: Request, response: Response, scope: str) -> Caller:
    """The caller, who may do what asks for this scope. Raises ProblemError (401, 403, 429)."""
    web = web_of(request)
    found = caller_of(request)
    if found is None:
        raise ProblemError(
            HTTPStatus.UNAUTHORIZED,
            "no-token",
            "Show a token, or enter by the address that octavo web printed",
            hint="octavo token add makes one; send it as Authorization: Bearer oct_…",
            headers={"WWW-Authenticate": "Bearer"},
        )
    left = web.rate.spend(found.id)
    policy = f'"default";q={web.rate.per_minute};w=60'
    if left is None:
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS,
            "too-often",
            "Too many requests",
            headers={"Retry-After": "1", "RateLimit-Policy": policy},
        )
    response.headers["RateLimit-Policy"] = policy
    response.headers["RateLimit"] = f'"default";r={left.requests};t={left.again_s}'
    if not found.may(scope):
        raise ProblemError(
            HTTPStatus.FORBIDDEN,
            "scope",
            f"This token may {found.scope}, and that needs {scope}",
            hint=f"octavo token add --scope {scope} makes one that may",
        )
    request.state.caller = found
    return found


def _needs(scope: str) -> Callable[..., Caller]:
    def check(
        request: Request,
        response: Response,
        _token: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)] = None,
        _session: Annotated[str | None, Security(_cookie)] = None,
    ) -> Caller:
        found = allow(request, response, scope)
        only_known(request)
        return found

    return check


Reader = Annotated[Caller, Depends(_needs("read"))]
Runner = Annotated[Caller, Depends(_needs("run"))]
Admin = Annotated[Caller, Depends(_needs("admin"))]
Parts = Annotated[Web, Depends(web_of)]
