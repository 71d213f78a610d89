"""Jobs: the list, one of them with its map and steps, one step, one task."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from db.database import Repositories
from octavo.web.access import Parts
from octavo.web.api.jobs import job_row, rows_of
from octavo.web.api.paging import Id, goes_on, key_of
from octavo.web.api.shapes import BIGGEST, JobWord, TaskWord
from octavo.web.pages.asked import Sees
from octavo.web.pages.picture import COLOURS, columns_for, picture, scale_of
from octavo.web.pages.render import render
from octavo.web.pages.words import SIGNS
from octavo.web.problems import of_status
from pipeline import canonical
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from workers.faces import holes, jobs

router = APIRouter()

PAGE = 50
BINS = 100
HAPPENED = 20  # the latest of what happened to a job
Step = Annotated[str | None, Query(max_length=200)]


@router.get("/jobs")
def job_list(
    request: Request,
    web: Parts,
    _: Sees,
    state: Annotated[list[JobWord] | None, Query(max_length=10)] = None,
    pipeline: Annotated[list[str] | None, Query(max_length=20)] = None,
    document: UUID | None = None,
    cursor: Annotated[str | None, Query(max_length=1024)] = None,
) -> Response:
    """All jobs."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        found = rows.lists.jobs(
            limit=PAGE + 1,
            after=UUID(key[0]) if key else None,
            states=state or (),
            pipelines=pipeline or (),
            document=document,
        )
        items = rows_of(web, rows, found[:PAGE])
        counts = rows.lists.jobs_by_state()
    onward = goes_on(request, found, PAGE, "id")
    asked = {"state": state or [], "pipeline": pipeline or [], "document": document}
    return render(request, "jobs.html", {"items": items, "counts": counts, "asked": asked, "onward": onward})


@router.get("/jobs/{job_id}")
def job(request: Request, job_id: UUID, web: Parts, _: Sees, step: Step = None) -> Response:
    """One job."""
    with web.runtime.database.read() as rows:
        found = jobs.get_job(rows, job_id)
        row = job_row(web, rows, job_id)
        groups = holes.groups(rows, job_ids=[job_id])
        happened = jobs.happened(rows, job_id, limit=HAPPENED + 1)
        values = {
            "job": row,
            "happened": happened[:HAPPENED],
            "more_happened": len(happened) > HAPPENED,
            "ops": jobs.ops_of(row, found),
            "map": _map(rows, job_id, step),
            "spark": _spark(jobs.over_time(rows, job_id)),
            "groups": groups,
            "said": {
                (group["step"], group["error"]): holes.said(rows, job_id, group["step"], group["error"])
                for group in groups[:10]
            },
            "documents": rows.lists.job_documents(job_id, limit=20),
        }
    return render(request, "job.html", values | {"pid": web.hands.pid(job_id)})


def _map(rows: Repositories, job_id: UUID, step: str | None) -> dict[str, Json] | None:
    """What the page tells of the map: its size, its legend, and a table of bins for those who do not see it."""
    try:
        found = jobs.chunk_map(rows, job_id, step)
    except NotFoundError:
        if step is not None:
            raise
        return None
    codes = found["codes"]
    counts = [0] * len(codes)
    for _, count, code in found["runs"]:
        counts[code] += count
    return {
        "step": found["step"],
        "total": found["total"],
        "cells": found["cells"],
        "columns": columns_for(found["cells"]),
        "scale": scale_of(columns_for(found["cells"])),
        "legend": [(codes[code], counts[code], COLOURS[code]) for code in range(1, len(codes)) if counts[code]],
        "bins": _bins(found) if found["cells"] else [],
        "words": canonical.dumps({code: SIGNS[code][1] for code in codes}).decode(),
        "colours": canonical.dumps([list(colour) for colour in COLOURS]).decode(),
    }


def _bins(found: dict[str, Json]) -> list[dict[str, Json]]:
    """At most 100 stretches of chunks in reading order, each with what is in it."""
    cells, total, codes = found["cells"], found["total"], found["codes"]
    count = min(BINS, cells)
    bins: list[dict[int, int]] = [{} for _ in range(count)]
    for first, length, code in found["runs"]:
        at, end = first, first + length
        while at < end:
            number = at * count // cells
            edge = -(-(number + 1) * cells // count)
            step = min(end, edge) - at
            bins[number][code] = bins[number].get(code, 0) + step
            at += step
    made = []
    for number, inside in enumerate(bins):
        low = -(-number * cells // count) * total // cells
        high = -(-(number + 1) * cells // count) * total // cells - 1
        words = [(codes[code], inside[code]) for code in sorted(inside, reverse=True)]
        made.append({"first": low, "last": high, "inside": words, "worst": codes[max(inside)] if inside else "none"})
    return made


def _spark(points: list[tuple[int, int]]) -> str | None:
    """The polyline of tasks done over time, in a box of 300 by 40."""
    if len(points) < 3 or points[-1][0] == points[0][0]:
        return None
    begin, span = points[0][0], points[-1][0] - points[0][0]
    low, high = points[0][1], max(points[-1][1], points[0][1] + 1)
    return " ".join(
        f"{(at - begin) * 300 / span:.1f},{40 - (done - low) * 38 / (high - low):.1f}" for at, done in points
    )


@router.get("/jobs/{job_id}/map.png")
def map_picture(job_id: UUID, web: Parts, _: Sees, step: Step = None) -> Response:
    """The map as a picture."""
    with web.runtime.database.read() as rows:
        found = jobs.chunk_map(rows, job_id, step)
    return Response(picture(found["cells"], found["runs"]), media_type="image/png")


@router.get("/jobs/{job_id}/cell/{step}")
def map_cell(request: Request, job_id: UUID, step: str, web: Parts, _: Sees) -> Response:
    """Where a click on the map leads without scripts: the browser adds `?x,y` to the address, whatever stands in it."""
    with web.runtime.database.read() as rows:
        found = jobs.chunk_map(rows, job_id, step)
        place = _clicked(request.url.query, columns_for(found["cells"]))
        ordinal = min(place * found["total"] // max(1, found["cells"]), max(0, found["total"] - 1))
        return _to_task(rows, job_id, found["step"], ordinal)


def _clicked(query: str, columns: int) -> int:
    parts = query.replace("%2C", ",").split(",")
    if len(parts) != 2 or not all(part.isdecimal() and len(part) < 7 for part in parts):
        raise of_status(422, "The place on the map is not right")
    x, y = int(parts[0]), int(parts[1])
    scale = scale_of(columns)
    return y // scale * columns + min(columns - 1, x // scale)


@router.get("/jobs/{job_id}/at")
def go_to(
    job_id: UUID, web: Parts, _: Sees, ordinal: Annotated[int, Query(ge=0, le=BIGGEST)], step: Step = None
) -> Response:
    """The task of a chunk, by its place in the job."""
    with web.runtime.database.read() as rows:
        found = [item for item in jobs.steps_of(rows, job_id, step) if item.level == 0]
        if not found:
            raise of_status(404, "The job has no map step yet")
        return _to_task(rows, job_id, found[0].name, ordinal)


def _to_task(rows: Repositories, job_id: UUID, step: str, ordinal: int) -> Response:
    level = next(item for item in jobs.steps_of(rows, job_id, step) if item.level == 0)
    task = rows.tasks.at(level.id, ordinal)
    if task is None:
        raise NotFoundError(f"Step {step!r} has no task {ordinal}", hint="its chunk may be left out of the step")
    return RedirectResponse(f"/tasks/{task.id}", 303)


@router.get("/jobs/{job_id}/tasks")
def task_list(
    request: Request,
    job_id: UUID,
    web: Parts,
    _: Sees,
    step: Step = None,
    state: Annotated[list[TaskWord] | None, Query(max_length=10)] = None,
    error: Annotated[list[str] | None, Query(max_length=20)] = None,
    cursor: Annotated[str | None, Query(max_length=1024)] = None,
) -> Response:
    """The tasks of a job."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        row = job_row(web, rows, job_id)
        ids = [item.id for item in jobs.steps_of(rows, job_id, step)]
        found = rows.task_lists.tasks(
            ids, limit=PAGE + 1, after=(key[0], key[1]) if key else None, states=state or (), codes=error or ()
        )
        items = jobs.task_rows(rows, web.shapes, job_id, found[:PAGE])
    onward = goes_on(request, found, PAGE, "step_id", "ordinal")
    values = {"job": row, "items": items, "step": step, "state": state or [], "error": error or [], "onward": onward}
    return render(request, "tasks.html", values)


@router.get("/jobs/{job_id}/steps/{position}")
def one_step(request: Request, job_id: UUID, position: Id, web: Parts, _: Sees) -> Response:
    """One step: how long its calls take, what they cost, how they fail."""
    with web.runtime.database.read() as rows:
        found = jobs.get_job(rows, job_id)
        row = job_row(web, rows, job_id)
        nodes = [node for node in jobs.ops_of(row, found) if node["position"] == position]
        if not nodes:
            raise NotFoundError(f"The job has no step number {position}")
        ids = [item.id for item in rows.jobs.steps(job_id) if item.position == position]
        sample = sorted(rows.task_lists.latencies(ids)) if ids else []
        values = {
            "job": row,
            "node": nodes[0],
            "resolved": found.resolved["steps"][position],
            "levels": [step for step in row["steps"] if step["position"] == position],
            "sample": len(sample),
            "latency": _percentiles([item[0] for item in sample]),
            "tokens": _percentiles(sorted(item[1] for item in sample)),
            "costs": _percentiles(sorted(item[2] for item in sample)),
            "groups": [group for group in holes.groups(rows, job_ids=[job_id]) if group["step"] == nodes[0]["step"]],
        }
    return render(request, "step.html", values | {"sums": web.costs.of_steps(ids)})


def _percentiles(values: list[int]) -> dict[str, int] | None:
    if not values:
        return None
    return {f"p{part}": values[min(len(values) - 1, len(values) * part // 100)] for part in (50, 90, 99)}
