"""Search, questions and their answers, and the traces of what models were shown."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from octavo.web.access import Parts
from octavo.web.api.evidence import ask_in, found_hits, trace_row
from octavo.web.api.paging import goes_on, key_of
from octavo.web.pages.asked import Acts, Sees
from octavo.web.pages.render import render
from octavo.web.problems import ProblemError, of_error
from octavo.web.state import Web
from pipeline.errors import NotFoundError, OctavoError
from workers.evidence.context import replay
from workers.faces import books

router = APIRouter()
PAGE = 50
HITS = 10
SHOWN = 400  # characters of a hit, around the first of the words
Cursor = Annotated[str | None, Query(max_length=1024)]


@router.get("/search")
def search(
    request: Request,
    web: Parts,
    _: Sees,
    q: Annotated[str | None, Query(max_length=1000)] = None,
    document: UUID | None = None,
    section: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Cursor = None,
) -> Response:
    """Chunks that have the words, best first; and a question for a model."""
    key = key_of(request, cursor)
    values: dict[str, Any] = {"q": q or "", "document": _document(web, document), "section": section or ""}
    found: dict[str, Any] = {"hits": [], "terms": [], "indexing": False, "cursor": None}
    wrong: str | None = None
    if q and q.strip():
        try:
            found = found_hits(
                web, q, [document] if document else [], section or None, limit=HITS, cursor=key[0] if key else None
            )
        except OctavoError as error:
            wrong = error.message
    hits = [hit | {"parts": marked(hit["text"], found["terms"])} for hit in found["hits"]]
    onward = web.cursors.make(request, [found["cursor"]]) if found["cursor"] else None
    values |= {"hits": hits, "indexing": found["indexing"], "onward": onward, "wrong": wrong, "cursor": cursor}
    return render(request, "search.html", values | {"model": web.runtime.settings.model})


def _document(web: Web, document: UUID | None) -> Any:
    if document is None:
        return None
    with web.runtime.database.read() as rows:
        return books.get_document(rows, document)


def marked(text: str, terms: list[str]) -> list[tuple[str, bool]]:
    """(part, is it one of the words?) of the part of a text that has the first of the words."""
    folded = text.casefold()
    if len(folded) != len(text):  # casefolding made it longer: places would not be the same
        return [(text[:SHOWN], False)]
    places = [at for at in (folded.find(term) for term in terms) if at >= 0]
    start = max(0, min(places, default=0) - SHOWN // 4)
    cut = text[start : start + SHOWN]
    low = folded[start : start + SHOWN]
    parts: list[tuple[str, bool]] = [("…", False)] if start else []
    at = 0
    while at < len(cut):
        nearest = min(((low.find(term, at), -len(term)) for term in terms if low.find(term, at) >= 0), default=None)
        if nearest is None:
            break
        begin, size = nearest[0], -nearest[1]
        parts += [(cut[at:begin], False), (cut[begin : begin + size], True)]
        at = begin + size
    parts.append((cut[at:], False))
    return [part for part in parts if part[0]] + ([("…", False)] if start + SHOWN < len(text) else [])


@router.post("/ask")
def ask(
    web: Parts,
    _: Acts,
    question: Annotated[str, Form(min_length=1, max_length=4000)],
    document: Annotated[str, Form(max_length=36)] = "",
) -> Response:
    """Ask a model; the page of the operation shows the answer."""
    asked: dict[str, Any] = {"question": question, "documents": [document] if document else []}
    try:
        with web.runtime.database.write() as rows:
            made = ask_in(web, rows, asked)
    except ValueError as error:
        raise of_error(NotFoundError("There is no such document")) from error
    web.hands.wake()
    return RedirectResponse(f"/operations/{made}", 303)


@router.get("/traces")
def traces(request: Request, web: Parts, _: Sees, cursor: Cursor = None) -> Response:
    """What models were shown, newest first."""
    key = key_of(request, cursor)
    with web.runtime.database.read() as rows:
        found = rows.traces.latest(PAGE + 1, after=UUID(key[0]) if key else None)
    onward = goes_on(request, found, PAGE, "id")
    items = [trace_row(item) | {"sources": len(item.body.get("chosen", ()))} for item in found[:PAGE]]
    return render(request, "traces.html", {"items": items, "onward": onward})


@router.get("/traces/{trace}")
def trace(request: Request, trace: UUID, web: Parts, _: Sees) -> Response:
    """One trace: what the model saw, rebuilt."""
    with web.runtime.database.read() as rows:
        found = rows.traces.get(trace)
    if found is None:
        raise NotFoundError(f"There is no trace {trace}")
    lost: ProblemError | None = None
    sources: list[dict[str, Any]] = []
    try:
        sources = replay(web.runtime.database, str(trace), web.sections).as_json()["sources"]
    except OctavoError as error:
        lost = of_error(error)
    values = {"trace": trace_row(found), "body": found.body, "sources": sources}
    return render(request, "trace.html", values | {"lost": lost.problem.detail if lost else None})
