"""Lists: a page at a time, and where they go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from octavo.web.api.shapes import BIGGEST, MOST
from octavo.web.state import web_of

Limit = Annotated[int, Query(ge=1, le=MOST, description="How many items at most.")]
Cursor = Annotated[str | None, Query(max_length=1024, description="The `next_cursor` of the part before.")]
Count = Annotated[bool, Query(description="Count the whole list too.")]
Id = Annotated[int, Path(ge=0, le=BIGGEST)]
Ordinal = Annotated[int, Query(ge=0, le=BIGGEST)]


def key_of(request: Request, cursor: str | None) -> list[Any] | None:
    """Where the list goes on. Raises ProblemError (400)."""
    return web_of(request).cursors.read(request, cursor)


def onward(request: Request, response: Response, cursor: str) -> None:
    """Say in a header where the list goes on."""
    address = request.url.include_query_params(cursor=cursor)
    response.headers["Link"] = f'<{address.path}?{address.query}>; rel="next"'


def page_of(
    request: Request,
    response: Response,
    items: Sequence[Any],
    limit: int,
    key: list[Any] | None,
    *,
    total: int | None = None,
) -> dict[str, Any]:
    """A part of a list. It was asked for one more than is given: is that there, the list goes on after `key`."""
    following = web_of(request).cursors.make(request, key) if len(items) > limit and key is not None else None
    if following is not None:
        onward(request, response, following)
    return {"items": list(items[:limit]), "next_cursor": following, "total": total}
