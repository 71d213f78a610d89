"""Jobs: what they are at, what they gave, and what people decide about them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from db.database import Repositories
from octavo.web.access import Parts, Reader, Runner
from octavo.web.api import shapes
from octavo.web.api.once import Key, once
from octavo.web.api.paging import Count, Cursor, Limit, key_of, page_of
from octavo.web.problems import ProblemError, of_status
from octavo.web.state import Web
from pipeline import canonical
from pipeline.ids import uuid7
from pipeline.ops.values import Json
from workers.faces import holes, jobs
from workers.faces.child import spec_of

router = APIRouter(tags=["jobs"])


@router.get("/jobs", operation_id="listJobs", response_model=shapes.Page[shapes.Job])
def list_jobs(
    request: Request,
    response: Response,
    web: Parts,
    _: Reader,
    state: Annotated[list[shapes.JobWord] | None, Query(max_length=10)] = None,
    pipeline: Annotated[list[str] | None, Query(max_length=20)] = None,
    document: UUID | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    count: Count = False,
) -> dict[str, Json]:
    """Jobs, newest first."""
    key = key_of(request, cursor)
    filters: dict[str, Any] = {"states": state or (), "pipelines": pipeline or (), "document": document}
    with web.runtime.database.read() as rows:
        found = rows.lists.jobs(limit=limit + 1, after=UUID(key[0]) if key else None, **filters)
        items = rows_of(web, rows, found)
        total = rows.lists.count_jobs(**filters) if count else None
    return page_of(request, response, items, limit, "id", total=total)


def rows_of(web: Web, rows: Repositories, found: list[Any]) -> list[dict[str, Json]]:
    """Jobs for a list, with what this process knows of those it works on."""
    made = jobs.job_rows(rows, found, web.runtime.settings)
    for row in made:
        row["because"] = web.hands.note(UUID(row["id"])) or row["because"]
    return made


@router.post("/jobs", operation_id="startJob", status_code=202, response_model=shapes.Operation)
def start_job(
    request: Request, response: Response, body: shapes.StartJob, web: Parts, caller: Runner, key: Key = None
) -> Json:
    """Begin a job. Its operation says which job it became, or that one was at it already."""
    asked = body.model_dump(mode="json")

    def do(rows: Repositories) -> dict[str, Json]:
        return {"operation": str(operation(rows, "start", asked_of(rows, body)))}

    done = once(web, caller, request, key, asked, do)
    web.hands.wake()
    return operation_response(web, response, UUID(done["operation"]))


@router.post("/plan", operation_id="planJob", status_code=202, response_model=shapes.Operation)
def plan_job(response: Response, body: shapes.StartJob, web: Parts, _: Runner) -> Json:
    """What a job would find in the memo, call and cost, step by step. Nothing is asked: `octavo plan`."""
    with web.runtime.database.write() as rows:
        made = operation(rows, "plan", asked_of(rows, body))
    web.hands.wake()
    return operation_response(web, response, made)


def asked_of(rows: Repositories, body: shapes.StartJob) -> dict[str, Json]:
    """What is asked for, seen to be right. Raises ProblemError (422), PipelineError."""
    if isinstance(body.pipeline, dict):
        checked_spec(body.pipeline)
    else:
        spec_of(body.pipeline)
    for item in body.documents[:100]:
        if rows.documents.get(item) is None:
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-request", f"There is no document {item}")
    return {"pipeline": body.pipeline, "documents": [str(item) for item in body.documents]}


def checked_spec(spec: dict[str, Any]) -> None:
    """See that a pipeline that was written out is one. Raises ProblemError (422)."""
    from pydantic import ValidationError

    from octavo.web.problems import of_fields
    from pipeline.spec import PipelineSpec

    try:
        PipelineSpec.model_validate(spec)
    except ValidationError as error:
        faults = [{"loc": ("body", "pipeline", *item["loc"]), "msg": item["msg"]} for item in error.errors()]
        raise of_fields(faults) from error


def operation(rows: Repositories, kind: str, request: dict[str, Json], result: dict[str, Json] | None = None) -> UUID:
    """Store an operation, done at once where there is a result."""
    made = uuid7()
    rows.web.add_operation(
        id=made, kind=kind, request=request, state="waiting" if result is None else "done", result=result
    )
    return made


def operation_response(web: Web, response: Response, operation_id: UUID) -> Json:
    """An operation with its address."""
    with web.runtime.database.read() as rows:
        found = rows.web.operation(operation_id)
    if found is None:
        raise of_status(404, f"There is no operation {operation_id}")
    response.headers["Location"] = f"/v1/operations/{operation_id}"
    return {name: getattr(found, name) for name in shapes.Operation.model_fields}


@router.get("/jobs/{job}", operation_id="getJob", response_model=shapes.JobDetail)
def get_job(job: UUID, response: Response, web: Parts, _: Reader) -> dict[str, Json]:
    """One job with its steps."""
    with web.runtime.database.read() as rows:
        row = job_row(web, rows, job)
    response.headers["ETag"] = etag(row)
    return row


def job_row(web: Web, rows: Repositories, job_id: UUID) -> dict[str, Json]:
    """A job with its steps, and what this process knows of it. Raises NotFoundError."""
    now = jobs.standing(rows, jobs.get_job(rows, job_id), web.runtime.settings)
    row = jobs.paced(rows, jobs.job_row(rows, now))
    row["because"] = web.hands.note(job_id) or row["because"]
    return row


def etag(row: dict[str, Json]) -> str:
    """Names what can be edited of a job: another value, another tag."""
    return f'"{canonical.digest([row["id"], row["state"], row["priority"]]).hex()[:16]}"'


@router.get("/jobs/{job}/documents", operation_id="listJobDocuments", response_model=shapes.Page[shapes.JobDocument])
def list_job_documents(
    request: Request, response: Response, job: UUID, web: Parts, _: Reader, limit: Limit = 50, cursor: Cursor = None
) -> dict[str, Json]:
    """The documents of a job, in order."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        jobs.get_job(rows, job)
        found = rows.lists.job_documents(job, after=key[0] if key else -1, limit=limit + 1)
    items = [
        {"ordinal": ordinal, "document": document, "title": title, "revision": revision}
        for ordinal, document, title, _, revision in found
    ]
    return page_of(request, response, items, limit, "ordinal")


@router.get("/jobs/{job}/history", operation_id="listHistory", response_model=shapes.Page[shapes.Happened])
def list_history(
    request: Request, response: Response, job: UUID, web: Parts, _: Reader, limit: Limit = 50, cursor: Cursor = None
) -> dict[str, Json]:
    """What happened to a job, the latest first: states, decisions of people, processes that died. 200 are kept."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        jobs.get_job(rows, job)
        items = jobs.happened(rows, job, limit=limit + 1, before=key[0] if key else None)
    return page_of(request, response, items, limit, "sequence")


@router.get("/jobs/{job}/tasks", operation_id="listTasks", response_model=shapes.Page[shapes.Task])
def list_tasks(
    request: Request,
    response: Response,
    job: UUID,
    web: Parts,
    _: Reader,
    step: Annotated[str | None, Query(max_length=200)] = None,
    state: Annotated[list[shapes.TaskWord] | None, Query(max_length=10)] = None,
    error: Annotated[list[str] | None, Query(max_length=20)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """The tasks of a job, by step and ordinal."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        jobs.get_job(rows, job)
        ids = [item.id for item in jobs.steps_of(rows, job, step)]
        found = rows.task_lists.tasks(
            ids, limit=limit + 1, after=(key[0], key[1]) if key else None, states=state or (), codes=error or ()
        )
        items = jobs.task_rows(rows, web.shapes, job, found[:limit])
    return page_of(request, response, items, limit, "step_id", "ordinal", of=found)


@router.get("/jobs/{job}/map", operation_id="getMap", response_model=shapes.ChunkMap)
def get_map(
    job: UUID, web: Parts, _: Reader, step: Annotated[str | None, Query(max_length=200)] = None
) -> dict[str, Json]:
    """The states of all chunks of a map step, as runs."""
    with web.runtime.database.read() as rows:
        jobs.get_job(rows, job)
        return jobs.chunk_map(rows, job, step)


@router.get("/jobs/{job}/holes", operation_id="listJobHoles", response_model=shapes.Page[shapes.HoleGroup])
def list_job_holes(request: Request, response: Response, job: UUID, web: Parts, _: Reader) -> dict[str, Json]:
    """The holes of a job, grouped by step and error code, the most first; 200 groups at most."""
    with web.runtime.database.read() as rows:
        jobs.get_job(rows, job)
        items = holes.groups(rows, job_ids=[job])
    return page_of(request, response, items, len(items))


@router.get("/holes", operation_id="listHoles", response_model=shapes.Page[shapes.HoleGroup], tags=["holes"])
def list_holes(request: Request, response: Response, web: Parts, _: Reader) -> dict[str, Json]:
    """The holes of all jobs that were not cancelled, grouped by job, step and error code; 200 groups at most."""
    with web.runtime.database.read() as rows:
        items = holes.groups(rows, states=("running", "paused", "holes", "failed", "done"))
    return page_of(request, response, items, len(items))


@router.get("/jobs/{job}/results", operation_id="listResults", response_model=shapes.Page[Any])
def list_results(
    request: Request,
    response: Response,
    job: UUID,
    web: Parts,
    _: Reader,
    step: Annotated[str | None, Query(max_length=200)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """What a map step gave for each chunk, in reading order; the first map step unless another is named."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        output = web.outputs.open(rows, job)
        plan = next((p for p in output.view.context.plans if p.kind == "map" and step in (None, p.name)), None)
        if plan is None:
            raise of_status(404, f"The job has no map step {step!r}")
        items = output.results(plan, after=key[0] if key else -1, limit=limit + 1)
    return page_of(request, response, items, limit, "item")


@router.get("/jobs/{job}/output", operation_id="getOutput", response_model=shapes.Output)
def get_output(
    request: Request,
    response: Response,
    job: UUID,
    web: Parts,
    _: Reader,
    document: UUID | None = None,
    q: Annotated[str | None, Query(max_length=200, description="A part of an entry's name.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """What a job gave for a document (the first unless another is named), a page at a time, with citations."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        output = web.outputs.open(rows, job)
        number = output.number_of(document)
        items = output.items(number, after=key[0] if key else -1, limit=limit + 1, search=q)
        head = output.head(number)
    return page_of(request, response, items, limit, "item") | {"kind": output.kind, "head": head}
