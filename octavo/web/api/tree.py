"""A fold, node by node."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response

from octavo.web.access import Parts, Reader
from octavo.web.api import shapes
from octavo.web.api.paging import Cursor, Limit, key_of, page_of
from pipeline.ops.values import Json
from workers.faces import tree

router = APIRouter(prefix="/jobs/{job}/fold", tags=["jobs"])
StepName = Annotated[str | None, Query(max_length=200, description="A fold; without it the last.")]


@router.get("", operation_id="listFoldRoots", response_model=shapes.Page[shapes.FoldRoot])
def list_fold_roots(
    request: Request,
    response: Response,
    job: UUID,
    web: Parts,
    _: Reader,
    step: StepName = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """The root node of each document's fold, as far as it is done."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        output = web.outputs.open(rows, job)
        items = tree.roots(output, tree.fold_of(output, step), after=key[0] if key else -1, limit=limit + 1)
    return page_of(request, response, items, limit, "item")


@router.get("/{node}", operation_id="getFoldNode", response_model=shapes.FoldNode)
def get_fold_node(
    request: Request,
    response: Response,
    job: UUID,
    node: Annotated[str, Path(max_length=40, description="LEVEL-PLACE, such as 2-0; level 0 is a chunk's own output.")],
    web: Parts,
    _: Reader,
    step: StepName = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """A node with its output, what it went into, and a page of what it was made of."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        output = web.outputs.open(rows, job)
        plan = tree.fold_of(output, step)
        found = tree.node(output, plan, node, after=key[0] if key else -1, limit=limit + 1)
    children = found.pop("children")
    return page_of(request, response, children, limit, "item") | found | {"step": plan.name}
