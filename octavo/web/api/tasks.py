"""Tasks and their tries."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from db.database import Repositories
from octavo.web.access import Parts, Reader
from octavo.web.api import shapes
from octavo.web.api.paging import Cursor, Id, Limit, key_of, page_of
from octavo.web.state import Web
from pipeline import canonical
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from workers.faces import jobs

router = APIRouter(tags=["tasks"])


@router.get("/tasks/{task}", operation_id="getTask", response_model=shapes.TaskDetail)
def get_task(task: Id, web: Parts, _: Reader) -> dict[str, Json]:
    """A task with its output and what the memo says of its key."""
    with web.runtime.database.read() as rows:
        return task_detail(web, rows, task)


def task_detail(web: Web, rows: Repositories, task_id: int) -> dict[str, Json]:
    """A task with its output. Raises NotFoundError."""
    found = rows.task_lists.task(task_id)
    if found is None:
        raise NotFoundError(f"There is no task {task_id}")
    job_id, task = found
    row = jobs.task_rows(rows, web.shapes, job_id, [task])[0] | {"job": str(job_id), "output": None, "result": None}
    if task.key is not None and task.state == "done":
        outputs = rows.results.outputs([task.key])
        if task.key in outputs:
            row["output"] = canonical.loads(outputs[task.key])
            row["result"] = rows.task_lists.result(task.key)
    return row


@router.get("/tasks/{task}/attempts", operation_id="listAttempts", response_model=shapes.Page[shapes.Attempt])
def list_attempts(
    request: Request, response: Response, task: Id, web: Parts, _: Reader, limit: Limit = 50, cursor: Cursor = None
) -> dict[str, Json]:
    """The tries of a task, oldest first."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        if rows.task_lists.task(task) is None:
            raise NotFoundError(f"There is no task {task}")
        items = attempt_rows(rows, task, after=key[0] if key else 0, limit=limit + 1)
    return page_of(request, response, items, limit, "id")


def attempt_rows(rows: Repositories, task: int, *, after: int, limit: int) -> list[dict[str, Json]]:
    """The tries of a task as they are shown."""
    return [
        {
            "id": number,
            "number": item.number,
            "owner": item.owner,
            "started_ms": item.started_ms,
            "ended_ms": item.ended_ms,
            "outcome": str(item.outcome),
            "error": item.error_code,
            "message": item.message,
            "tokens_in": item.tokens_in,
            "tokens_out": item.tokens_out,
        }
        for number, item in rows.task_lists.attempts(task, limit=limit, after=after)
    ]
