"""Begin a job over documents that are in, or bring a book in from a file that has arrived."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from db.values import Job
from pipeline.errors import NotFoundError, UsageError
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.spec import PipelineSpec
from workers.faces.views import get_view
from workers.fresh.sources import bring, look
from workers.fresh.sweep import asked, tokenizer_of
from workers.ingest.find import Found, printable
from workers.ingest.ingest import Ingested, as_it_stands, ingest
from workers.planning.jobs import begin_job
from workers.planning.plan import resolve
from workers.planning.preview import preview, whole
from workers.runtime import Runtime


def plan_over(runtime: Runtime, spec: PipelineSpec, documents: Sequence[UUID]) -> dict[str, Json]:
    """What a job over documents would find in the memo, call and cost: `{steps, total}`. Nothing is asked.

    Raises NotFoundError, PipelineError.
    """
    return _planned(runtime, spec, _cut(runtime, spec, documents), runtime.settings.model, runtime.ops)


def plan_view(runtime: Runtime, name: str) -> dict[str, Json]:
    """What the next refresh of a view would cost, changed sources brought in: `{steps, total, view, troubles}`."""
    with runtime.database.read() as rows:
        view = get_view(rows, name)
    wants = asked(runtime, view)
    cutting = runtime.cutting(wants.spec.grain, tokenizer_of(view, runtime.settings))
    brought = bring(runtime.database, look(view.selectors, runtime.spool), cutting, encoding=wants.encoding)
    if not brought.documents:
        raise UsageError("; ".join(brought.troubles) or "none of its documents is there")
    planned = _planned(runtime, wants.spec, brought.documents, wants.model, wants.ops)
    return planned | {"view": name, "troubles": list(brought.troubles)}


def _planned(
    runtime: Runtime, spec: PipelineSpec, found: Sequence[Ingested], model: str, ops: Registry
) -> dict[str, Json]:
    steps = preview(runtime.database, spec, list(found), ops=ops, models=runtime, model=model)
    return {"pipeline": spec.name, "steps": [step.row() for step in steps], "total": whole(steps)}


def _cut(runtime: Runtime, spec: PipelineSpec, documents: Sequence[UUID]) -> list[Ingested]:
    cutting = runtime.cutting(spec.grain)
    found: list[Ingested] = []
    for document_id in documents:
        with runtime.database.read() as rows:
            document = rows.documents.get(document_id)
        if document is None:
            raise NotFoundError(f"There is no document {document_id}")
        found.append(as_it_stands(runtime.database, document, cutting))
    return found


def begin_over(runtime: Runtime, spec: PipelineSpec, documents: Sequence[UUID]) -> tuple[Job, bool]:
    """The job of a pipeline over the current revisions of documents, and whether it was there already.

    Raises NotFoundError, PipelineError.
    """
    if not documents:
        raise UsageError("No document is named", hint="give the ids of one or more")
    resolve(spec, runtime.ops, runtime, runtime.settings.model)  # what is wrong is told before anything is cut
    return _begin(runtime, spec, _cut(runtime, spec, documents), runtime.cutting(spec.grain).counter.name)


def _begin(runtime: Runtime, spec: PipelineSpec, found: Sequence[Ingested], tokenizer: str) -> tuple[Job, bool]:
    return begin_job(
        runtime.database,
        spec,
        found,
        ops=runtime.ops,
        models=runtime,
        model=runtime.settings.model,
        tokenizer=tokenizer,
    )


def bring_in(runtime: Runtime, path: Path, spec: PipelineSpec, *, start: bool) -> dict[str, Json]:
    """Read a file and cut it; with `start` begin a job over it: `{document, what, revision, report, job}`."""
    cutting = runtime.cutting(spec.grain)
    found = Found(path=path, uri=path.resolve().as_uri(), name=printable(path.name))
    item = ingest(runtime.database, found, cutting)
    job = _begin(runtime, spec, [item], cutting.counter.name)[0] if start else None
    return {
        "document": str(item.document.id),
        "what": str(item.outcome),
        "revision": item.revision.number,
        "report": dict(item.report),
        "job": None if job is None else str(job.id),
    }
