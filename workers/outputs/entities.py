"""Entities as people work on them: the glossary of a document's latest job, and decisions about it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from db.database import Database, Repositories
from db.values import Document, Job, StoredDecision
from pipeline.errors import NotFoundError, UsageError
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.reduce import glossary
from pipeline.states import JOB_ENDED
from workers.outputs.job import View, view
from workers.outputs.manifest import find_document
from workers.outputs.merges import entries, folds, judged, shards
from workers.planning.context import JobContext, load_context
from workers.planning.plan import StepPlan

JOBS = 50  # how far back it looks


@dataclass(frozen=True, kw_only=True, slots=True)
class Glossed:
    """A document with the job whose glossary is shown."""

    document: Document
    job: Job
    context: JobContext
    plan: StepPlan


def glossed(database: Database, ops: Registry, book: str) -> Glossed:
    """The latest finished glossary over a document. Raises NotFoundError."""
    with database.read() as rows:
        document = find_document(rows, book)
        jobs = [job for job in rows.jobs.over(document.id, JOBS) if job.state in JOB_ENDED]
    for job in jobs:
        context = load_context(database, ops, job.id)
        plans = [plan for plan in context.plans if plan.op.output == "glossary"]
        if plans:
            return Glossed(document=document, job=job, context=context, plan=plans[-1])
    raise NotFoundError(
        f"{document.title} has no glossary yet", hint=f"octavo run {book} --pipeline glossary makes one"
    )


def listed(database: Database, found: Glossed, *, limit: int, citations: int) -> list[dict[str, Json]]:
    """The first entries of a glossary, decisions included."""
    rows: list[dict[str, Json]] = []
    with database.read() as repositories:
        for entry in entries(_open(repositories, found, citations), found.plan):
            rows.append(entry)
            if len(rows) == limit:
                break
    return rows


def decide(database: Database, found: Glossed, kind: glossary.DecisionKind, name: str, other: str) -> int:
    """Store a decision; gives its number. Raises UsageError for names that the glossary does not have."""
    with database.read() as rows:
        opened = _open(rows, found, 1)
        values, _ = shards(opened, found.plan)
        resolved = judged(opened, found.plan, values)
    keep = resolved["keep"] if resolved else []
    fold = folds(found.plan)
    entity = _known(keep, name, fold)
    if kind is glossary.DecisionKind.MERGE and _known(keep, other, fold) is entity:
        raise UsageError(f"{name!r} and {other!r} are one entity already")
    if kind is glossary.DecisionKind.SPLIT:
        whole = _known(keep, other, fold)
        key = glossary.canonical_key({"name": name}, fold=fold)
        keys = {member[0] for member in whole["members"]}
        aliases = {glossary.canonical_key({"name": alias}, fold=fold) for alias in whole["aliases"]}
        if key not in keys | aliases or len(keys | aliases) < 2:
            raise UsageError(
                f"{name!r} can not be split from {whole['name']!r}",
                hint=f"it is made of: {', '.join(sorted(keys))}",
            )
    with database.write() as rows:
        return rows.decisions.add(found.document.id, kind=kind, body={"name": name, "other": other})


def _known(keep: list[Json], name: str, fold: bool) -> Json:
    entity = glossary.find(keep, name, fold=fold)
    if entity is None:
        raise UsageError(f"There is no entity {name!r}", hint="octavo entities list BOOK shows them")
    return entity


def _open(rows: Repositories, found: Glossed, citations: int) -> View:
    return view(rows, found.context, citations=citations)


def decisions(database: Database, document_id: UUID) -> list[StoredDecision]:
    """All decisions about a document, those undone too."""
    with database.read() as rows:
        return rows.decisions.of([document_id], undone=True)


def undo(database: Database, document_id: UUID, number: int | None) -> StoredDecision:
    """Take back a decision: the one of that number, or the latest that holds. Raises NotFoundError."""
    with database.write() as rows:
        held = rows.decisions.of([document_id])
        wanted = [item for item in held if number in (None, item.id)]
        if not wanted or not rows.decisions.undo(wanted[-1].id):
            which = "no decision holds" if number is None else f"decision {number} does not hold"
            raise NotFoundError(f"Of this document {which}", hint="octavo entities decisions BOOK lists them")
        return wanted[-1]
