"""Search, evidence, answers, and the traces they leave."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from db.database import Repositories
from db.values import Trace
from octavo.web.access import Parts, Reader, Runner
from octavo.web.api import shapes
from octavo.web.api.jobs import operation, operation_response
from octavo.web.api.once import Key, once
from octavo.web.api.paging import Cursor, Limit, key_of, onward, page_of
from octavo.web.state import Web
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from workers.evidence.context import replay
from workers.faces import evidence

router = APIRouter(tags=["evidence"])

HITS = 100
Words = Annotated[str, Query(min_length=1, max_length=1000, description="Words to look for.")]
Among = Annotated[list[UUID] | None, Query(max_length=100, description="Look in these documents.")]
Section = Annotated[str | None, Query(max_length=200, description="Look in sections whose title has this in it.")]


@router.get("/search", operation_id="search", response_model=shapes.Hits)
def search(
    request: Request,
    response: Response,
    web: Parts,
    _: Reader,
    q: Words,
    document: Among = None,
    section: Section = None,
    limit: Annotated[int, Query(ge=1, le=HITS)] = 10,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """Chunks that have the words, best first (BM25)."""
    key = key_of(request, cursor)
    found = found_hits(web, q, document or [], section, limit=limit, cursor=key[0] if key else None)
    page = page_of(request, response, found["hits"], limit)
    if found["cursor"]:
        # Search makes its own cursor: it goes inside ours, so that it too is good for its own words and filters only.
        page["next_cursor"] = web.cursors.make(request, [found["cursor"]])
        onward(request, response, page["next_cursor"])
    return page | {"terms": found["terms"], "indexing": found["indexing"]}


def found_hits(
    web: Web, query: str, documents: list[UUID], section: str | None, *, limit: int, cursor: str | None
) -> dict[str, Json]:
    """Hits, and whether new texts are still being indexed."""
    ready = index_or_ask_for_it(web)
    with web.runtime.database.read() as rows:
        found = evidence.hits(
            rows, query, documents=documents, section=section, limit=limit, cursor=cursor, sections=web.sections
        )
    return found | {"indexing": not ready}


def index_or_ask_for_it(web: Web) -> bool:
    """Bring the index up to date if that is quick; else see that a process is at it. Gives whether it is ready."""
    if evidence.indexed(web.runtime):
        return True
    with web.runtime.database.write() as rows:
        waiting = rows.web.operations(limit=200, states=("waiting", "running"))
        if not any(item.kind == "index" for item in waiting):
            operation(rows, "index", {})
    web.hands.wake()
    return False


@router.post("/context", operation_id="makeContext", response_model=shapes.Bundle)
def make_context(body: shapes.Question, web: Parts, _: Runner) -> dict[str, Json]:
    """Whole chunks as sources S1, S2 …, exactly within a budget of tokens. No model is asked; a trace is kept."""
    ready = index_or_ask_for_it(web)
    return evidence.context(web.runtime, body.model_dump(mode="json"), index=ready).as_json()


@router.post("/ask", operation_id="ask", status_code=202, response_model=shapes.Operation)
def ask(request: Request, response: Response, body: shapes.Ask, web: Parts, caller: Runner, key: Key = None) -> Json:
    """Answer a question from the books. The operation's result has the answer, its citations and its trace."""
    asked = body.model_dump(mode="json")
    done = once(web, caller, request, key, asked, lambda rows: {"operation": str(ask_in(web, rows, asked))})
    web.hands.wake()
    return operation_response(web, response, UUID(done["operation"]))


def ask_in(web: Web, rows: Repositories, asked: dict[str, Any]) -> UUID:
    """Have a question answered; what is wrong with it is told at once. Raises UsageError, NotFoundError."""
    evidence.known(rows, evidence.wanted_of(asked).documents)
    web.runtime.model(asked.get("model") or web.runtime.settings.model)
    return operation(rows, "ask", asked)


@router.get("/traces", operation_id="listTraces", response_model=shapes.Page[shapes.Trace], tags=["traces"])
def list_traces(
    request: Request,
    response: Response,
    web: Parts,
    _: Reader,
    kind: Annotated[list[str] | None, Query(max_length=10, description="`context`, `ask`, `measure`.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Json]:
    """What models were shown, newest first."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        found = rows.traces.latest(limit + 1, after=UUID(key[0]) if key else None, kinds=kind or ())
    return page_of(request, response, [trace_row(item) for item in found], limit, "id")


def trace_row(item: Trace) -> dict[str, Json]:
    """A trace as a list shows it."""
    return {
        "id": str(item.id),
        "kind": item.kind,
        "question": str(item.body.get("question", "")),
        "created_at": item.created_at,
    }


@router.get("/traces/{trace}", operation_id="getTrace", response_model=shapes.TraceDetail, tags=["traces"])
def get_trace(trace: UUID, web: Parts, _: Reader) -> dict[str, Json]:
    """One trace: ids and scores, no text."""
    with web.runtime.database.read() as rows:
        found = rows.traces.get(trace)
    if found is None:
        raise NotFoundError(f"There is no trace {trace}")
    return trace_row(found) | {"body": found.body}


@router.get("/traces/{trace}/bundle", operation_id="replayTrace", response_model=shapes.Bundle, tags=["traces"])
def replay_trace(trace: UUID, web: Parts, _: Reader) -> dict[str, Json]:
    """What the model saw, rebuilt; also after the book was edited."""
    return replay(web.runtime.database, str(trace), web.sections).as_json()
