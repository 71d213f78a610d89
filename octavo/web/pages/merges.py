"""A merge level by level: from its questions and judgement down to the chunks."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from octavo.web.access import Parts
from octavo.web.api.paging import goes_on, key_of
from octavo.web.pages.asked import Sees
from octavo.web.pages.render import render
from workers.faces.merge_tree import MergeTree, merge_of

router = APIRouter()
PAGE = 20


@router.get("/jobs/{job_id}/merge")
def merge(
    request: Request,
    job_id: UUID,
    web: Parts,
    _: Sees,
    node: Annotated[str | None, Query(max_length=40)] = None,
    level: Annotated[int | None, Query(ge=1, le=100)] = None,
    step: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Annotated[str | None, Query(max_length=1024)] = None,
) -> Response:
    """A node of a merge; without one the nodes of a level, from the top."""
    key = key_of(request, cursor)
    after = key[0] if key else -1
    with web.runtime.database.read() as rows:
        output = web.outputs.open(rows, job_id)
        plan = merge_of(output, step)
        walked = MergeTree(output, plan)
        found = None if node is None else walked.node(node, after=after, limit=PAGE + 1)
        items = found.pop("children") if found else walked.nodes(level, after=after, limit=PAGE + 1)
        levels = walked.levels()
    onward = goes_on(request, items, PAGE, "item")
    values = {"job": output.view.context.job, "step": plan.name, "node": found, "items": items[:PAGE], "onward": onward}
    shown = level or next((item["level"] for item in levels if item["tasks"]), None)
    values |= {"levels": levels, "level": shown, "named": step, "title": output.first_title}
    return render(request, "merge.html", values)
