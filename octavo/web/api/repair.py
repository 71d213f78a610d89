"""What people decide about a job: pause, resume, cancel, priority, and the retry or waiving of its holes."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Request, Response

from db.database import Repositories
from octavo.web.access import Parts, Runner
from octavo.web.api import shapes
from octavo.web.api.jobs import etag, job_row, operation, operation_response
from octavo.web.api.once import Key, once
from octavo.web.problems import ProblemError
from octavo.web.state import Web
from pipeline.ops.values import Json
from workers import control
from workers.faces import holes

router = APIRouter(tags=["jobs"])


@router.post("/jobs/{job}/pause", operation_id="pauseJob", response_model=shapes.JobDetail)
def pause_job(job: UUID, web: Parts, _: Runner) -> dict[str, Json]:
    """Start nothing new of a job until it is resumed; what runs is finished and kept."""
    control.pause(web.runtime.database, str(job))
    return _row(web, job)


@router.post("/jobs/{job}/cancel", operation_id="cancelJob", response_model=shapes.JobDetail)
def cancel_job(job: UUID, web: Parts, _: Runner) -> dict[str, Json]:
    """End a job for good; what it did stays in the memo."""
    control.cancel(web.runtime.database, str(job))
    return _row(web, job)


@router.post("/jobs/{job}/resume", operation_id="resumeJob", response_model=shapes.JobDetail)
def resume_job(request: Request, job: UUID, web: Parts, caller: Runner, key: Key = None) -> dict[str, Json]:
    """Go on with a job that was paused or that nobody works on."""

    def do(rows: Repositories) -> dict[str, Json]:
        control.unpause_in(rows, str(job))
        return {"job": str(job)}

    once(web, caller, request, key, {}, do)
    web.hands.work(job)
    return _row(web, job)


@router.put("/jobs/{job}/priority", operation_id="setPriority", response_model=shapes.JobDetail)
def set_priority(
    job: UUID,
    body: shapes.Priority,
    response: Response,
    web: Parts,
    _: Runner,
    if_match: Annotated[str | None, Header(description="The ETag of the job as it was read.")] = None,
) -> dict[str, Json]:
    """Give a job a larger share of the workers, or a smaller one."""
    if if_match is not None:
        with web.runtime.database.read() as rows:
            now = etag(job_row(web, rows, job))
        if if_match not in (now, "*"):
            raise ProblemError(
                HTTPStatus.PRECONDITION_FAILED, "changed", "The job has changed since it was read", hint="read it again"
            )
    control.prioritize(web.runtime.database, str(job), body.priority)
    row = _row(web, job)
    response.headers["ETag"] = etag(row)
    return row


def _row(web: Web, job: UUID) -> dict[str, Json]:
    with web.runtime.database.read() as rows:
        return job_row(web, rows, job)


RETRY = "Make holes ready again: all of a job's, or those of a filter. With `dry_run` only count them."
WAIVE = "Accept holes: the job counts as done without them, and its output names them. With `dry_run` only count them."


def _repairing(what: str, act: Callable[..., int]) -> Callable[..., Json]:
    """The action that does something about the holes that a filter means, once for each key."""

    def repair(
        request: Request,
        response: Response,
        job: UUID,
        body: shapes.Repair,
        web: Parts,
        caller: Runner,
        key: Key = None,
    ) -> Json:
        asked = {"job": str(job), **body.model_dump(mode="json")}
        chosen: dict[str, Any] = {"step": body.filter.step, "code": body.filter.error, "ordinals": body.filter.ordinals}

        def do(rows: Repositories) -> dict[str, Json]:
            if body.dry_run:
                count = holes.chosen(rows, job, **chosen)[2]
            else:
                count = act(rows, job, **chosen, expected=body.expected_count)
            result = {"job": str(job), "count": count, "dry_run": body.dry_run}
            return {"operation": str(operation(rows, what, asked, result)), "count": count}

        done = once(web, caller, request, key, asked, do)
        if done["count"] and not body.dry_run:
            web.hands.work(job)
        return operation_response(web, response, UUID(done["operation"]))

    return repair


for _what, _act, _says in (("retry", holes.retry, RETRY), ("waive", holes.waive, WAIVE)):
    router.post(
        f"/jobs/{{job}}/{_what}",
        operation_id=f"{_what}Holes",
        status_code=202,
        response_model=shapes.Operation,
        description=_says,
    )(_repairing(_what, _act))
