"""Holes, and the buttons of a job: pause, resume, cancel, priority, retry, waive."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from db.database import Repositories
from db.listed import JobLine
from octavo.web.access import Parts
from octavo.web.api.jobs import operation
from octavo.web.pages.asked import Acts, Sees
from octavo.web.pages.render import render
from octavo.web.state import Web
from workers import control
from workers.faces import holes

router = APIRouter()

SAID = 20  # groups of which is told what their tries said
Word = Annotated[str, Form(max_length=200)]


@router.get("/holes")
def hole_list(request: Request, web: Parts, _: Sees) -> Response:
    """The holes of all jobs, in groups of one cause."""
    with web.runtime.database.read() as rows:
        groups = holes.groups(rows, states=("running", "paused", "holes", "failed"))
        titles = {str(job.id): job for job in _jobs(rows, groups)}
        said = [_said(rows, group) if at < SAID else [] for at, group in enumerate(groups)]
    pairs = list(zip(groups, said, strict=True))
    return render(request, "holes.html", {"pairs": pairs, "jobs": titles, "total": sum(g["count"] for g in groups)})


def _jobs(rows: Repositories, groups: list[dict[str, object]]) -> list[JobLine]:
    ids = list(dict.fromkeys(UUID(str(group["job"])) for group in groups))[:200]
    return list(rows.lists.jobs(limit=200, ids=ids)) if ids else []


def _said(rows: Repositories, group: dict[str, object]) -> list[dict[str, object]]:
    return holes.said(rows, UUID(str(group["job"])), str(group["step"]), str(group["error"]))


@router.post("/jobs/{job_id}/pause")
def pause(job_id: UUID, web: Parts, _: Acts) -> Response:
    """Pause."""
    control.pause(web.runtime.database, str(job_id))
    return _back(job_id)


@router.post("/jobs/{job_id}/resume")
def resume(job_id: UUID, web: Parts, _: Acts) -> Response:
    """Resume."""
    control.unpause(web.runtime.database, str(job_id))
    web.hands.work(job_id)
    return _back(job_id)


@router.post("/jobs/{job_id}/cancel")
def cancel(job_id: UUID, web: Parts, _: Acts) -> Response:
    """Cancel."""
    control.cancel(web.runtime.database, str(job_id))
    return _back(job_id)


@router.post("/jobs/{job_id}/priority")
def priority(job_id: UUID, web: Parts, _: Acts, priority: Annotated[int, Form(ge=-6, le=6)]) -> Response:
    """Give it a larger share, or a smaller one."""
    control.prioritize(web.runtime.database, str(job_id), priority)
    return _back(job_id)


@router.post("/jobs/{job_id}/retry")
def retry(
    job_id: UUID,
    web: Parts,
    _: Acts,
    step: Word = "",
    error: Word = "",
    ordinal: Annotated[int | None, Form(ge=0)] = None,
    expected: Annotated[int | None, Form(ge=0)] = None,
) -> Response:
    """Make the holes of a group ready again."""
    return _repair(web, job_id, "retry", step, error, ordinal, expected)


@router.post("/jobs/{job_id}/waive")
def waive(
    job_id: UUID,
    web: Parts,
    _: Acts,
    step: Word = "",
    error: Word = "",
    ordinal: Annotated[int | None, Form(ge=0)] = None,
    expected: Annotated[int | None, Form(ge=0)] = None,
) -> Response:
    """Accept the holes of a group."""
    return _repair(web, job_id, "waive", step, error, ordinal, expected)


def _repair(
    web: Web, job_id: UUID, what: str, step: str, error: str, ordinal: int | None, expected: int | None
) -> Response:
    ordinals = None if ordinal is None else [ordinal]
    act = holes.retry if what == "retry" else holes.waive
    with web.runtime.database.write() as rows:
        count = act(rows, job_id, step=step or None, code=error or None, ordinals=ordinals, expected=expected)
        asked = {"job": str(job_id), "filter": {"step": step, "error": error, "ordinals": ordinals}}
        operation(rows, what, asked, {"job": str(job_id), "count": count})
    web.hands.work(job_id)
    return _back(job_id)


def _back(job_id: UUID) -> Response:
    return RedirectResponse(f"/jobs/{job_id}", 303)
