"""One chunk: where it stands now, and what became of it in each job; and a document's chunks in a strip."""

from __future__ import annotations

from uuid import UUID

from db.database import Repositories
from db.values import Chunk, Document, Revision
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from workers.faces import books
from workers.faces.books import Shape, Shapes
from workers.faces.jobs import task_row

PLACES = 50  # pages that are looked at for a chunk, the newest first: each edit of it has made one
REVISIONS = 10  # in which it is looked for, the newest first
JOBS = 10
STRETCHES = 100


def chunk_row(rows: Repositories, shapes: Shapes, chunk_id: UUID) -> dict[str, Json]:
    """A chunk with its text where it stands in the current revision, or where it last stood. Raises NotFoundError."""
    versions = rows.chunks.by_logical_id(chunk_id, PLACES)
    documents = {document_id: rows.documents.get(document_id) for document_id, _, _ in versions}
    for document in filter(None, documents.values()):
        # Its grain may not have cut the current revision: only what a job asked for is cut.
        for revision in rows.lists.revisions(document.id, limit=REVISIONS):
            for document_id, chunking_id, chunk in versions:
                placed = _placed(rows, shapes, revision.id, chunking_id, chunk) if document_id == document.id else None
                if placed is not None:
                    return _row(rows, document, revision, *placed)
    raise NotFoundError(f"There is no chunk {chunk_id} in a revision that is kept")


def _placed(
    rows: Repositories, shapes: Shapes, revision_id: int, chunking_id: int, chunk: Chunk
) -> tuple[Shape, int] | None:
    """A revision's shape and the chunk's ordinal in it, where it has the chunk."""
    try:
        shape = shapes.of(rows, revision_id, chunking_id)
    except NotFoundError:
        return None
    at = books.place_of(shape, chunk.page_id, chunk.ordinal)
    return None if at is None else (shape, at)


def _row(rows: Repositories, document: Document, revision: Revision, shape: Shape, at: int) -> dict[str, Json]:
    row = books.chunks(rows, shape, after=at - 1, limit=1, text=True)[0]
    current = document.current is not None and revision.id == document.current.id
    more = {"document": str(document.id), "title": document.title, "revision": revision.number, "current": current}
    return row | more


def tasks_of(rows: Repositories, shapes: Shapes, chunk_id: UUID) -> list[dict[str, Json]]:
    """The tasks that the latest jobs over its document made of a chunk, the newest job first. Raises NotFoundError.

    A chunk keeps its id when it is edited, so a job may have seen another text of it.
    """
    versions = rows.chunks.by_logical_id(chunk_id, PLACES)
    if not versions:
        raise NotFoundError(f"There is no chunk {chunk_id}")
    document_id = versions[0][0]
    found: list[dict[str, Json]] = []
    for job in rows.lists.jobs(limit=JOBS, document=document_id):
        revision_id = rows.lists.revision_in(job.id, [document_id])[document_id]
        for _, chunking_id, chunk in versions:
            placed = _placed(rows, shapes, revision_id, chunking_id, chunk)
            if placed is None:
                continue
            before = rows.lists.chunks_before(job.id, document_id, chunking_id) if job.documents > 1 else 0
            tasks = [
                task
                for task in rows.task_lists.of_chunk(job.id, before + placed[1])
                if (task.page_id, task.page_ordinal) == (chunk.page_id, chunk.ordinal)
            ]
            if tasks:
                more = {"job": str(job.id), "pipeline": job.pipeline, "text_sha256": chunk.content_sha256.hex()}
                found += [task_row(task) | more for task in tasks]
                break
    return found


def strip(rows: Repositories, document_id: UUID) -> list[int]:
    """The worst state in each of at most 100 stretches of a document's chunks, in its latest job (MAP_CODES).

    Raises NotFoundError when no job has begun on it.
    """
    job_id = rows.lists.latest_jobs([document_id]).get(document_id)
    job = rows.jobs.get(job_id) if job_id else None
    steps = [step for step in rows.jobs.steps(job.id) if step.level == 0] if job else []
    if job is None or not steps:
        raise NotFoundError("No job has begun on this document yet")
    revision_id = rows.lists.revision_in(job.id, [document_id])[document_id]
    chunking_id: int = job.resolved["chunkings"][str(document_id)]
    count = next((found[1] for found in rows.documents.chunkings(revision_id) if found[0] == chunking_id), 0)
    if not count:
        return []
    first = rows.lists.chunks_before(job.id, document_id, chunking_id) if len(job.resolved["chunkings"]) > 1 else 0
    stretches = min(STRETCHES, count)
    worst = rows.task_lists.worst(steps[0].id, first=first, count=count, bins=stretches)
    return [worst.get(at, 0) for at in range(stretches)]
