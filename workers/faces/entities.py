"""The names and terms of a document, from its latest glossary, and what people decide about them."""

from __future__ import annotations

from uuid import UUID

from db.database import Repositories
from db.values import StoredDecision
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from pipeline.states import JOB_ENDED
from workers.faces.books import get_document
from workers.faces.results import JobOutput, Outputs
from workers.outputs.entities import JOBS, Glossed


def glossary_of(rows: Repositories, outputs: Outputs, document_id: UUID) -> JobOutput:
    """The latest finished glossary over a document. Raises NotFoundError."""
    document = get_document(rows, document_id)
    for job in rows.jobs.over(document_id, JOBS):
        if job.state in JOB_ENDED and any(step["kind"] == "merge" for step in job.resolved["steps"]):
            output = outputs.open(rows, job.id)
            plans = [plan for plan in output.view.context.plans if plan.op.output == "glossary"]
            if plans:
                output.plan = plans[-1]
                return output
    raise NotFoundError(
        f"{document.title} has no glossary yet",
        hint=f"a job of the pipeline glossary makes one: octavo run {document.title} --pipeline glossary",
    )


def glossed(rows: Repositories, outputs: Outputs, document_id: UUID) -> Glossed:
    """The same for `workers.outputs.entities.decide`. Raises NotFoundError."""
    output = glossary_of(rows, outputs, document_id)
    context = output.view.context
    return Glossed(document=get_document(rows, document_id), job=context.job, context=context, plan=output.plan)


def decision_row(item: StoredDecision) -> dict[str, Json]:
    """A decision as it is shown."""
    return {
        "id": item.id,
        "kind": item.kind,
        "name": str(item.body.get("name", "")),
        "other": str(item.body.get("other", "")),
        "created_at": item.created_at,
        "undone_at": item.undone_at,
    }
