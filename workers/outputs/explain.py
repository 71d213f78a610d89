"""Why a chunk's key hit or missed: its key document beside that of the job before."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from db.database import Database, Repositories
from db.values import Chunk, Document, Job
from pipeline import keys
from pipeline.errors import NotFoundError, OctavoError
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.states import TaskState
from workers.outputs.cite import Citer
from workers.outputs.manifest import find_document
from workers.planning.context import JobContext, load_context
from workers.planning.plan import StepPlan
from workers.planning.surround import Surrounder

JOBS = 20  # how far back it looks


@dataclass(frozen=True, kw_only=True, slots=True)
class _Seen:
    """A chunk as one job saw it."""

    job: Job
    context: JobContext
    ordinal: int
    chunk: Chunk


def explain_chunk(database: Database, ops: Registry, text: str) -> dict[str, Json]:
    """`{place, steps: [{step, state, memo, key, document, changes: [{why, before, now, since}]}]}`.

    `text` is a chunk's id, or BOOK:ORDINAL. Raises NotFoundError.
    """
    with database.read() as rows:
        document, logical_id = _chunk(rows, text)
        jobs = rows.jobs.over(document.id, JOBS)
    seen = [found for job in jobs if (found := _seen(database, ops, job, document, logical_id))]
    if not seen:
        raise NotFoundError(f"No job has worked on chunk {text}", hint="octavo run BOOK begins one")
    now = seen[0]
    with database.read() as rows:
        citer = Citer(rows, now.context.selection, 0)
        place = citer.whole([now.ordinal])[0].named()
        steps = [_explain(rows, plan, seen) for plan in now.context.plans if plan.kind == "map" and plan.source is None]
    return {"place": place, "steps": steps}


def _chunk(rows: Repositories, text: str) -> tuple[Document, UUID]:
    try:
        logical_id = UUID(text)
    except ValueError:
        return _numbered(rows, text)
    for document_id, _, _ in rows.chunks.by_logical_id(logical_id):
        document = rows.documents.get(document_id)
        if document:
            return document, logical_id
    raise NotFoundError(f"There is no chunk {text}", hint="octavo chunks BOOK --json lists ids")


def _numbered(rows: Repositories, text: str) -> tuple[Document, UUID]:
    name, _, number = text.rpartition(":")
    if not name or not number.isdigit():
        raise NotFoundError(f"{text!r} is no chunk", hint="give its id, or BOOK:ORDINAL")
    document = find_document(rows, name)
    at = int(number)
    revision = document.current
    for chunking_id, count, _, _ in rows.documents.chunkings(revision.id) if revision else []:
        if at < count and revision:
            for place in rows.documents.pages(revision.id, chunking_id) or []:
                if at < place.chunk_count:
                    return document, rows.chunks.at([(place.page_id, at)])[place.page_id, at].logical_id
                at -= place.chunk_count
    raise NotFoundError(f"{document.title} has no chunk {number}")


def _seen(database: Database, ops: Registry, job: Job, document: Document, logical_id: UUID) -> _Seen | None:
    try:
        context = load_context(database, ops, job.id)
    except OctavoError:
        return None  # an op of an old job may be gone: it explains nothing then
    with database.read() as rows:
        places = {chunk.page_id: chunk for _, _, chunk in rows.chunks.by_logical_id(logical_id)}
    for run, (member, place) in enumerate(context.selection.runs):
        chunk = places.get(place.page_id)
        if chunk and member.document.id == document.id:
            return _Seen(job=job, context=context, ordinal=context.selection.first(run) + chunk.ordinal, chunk=chunk)
    return None


def _explain(rows: Repositories, plan: StepPlan, seen: list[_Seen]) -> dict[str, Json]:
    now = seen[0]
    extra = _extra(rows, plan, now)
    document = keys.document(plan.identity(), [now.chunk.content_sha256], extra)
    step = next(item for item in rows.jobs.steps(now.job.id) if item.position == plan.position and item.level == 0)
    task = rows.tasks.at(step.id, now.ordinal)
    memo = "not planned" if task is None else "hit: the memo had its key" if task.hit else "miss: its key was new"
    if task is not None and not task.hit and task.state is not TaskState.DONE:
        memo = "miss: its key has no result yet"
    return {
        "step": plan.name,
        "state": task.state if task else "not in this step",
        "memo": memo,
        "key": plan.keys().key([now.chunk.content_sha256], extra).hex(),
        "document": document,
        "changes": _changes(rows, plan, document, seen[1:]),
    }


def _extra(rows: Repositories, plan: StepPlan, seen: _Seen) -> bytes | None:
    """The hash of what the step shows with the chunk."""
    if not plan.shows:
        return None
    step = next((s for s in rows.jobs.steps(seen.job.id) if s.position == plan.position and s.level == 0), None)
    data = rows.tasks.inputs_at(step.id, seen.ordinal) if step else None
    return Surrounder(seen.context, plan).of(rows, {seen.ordinal: data})[seen.ordinal].digest()


def _changes(
    rows: Repositories, plan: StepPlan, document: dict[str, Json], earlier: list[_Seen]
) -> list[dict[str, Json]]:
    for before in earlier:
        for other in before.context.plans:
            if other.name == plan.name and other.kind == plan.kind:
                old = keys.document(other.identity(), [before.chunk.content_sha256], _extra(rows, other, before))
                found = keys.differences(document, old)
                return [
                    {"why": why, "before": then, "now": value, "since": str(before.job.id)}
                    for why, then, value in found
                ]
    return []
