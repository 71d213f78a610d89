"""A merge, level by level."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response

from octavo.web.access import Parts, Reader
from octavo.web.api import shapes
from octavo.web.api.paging import Cursor, key_of, page_of
from pipeline.ops.values import Json
from workers.faces.merge_tree import MergeTree, merge_of

router = APIRouter(prefix="/jobs/{job}/merge", tags=["jobs"])
StepName = Annotated[str | None, Query(max_length=200, description="A merge; without it the last.")]
Level = Annotated[
    int | None,
    Query(
        ge=1,
        le=100,
        description="1: shards, 2: the judgement, from 3 on rounds of questions; without it the highest with nodes.",
    ),
]
Few = Annotated[int, Query(ge=1, le=50, description="How many items at most: each is looked into.")]


@router.get("", operation_id="listMergeNodes", response_model=shapes.Page[shapes.MergeNode])
def list_merge_nodes(
    request: Request,
    response: Response,
    job: UUID,
    web: Parts,
    _: Reader,
    step: StepName = None,
    level: Level = None,
    limit: Few = 20,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """The nodes of one level of a merge, in order, as far as they are planned."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        output = web.outputs.open(rows, job)
        items = MergeTree(output, merge_of(output, step)).nodes(level, after=key[0] if key else -1, limit=limit + 1)
    return page_of(request, response, items, limit, "item")


@router.get("/{node}", operation_id="getMergeNode", response_model=shapes.MergeDetail)
def get_merge_node(
    request: Request,
    response: Response,
    job: UUID,
    node: Annotated[str, Path(max_length=40, description="LEVEL-PLACE, such as 1-0; level 0 is a chunk's own output.")],
    web: Parts,
    _: Reader,
    step: StepName = None,
    limit: Few = 20,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """A node with what it holds, what it went into, and a page of what it was made of."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        output = web.outputs.open(rows, job)
        plan = merge_of(output, step)
        found = MergeTree(output, plan).node(node, after=key[0] if key else -1, limit=limit + 1)
    children = found.pop("children")
    return page_of(request, response, children, limit, "item") | found | {"step": plan.name}
