"""The reader: the result on the left, the book on the right, and every citation leads to its lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from markupsafe import Markup, escape
from starlette.responses import Response

from db.database import Repositories
from octavo.web.access import Parts
from octavo.web.pages.asked import Sees
from octavo.web.pages.plain import shown
from octavo.web.pages.render import render
from octavo.web.state import Web
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from workers.faces import books
from workers.faces.results import JobOutput

router = APIRouter()

ITEMS = 40
CHOICE = 200  # documents of a job to choose from
Lines = Annotated[str | None, Query(pattern=r"^\d{1,9}-\d{1,9}$", description="The lines that are marked.")]
At = Annotated[str | None, Query(pattern=r"^\d{1,18}-\d{1,18}$", description="The characters that are marked.")]
LineNumber = Annotated[int | None, Query(ge=1, le=2**31)]


@router.get("/documents/{document_id}/read")
def read_document(
    request: Request,
    document_id: UUID,
    web: Parts,
    _: Sees,
    line: LineNumber = None,
    revision: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    at: At = None,
    lines: Lines = None,
) -> Response:
    """The text of a document."""
    marked = tuple(int(part) for part in lines.split("-")) if lines else (0, 0)
    with web.runtime.database.read() as rows:
        document = books.get_document(rows, document_id)
        found = books.get_revision(rows, document, revision)
        if lines and line is None and at is None:
            line = max(1, marked[0] - books.LINES_BEFORE)
        source = source_pane(web, rows, found.id, line=line, at=at)
    if lines:
        source["lines"] = [
            (number, text, cited or marked[0] <= number <= marked[1]) for number, text, cited in source["lines"]
        ]
        source["first"] = source["first"] or marked[0]
    base: dict[str, Json] = {"revision": revision}
    values = {"document": document, "found": found, "source": source, "base": base, "output": None}
    return render(request, "reader.html", values)


@router.get("/jobs/{job_id}/read")
def read_job(
    request: Request,
    job_id: UUID,
    web: Parts,
    _: Sees,
    document: UUID | None = None,
    after: Annotated[int, Query(ge=-1, le=2**31)] = -1,
    q: Annotated[str | None, Query(max_length=200)] = None,
    line: LineNumber = None,
    at: At = None,
    source: UUID | None = None,
) -> Response:
    """What a job gave, beside the text it rests on. `document` names whose output, `source` whose text."""
    with web.runtime.database.read() as rows:
        output = web.outputs.open(rows, job_id)
        number = output.number_of(document)
        pane = result_pane(output, number, after=after, search=q or None)
        beside = output.number_of(source or document)
        member = output.view.context.selection.members[beside]
        revision = rows.documents.revision(member.revision_id)
        if revision is None:
            raise NotFoundError("The revision that this job read is gone")
        text = source_pane(web, rows, member.revision_id, line=line, at=at, chunking_id=member.chunking_id)
    base: dict[str, Json] = {
        "document": str(document) if document else None,
        "after": after if after >= 0 else None,
        "q": q,
    }
    values = {
        "document": member.document,
        "found": revision,
        "source": text,
        "base": base,
        "output": pane,
        "job": output.view.context.job,
        "documents": output.documents[:CHOICE],
        "document_count": len(output.documents),
        "number": number,
    }
    return render(request, "reader.html", values)


def result_pane(output: JobOutput, number: int, *, after: int, search: str | None) -> dict[str, Json]:
    """The head of a document's output and a part of its items."""
    items = output.items(number, after=after, limit=ITEMS + 1, search=search)
    return {
        "kind": output.kind,
        "head": output.head(number) if after < 0 else None,
        "items": items[:ITEMS],
        "onward": items[ITEMS - 1]["item"] if len(items) > ITEMS else None,
        "first": after < 0,
    }


def source_pane(
    web: Web, rows: Repositories, revision_id: int, *, line: int | None, at: str | None, chunking_id: int | None = None
) -> dict[str, Any]:
    """A window of the text, with what is cited marked. Places are the server's own: no text is searched for."""
    shape = web.shapes.of(rows, revision_id, chunking_id)
    start, end = (int(part) for part in at.split("-")) if at else (0, 0)
    if not shape.places:
        return {"lines": [], "next": None, "previous": None, "section": "", "first": None}
    marked = end > start and start < shape.ends_at
    window = books.window_at(rows, shape, start) if marked and line is None else books.window(rows, shape, line or 1)
    lines = list(_marked(window.lines, start, end if marked else start))
    cited = next((number for number, _, is_marked in lines if is_marked), None)
    first = window.lines[0][1] if window.lines else 0
    titles = books.titles_at(rows, shape, {start if marked else first})
    return {
        "lines": lines,
        "next": window.next_line,
        "previous": window.previous_line,
        "section": next(iter(titles.values()), ""),
        "first": cited,
    }


def _marked(lines: list[tuple[int, int, str, bool]], start: int, end: int) -> Iterator[tuple[int, Markup, bool]]:
    """(number, text, does it hold something marked?) of lines, the characters from `start` to `end` marked."""
    for number, offset, body, cut in lines:
        low, high = max(0, start - offset), min(len(body), end - offset)
        text = escape(shown(body))
        inside = low < high
        if inside:
            before, within, behind = (shown(part) for part in (body[:low], body[low:high], body[high:]))
            text = Markup("{}<mark>{}</mark>{}").format(before, within, behind)
        more = Markup(' <span class="dim">(the line goes on)</span>') if cut else ""
        yield number, Markup("<bdi>{}</bdi>{}").format(text, more), inside
