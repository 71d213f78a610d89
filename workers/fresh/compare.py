"""Why what a view serves is not what it would be now: by document and by cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from db.database import Database, Repositories
from db.values import Job, Revision
from pipeline import canonical
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from workers.ingest.ingest import Ingested
from workers.planning.context import load_context
from workers.planning.surround import chosen_anew


class Why(StrEnum):
    """What made a document stale."""

    SOURCE = "source"  # the file, or its text, changed
    READER = "reader"  # a newer reader read the same file
    SPLITTER = "splitter"  # a newer splitter, or another tokenizer, cuts the same text
    GRAIN = "grain"  # the pipeline asks for other chunks
    PIPELINE = "pipeline"  # steps were added, taken away or joined otherwise
    OP = "op"
    PROMPT = "prompt"
    MODEL = "model"
    PARAMS = "params"
    ENTITIES = "injected entities"  # others would be chosen, or shown, now
    CONTEXT = "context"  # what else the model is shown: headings, neighbours, a summary
    SELECTION = "selection"  # other documents, or another order, in what the view gathers
    RESULTS = "results"  # some were taken from the memo


# The fields of a resolved step that can change its outputs; others (attempts, timeouts, limits) can not.
_FIELDS: Mapping[str, Why] = {
    "kind": Why.PIPELINE,
    "source": Why.PIPELINE,
    "skip": Why.PIPELINE,
    "op": Why.OP,
    "version": Why.OP,
    "prompt": Why.PROMPT,
    "schema": Why.PROMPT,
    "model_identity": Why.MODEL,
    "window": Why.MODEL,
    "params": Why.PARAMS,
    "entities": Why.ENTITIES,
    "entities_most": Why.ENTITIES,
    "neighbours": Why.CONTEXT,
}


def _field(step: Mapping[str, Json], name: str) -> Json:
    """A field of a resolved step, or of what its model is sent."""
    sent = step.get("sent") or {}
    return [step.get(name), sent.get(name)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """What a view serves: a job with its documents at their revisions."""

    job: Job
    revisions: Mapping[UUID, int]  # in order

    def chunking(self, document_id: UUID) -> int:
        """By which chunking a document was cut."""
        found: int = self.job.resolved["chunkings"][str(document_id)]
        return found


def served(rows: Repositories, job_id: UUID | None) -> Served | None:
    """What a view that serves this job serves; None when there is no job yet."""
    job = None if job_id is None else rows.jobs.get(job_id)
    return None if job is None else Served(job=job, revisions=dict(rows.jobs.documents(job.id)))


def entity_causes(database: Database, ops: Registry, was: Served | None) -> list[Why]:
    """Whether other entities would be shown now than the served job shows: a person decided about them since.

    Their choice is looked at only where there is such a decision: it takes a look at all that the merge found.
    """
    if was is None or not any(step.get("entities") is not None for step in was.job.resolved["steps"]):
        return []
    with database.read() as rows:
        decided = rows.decisions.changed_since(list(was.revisions), was.job.created_at)
    if not decided:
        return []
    context = load_context(database, ops, was.job.id, to_read=True)
    with database.read() as rows:
        anew = any(chosen_anew(rows, context, plan) for plan in context.plans if plan.entities is not None)
    return [Why.ENTITIES] if anew else []


def steps_digest(steps: Sequence[Mapping[str, Json]]) -> str:
    """Names what of resolved steps can change their outputs."""
    return canonical.digest([[_field(step, name) for name in _FIELDS] for step in steps]).hex()[:16]


def step_causes(before: Sequence[Mapping[str, Json]], now: Sequence[Mapping[str, Json]]) -> list[Why]:
    """What differs between the resolved steps of two jobs."""
    if [step["name"] for step in before] != [step["name"] for step in now]:
        return [Why.PIPELINE]
    found = {
        why
        for old, new in zip(before, now, strict=True)
        for name, why in _FIELDS.items()
        if _field(old, name) != _field(new, name)
    }
    return [why for why in Why if why in found]


def document_causes(rows: Repositories, was: Served, item: Ingested) -> list[Why]:
    """Why a document that a view serves is not what it would be now, the steps left aside."""
    causes = []
    revision_id = was.revisions[item.document.id]
    if revision_id != item.revision.id:
        old = rows.documents.revision(revision_id)
        causes.append(_revised(old, item.revision))
    chunking = was.chunking(item.document.id)
    if chunking != item.chunking_id:
        causes.append(_recut(rows.chunks.policy(chunking), rows.chunks.policy(item.chunking_id)))
    return causes


def _revised(old: Revision | None, new: Revision) -> Why:
    same = old is not None and old.source_sha256 == new.source_sha256
    return Why.READER if same else Why.SOURCE


def _recut(old: Mapping[str, Json], new: Mapping[str, Json]) -> Why:
    asked = ("limit", "overlap", "heading_level")
    return Why.GRAIN if any(old.get(name) != new.get(name) for name in asked) else Why.SPLITTER


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What a view serves, beside what it would be now."""

    missing: tuple[UUID, ...]  # documents that nothing is served of
    withdrawn: tuple[UUID, ...]  # documents that are served and no longer selected
    stale: Mapping[UUID, tuple[Why, ...]]
    nodes: int  # of the tree whose result is gone

    @property
    def fresh(self) -> bool:
        """Is there nothing to do?"""
        return not (self.missing or self.withdrawn or self.stale or self.nodes)

    def causes(self) -> dict[str, int]:
        """How many documents each cause made stale."""
        found: dict[str, int] = {}
        for whys in self.stale.values():
            for why in whys:
                found[why.value] = found.get(why.value, 0) + 1
        return found


def compare(
    rows: Repositories,
    view_id: int,
    was: Served | None,
    documents: Sequence[Ingested],
    steps: Sequence[Mapping[str, Json]],
    more: Sequence[Why] = (),
) -> Comparison:
    """Compare what is served with the documents and resolved steps as they are now; `more` causes touch them all."""
    if was is None:
        return Comparison(missing=tuple(item.document.id for item in documents), withdrawn=(), stale={}, nodes=0)
    common = [*step_causes(was.job.resolved["steps"], steps), *more]
    wanted = [item.document.id for item in documents]
    still = [document for document in was.revisions if document in set(wanted)]
    moved = still != [document for document in wanted if document in was.revisions]
    stale: dict[UUID, tuple[Why, ...]] = {}
    for item in documents:
        if item.document.id in was.revisions:
            causes = [*document_causes(rows, was, item), *common, *([Why.SELECTION] if moved else [])]
            if causes:
                stale[item.document.id] = tuple(causes)
    return Comparison(
        missing=tuple(document for document in wanted if document not in was.revisions),
        withdrawn=tuple(document for document in was.revisions if document not in set(wanted)),
        stale=stale,
        nodes=rows.views.missing(view_id),
    )
