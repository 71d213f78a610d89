"""Begin a job, or join the one that is at it already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from db.database import Database, Repositories
from db.values import Job
from pipeline import canonical
from pipeline.ids import uuid7
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.spec import PipelineSpec
from pipeline.states import JobState
from workers import failpoints
from workers.caps import CAPPED
from workers.ingest.ingest import Ingested
from workers.planning.plan import Models, resolve, step_plans
from workers.transitions import begin

RETRIES_LEAST = 50
RETRIES_PER_CHUNK = 0.2  # a job may spend one retry for each five chunks


def begin_job(
    database: Database,
    spec: PipelineSpec,
    documents: Sequence[Ingested],
    *,
    ops: Registry,
    models: Models,
    model: str,
    tokenizer: str,
    retry_budget: int | None = None,
    caps: Mapping[str, int] | None = None,
    estimate: Mapping[str, Json] | None = None,
    view_id: int | None = None,
) -> tuple[Job, bool]:
    """The job of a pipeline over documents, and whether it was there already. Raises PipelineError.

    `caps` (max_calls, max_tokens, max_cost_micros) go before those of a job that is joined; one that was stopped at its
    own goes on. A job over an earlier revision of one of the documents is cancelled: what it did stays in the memo.
    With `view_id` the job is a refresh of that view.
    """
    resolved = resolved_for(spec, documents, ops=ops, models=models, model=model, tokenizer=tokenizer)
    selection = [(item.document.id, item.revision.id) for item in documents]
    selection_sha = selection_digest(resolved, documents)
    with database.write() as rows:
        pipeline_id = rows.jobs.pipeline(name=spec.name, digest=spec.digest(), spec=spec.canonical())
        active = rows.jobs.active(pipeline_id, selection_sha)
        if active:
            _refreshes(rows, view_id, active.id)
            return _capped(rows, active, caps or {}), True
        _supersede(rows, dict(selection), spec.name)
        job_id = uuid7()
        rows.jobs.add(
            id=job_id,
            pipeline_id=pipeline_id,
            selection=selection,
            selection_sha256=selection_sha,
            resolved=resolved,
            retry_budget=_budget(rows, documents) if retry_budget is None else retry_budget,
            caps=caps,
            estimate=estimate,
        )
        job = rows.jobs.get(job_id)
        assert job is not None
        _refreshes(rows, view_id, job_id)
        begin(rows, job_id, step_plans(job, ops))
        failpoints.reached("begin.before")
    failpoints.reached("begin.after")
    return job, False


def _capped(rows: Repositories, job: Job, caps: Mapping[str, int]) -> Job:
    if not caps:
        return job
    rows.jobs.cap(job.id, job.caps | dict(caps))
    if job.state is JobState.PAUSED and (job.reason or "").startswith(CAPPED):
        rows.jobs.move(job.id, to=JobState.RUNNING, reason=None)
    found = rows.jobs.get(job.id)
    assert found is not None
    return found


def resolved_for(
    spec: PipelineSpec, documents: Sequence[Ingested], *, ops: Registry, models: Models, model: str, tokenizer: str
) -> dict[str, Json]:
    """What a job of a pipeline over documents resolves once. Raises PipelineError."""
    return {
        "steps": resolve(spec, ops, models, model),
        "chunkings": {str(item.document.id): item.chunking_id for item in documents},
        "tokenizer": tokenizer,
        "ops": list(ops.modules),
    }


def selection_digest(resolved: dict[str, Json], documents: Sequence[Ingested]) -> bytes:
    """What makes two jobs the same: the documents at their revisions, in order, and everything resolved."""
    return canonical.digest([resolved, [[str(item.document.id), item.revision.id] for item in documents]])


def _refreshes(rows: Repositories, view_id: int | None, job_id: UUID) -> None:
    if view_id is not None:
        rows.views.begin(view_id, job_id)


def _budget(rows: Repositories, documents: Sequence[Ingested]) -> int:
    chunks = sum(
        count
        for item in documents
        for chunking_id, count, _, _ in rows.documents.chunkings(item.revision.id)
        if chunking_id == item.chunking_id
    )
    return RETRIES_LEAST + int(chunks * RETRIES_PER_CHUNK)


def _supersede(rows: Repositories, selection: Mapping[UUID, int], pipeline: str) -> None:
    # A job over the same revisions with other parameters is another job, and stays.
    for old in rows.jobs.active_over(list(selection), pipeline):
        before = rows.jobs.documents(old.id)
        inside = all(document in selection for document, _ in before)
        if inside and any(selection[document] != revision for document, revision in before):
            rows.tasks.cancel([step.id for step in rows.jobs.steps(old.id)])
            rows.jobs.move(old.id, to=JobState.CANCELLED, reason="superseded by a run over a newer revision")
