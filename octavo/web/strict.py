"""A parameter that nobody reads is a mistake, not a wish: it is refused."""

from __future__ import annotations

from starlette.requests import Request

from octavo.web.problems import of_fields

PREFIX = "/v1"


def only_known(request: Request) -> None:
    """See that every parameter of the query is one of the action's. Raises ProblemError (422)."""
    if not request.query_params:
        return
    paths = request.app.openapi()["paths"]
    path = request.scope["route"].path
    action = paths[path if path in paths else PREFIX + path][request.method.lower()]
    known = {item["name"] for item in action.get("parameters", ()) if item["in"] == "query"}
    unknown = sorted({name for name in request.query_params if name not in known})
    if unknown:
        allowed = ", ".join(sorted(known)) or "none"
        raise of_fields(
            [{"loc": ("query", name), "msg": f"there is no such parameter; known: {allowed}"} for name in unknown]
        )
