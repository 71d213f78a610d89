"""Pipelines, operations, usage, workers and tokens."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from db.listed import Beside
from octavo.web.access import Admin, Parts, Reader, caller_of
from octavo.web.api import shapes
from octavo.web.api.jobs import operation_response
from octavo.web.api.paging import Cursor, Limit, key_of, page_of
from octavo.web.problems import ProblemError
from octavo.web.state import Web
from pipeline import spec as specs
from pipeline.ops.values import Json
from workers.clock import now_ms
from workers.faces import tokens
from workers.faces.queues import queue_rows

router = APIRouter()


@router.get("/pipelines", operation_id="listPipelines", response_model=shapes.Page[shapes.Pipeline], tags=["pipelines"])
def list_pipelines(
    request: Request, response: Response, web: Parts, _: Reader, limit: Limit = 50, cursor: Cursor = None
) -> dict[str, Json]:
    """The built-in pipelines, then every version of a pipeline that a job used, oldest first."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        found = rows.lists.pipelines(limit=limit + 1, after=key[0] if key else 0)
    used = [_pipeline(name, digest, spec, builtin=False) for _, name, digest, spec in found]
    page = page_of(request, response, used, limit, 0, of=found)
    if key is None:
        page["items"] = [*builtin_pipelines(), *page["items"]]
    return page


def builtin_pipelines() -> list[dict[str, Json]]:
    """The pipelines that come with Octavo."""
    made = [specs.load(name) for name in specs.builtin_names()]
    return [_pipeline(spec.name, spec.digest(), spec.canonical(), builtin=True) for spec in made]


def _pipeline(name: str, digest: bytes, spec: dict[str, Json], *, builtin: bool) -> dict[str, Json]:
    return {
        "name": name,
        "builtin": builtin,
        "description": spec.get("description", ""),
        "digest": digest.hex(),
        "spec": spec,
    }


@router.get(
    "/operations", operation_id="listOperations", response_model=shapes.Page[shapes.Operation], tags=["operations"]
)
def list_operations(
    request: Request,
    response: Response,
    web: Parts,
    _: Reader,
    state: Annotated[list[str] | None, Query(max_length=10)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """What was asked for, newest first."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        found = rows.web.operations(limit=limit + 1, after=UUID(key[0]) if key else None, states=state or ())
    items = [{name: getattr(item, name) for name in shapes.Operation.model_fields} for item in found]
    return page_of(request, response, items, limit, "id")


@router.get(
    "/operations/{operation}", operation_id="getOperation", response_model=shapes.Operation, tags=["operations"]
)
def get_operation(operation: UUID, response: Response, web: Parts, _: Reader) -> Json:
    """One operation."""
    return operation_response(web, response, operation)


@router.get("/usage", operation_id="listUsage", response_model=shapes.Page[shapes.Usage], tags=["usage"])
def list_usage(
    request: Request, response: Response, web: Parts, _: Reader, limit: Limit = 50, cursor: Cursor = None
) -> dict[str, Json]:
    """What was spent, by the day on which jobs began and by pipeline, newest first."""
    key = key_of(request, cursor)
    items = usage_rows(web, limit=limit + 1, after=(date.fromisoformat(key[0]), key[1]) if key else None)
    return page_of(request, response, items, limit, "day", "pipeline")


def usage_rows(web: Web, *, limit: int, after: tuple[date, str] | None) -> list[dict[str, Any]]:
    """What was spent, what of it in vain, and what the memo saved."""
    with web.runtime.database.read() as rows:
        found = [asdict(item) for item in rows.lists.usage(limit=limit, after=after)]
    sums = web.costs.of(found[-1]["day"], found[0]["day"]) if found else {}
    unknown = dict.fromkeys(Beside.__dataclass_fields__)
    return [
        row | (unknown if sums is None else asdict(sums.get((row["day"], row["pipeline"]), Beside()))) for row in found
    ]


@router.get("/workers", operation_id="listWorkers", response_model=shapes.Page[shapes.Worker], tags=["workers"])
def list_workers(request: Request, response: Response, web: Parts, _: Reader) -> dict[str, Json]:
    """The worker processes that live, at most 500. None in the embedded mode: jobs are processes then."""
    return page_of(request, response, worker_rows(web), shapes.MOST)


def worker_rows(web: Web) -> list[dict[str, Json]]:
    """The worker processes that said something of late."""
    with web.runtime.database.read() as rows:
        found = rows.dispatches.processes(since_ms=now_ms() - web.lease_ms, limit=shapes.MOST)
    return [{name: getattr(item, name) for name in shapes.Worker.model_fields} for item in found]


@router.get("/queues", operation_id="listQueues", response_model=shapes.Page[shapes.Queue], tags=["workers"])
def list_queues(request: Request, response: Response, web: Parts, _: Reader) -> dict[str, Json]:
    """The queues on which tasks wait for workers, by name. None in the embedded mode."""
    items = queue_rows_of(web)
    return page_of(request, response, items, len(items))


def queue_rows_of(web: Web) -> list[dict[str, Json]]:
    """The queues, with who serves them and what waits on them."""
    if not web.distributed:
        return []
    with web.runtime.database.read() as rows:
        alive = rows.dispatches.processes(since_ms=now_ms() - web.lease_ms, limit=shapes.MOST)
        return queue_rows(rows, web.runtime.settings, alive)


@router.get("/tokens", operation_id="listTokens", response_model=shapes.Page[shapes.Token], tags=["tokens"])
def list_tokens(request: Request, response: Response, web: Parts, _: Admin) -> dict[str, Json]:
    """The tokens that may be used, newest first, at most 200."""
    items = [token_row(item) for item in tokens.list_tokens(web.runtime.database)]
    return page_of(request, response, items, len(items))


def token_row(item: Any) -> dict[str, Json]:
    """A token as it is shown."""
    return {name: getattr(item, name) for name in shapes.Token.model_fields}


@router.post("/tokens", operation_id="makeToken", status_code=201, response_model=shapes.NewToken, tags=["tokens"])
def make_token(body: shapes.MakeToken, web: Parts, _: Admin) -> dict[str, Json]:
    """A new token. Its secret is shown this once."""
    made, secret = tokens.make_token(web.runtime.database, name=body.name, scope=body.scope, days=body.days)
    row = next(item for item in tokens.list_tokens(web.runtime.database) if item.id == made)
    return token_row(row) | {"secret": secret}


@router.delete("/tokens/{token}", operation_id="revokeToken", status_code=204, tags=["tokens"])
def revoke_token(token: UUID, request: Request, web: Parts, _: Admin) -> None:
    """A token may be used no more."""
    asking = caller_of(request)
    if asking is not None and asking.id == str(token):
        raise ProblemError(HTTPStatus.CONFLICT, "own-token", "A token can not take itself back", hint="use another")
    tokens.revoke(web.runtime.database, token)
