"""A fold level by level: what a node says, what it was made of, and what it went into."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from octavo.web.access import Parts
from octavo.web.api.paging import goes_on, key_of
from octavo.web.pages.asked import Sees
from octavo.web.pages.render import render
from workers.faces import tree
from workers.faces.results import named_sentences

router = APIRouter()
PAGE = 40


@router.get("/jobs/{job_id}/fold")
def fold(
    request: Request,
    job_id: UUID,
    web: Parts,
    _: Sees,
    node: Annotated[str | None, Query(max_length=40)] = None,
    step: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Annotated[str | None, Query(max_length=1024)] = None,
) -> Response:
    """A node of a fold; without one the roots."""
    key = key_of(request, cursor)
    after = key[0] if key else -1
    with web.runtime.database.read() as rows:
        output = web.outputs.open(rows, job_id)
        plan = tree.fold_of(output, step)
        found = None if node is None else tree.node(output, plan, node, after=after, limit=PAGE + 1)
        items = found.pop("children") if found else tree.roots(output, plan, after=after, limit=PAGE + 1)
        sentences = named_sentences(output, plan, node) if node else []
        above = tree.path(output, plan, node) if node else []
        task = tree.task_of(output, plan, node) if node else None
    onward = goes_on(request, items, PAGE, "item")
    values = {"job": output.view.context.job, "step": plan.name, "node": found, "items": items[:PAGE], "onward": onward}
    values |= {"sentences": sentences, "above": above, "named": step, "task": task}
    return render(request, "fold.html", values | {"title": output.first_title})
