"""Lists: a page at a time, and where they go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass
from datetime import date
from typing import Annotated, Any
from uuid import UUID

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


def goes_on(request: Request, items: Sequence[Any], limit: int, *by: str | int) -> str | None:
    """The cursor after `limit` items, where one more was found; `by` names the fields that say where an item stands."""
    if len(items) <= limit or not by:
        return None
    last = items[limit - 1]
    found = [getattr(last, str(name)) if is_dataclass(last) else last[name] for name in by]
    return web_of(request).cursors.make(request, [str(at) if isinstance(at, UUID | date) else at for at in found])


def page_of(
    request: Request,
    response: Response,
    items: Sequence[Any],
    limit: int,
    *by: str | int,
    of: Sequence[Any] | None = None,
    total: int | None = None,
) -> dict[str, Any]:
    """A part of a list that was asked for one item more than is given; the list goes on `by` the last one's fields.

    `of`: what the items were made of, where they have not those fields. Without `by` this is all of it.
    """
    following = goes_on(request, items if of is None else of, limit, *by)
    if following is not None:
        onward(request, response, following)
    return {"items": list(items[:limit]), "next_cursor": following, "total": total}
