"""One task: its chunk or parts, what was made of it, every try, and why it was a hit or a miss."""

from __future__ import annotations

import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from db.database import Repositories
from db.layout import unpack
from db.values import Job
from octavo.web.access import Parts
from octavo.web.api.jobs import job_row
from octavo.web.api.paging import Id
from octavo.web.api.tasks import attempt_rows, task_detail
from octavo.web.pages.asked import Sees
from octavo.web.pages.render import render
from octavo.web.state import Web
from pipeline.errors import OctavoError
from pipeline.ops.values import Json
from workers.faces import jobs
from workers.outputs.explain import explain_chunk
from workers.planning.context import JobContext

router = APIRouter()
PARTS = 50
TRIES = 50
SHOWN_OUTPUT = 20_000  # characters of a task's output on its page


@router.get("/tasks/{task_id}")
def task(request: Request, task_id: Id, web: Parts, _: Sees, why: Annotated[bool, Query()] = False) -> Response:
    """One task: its chunk, what was made of it, every try, and why it was a hit or a miss."""
    with web.runtime.database.read() as rows:
        row = task_detail(web, rows, task_id)
        job = jobs.get_job(rows, UUID(row["job"]))
        children, count = _children(rows, row)
        values: dict[str, Any] = {
            "task": row,
            "job": job_row(web, rows, job.id),
            "attempts": attempt_rows(rows, task_id, after=0, limit=TRIES),
            "text": _text(rows, task_id),
            "output": _output(row["output"]),
            "prompt": _prompt(job, row["step"]),
            "children": children,
            "child_count": count,
        }
    return render(request, "task.html", values | {"why": _why(web, row) if why else None})


def _text(rows: Repositories, task_id: int) -> str | None:
    """The text of a task's chunk, as it was when the job was planned."""
    found = rows.task_lists.task(task_id)
    if found is None or found[1].page_id is None or found[1].page_ordinal is None:
        return None
    at = (found[1].page_id, found[1].page_ordinal)
    chunk = rows.chunks.at([at]).get(at)
    return rows.contents.texts([chunk.content_sha256])[chunk.content_sha256] if chunk else None


def _prompt(job: Job, step: str) -> str | None:
    """What a language model is sent beside the chunk."""
    sent = next((item.get("sent") for item in job.resolved["steps"] if item["name"] == step), None)
    return str(sent["prompt"]) if sent else None


def _children(rows: Repositories, row: dict[str, Json]) -> tuple[list[tuple[int, str]], int]:
    """(task, what it is called) of the first tasks that a node of a fold was made of, and how many there are."""
    if not row["level"]:
        return [], 0
    job = jobs.get_job(rows, UUID(row["job"]))
    steps = rows.jobs.steps(job.id)
    mine = [step for step in steps if step.name == row["step"]]
    resolved = job.resolved["steps"][mine[0].position]
    data = rows.nodes.inputs_at(next(step.id for step in mine if step.level == row["level"]), row["ordinal"])
    if resolved["kind"] != "fold" or not data:
        return [], 0
    levels = {step.level: step for step in mine}
    source = next(step for step in steps if step.position == resolved["source"] and step.level == 0)
    refs = list(zip(*unpack(data, 2), strict=True))
    found = []
    for level, ordinal in refs[:PARTS]:
        task = rows.tasks.at(source.id if level == 0 else levels[level].id, ordinal)
        if task is not None:
            found.append((task.id, f"chunk {ordinal}" if level == 0 else f"level {level}, node {ordinal}"))
    return found, len(refs)


def _output(value: Json) -> str | None:
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= SHOWN_OUTPUT else text[:SHOWN_OUTPUT] + "\n…"


def _context(web: Web, job_id: UUID) -> JobContext:
    with web.runtime.database.read() as rows:
        return web.outputs.context(rows, job_id)


def _why(web: Web, row: dict[str, Json]) -> dict[str, Json]:
    """Field by field, why the key of the chunk was new or known."""
    if row["place"] is None:
        return {"steps": [], "says": "This is a node of a reduce: its key is made of its children's outputs."}
    try:
        found = explain_chunk(
            web.runtime.database,
            web.runtime.ops,
            row["place"]["chunk"],
            job=UUID(row["job"]),
            contexts=lambda job_id: _context(web, job_id),
            nodes=False,
        )
    except OctavoError as error:
        return {"steps": [], "says": error.message}
    mine = [step for step in found["steps"] if step["step"] == row["step"]]
    return {"steps": mine, "says": None if mine else "Its key is made of the output of the step before it."}
