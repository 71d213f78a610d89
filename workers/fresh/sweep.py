"""The sweep: finds changed sources and stale chunks, and begins the refresh that re-derives only those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from db.database import Repositories
from db.values import Job, View
from pipeline import spec as specs
from pipeline.errors import NotFoundError, OctavoError, UsageError
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.settings import Settings
from pipeline.spec import GrainSpec, PipelineSpec
from pipeline.states import JobState
from workers.fresh.compare import Comparison, compare, entity_causes, served
from workers.fresh.retention import trim_refreshes
from workers.fresh.sources import bring, look
from workers.ingest.ingest import Cutting, Ingested, recut
from workers.ingest.moves import gone
from workers.planning.jobs import begin_job, resolved_for, selection_digest
from workers.runtime import Runtime


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a view asks for: its pipeline as its file now says, its model and its ops."""

    spec: PipelineSpec
    model: str
    ops: Registry
    encoding: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Swept:
    """What a sweep of one view found, and the job that it began or joined."""

    view: str
    documents: int
    changed: int  # sources that were read anew
    comparison: Comparison | None  # None: it could not be said
    job: Job | None  # the refresh, where there is something to do; one that ended with holes waits for a person
    joined: bool
    troubles: tuple[str, ...]

    @property
    def fresh(self) -> bool:
        """Is what the view serves what it should be?"""
        return self.comparison is not None and self.comparison.fresh


def asked(runtime: Runtime, view: View) -> Asked:
    """What a view asks for now. Raises PipelineError when its file is gone or wrong."""
    options = view.options
    spec = specs.load(view.pipeline)
    if options.get("skip_boilerplate") is not None:
        spec = spec.skipping_boilerplate(bool(options["skip_boilerplate"]))
    given = {name: options[name] for name in ("limit", "overlap") if options.get(name) is not None}
    if given:
        spec = spec.model_copy(update={"grain": GrainSpec.model_validate(spec.grain.model_dump() | given)})
    runtime.ops.include(_texts(options.get("ops")))
    encoding = options.get("encoding")
    return Asked(
        spec=spec,
        model=str(options.get("model") or runtime.settings.model),
        ops=runtime.ops,
        encoding=str(encoding) if encoding else None,
    )


def _texts(value: Json) -> list[str]:
    return [str(item) for item in value or ()]


def tokenizer_of(view: View, settings: Settings) -> str | None:
    """The tokenizer that counts for a view."""
    found = view.options.get("tokenizer")
    return str(found) if found else settings.tokenizer


def sweep(runtime: Runtime, view: View) -> Swept:
    """Look at a view's sources, bring in what changed, and begin its refresh where something is stale.

    What can not be read is told in `troubles` and noted on the view; what was served stays served.
    """
    try:
        found = _sweep(runtime, view)
    except OctavoError as error:
        found = Swept(
            view=view.name, documents=0, changed=0, comparison=None, job=None, joined=False, troubles=(error.message,)
        )
    with runtime.database.write() as rows:
        rows.views.swept(view.id, "; ".join(found.troubles) or None)
    if found.job is not None:
        trim_refreshes(runtime.database, runtime.settings.retention, view.id)
    return found


def _sweep(runtime: Runtime, view: View) -> Swept:
    database = runtime.database
    wants = asked(runtime, view)
    cutting = runtime.cutting(wants.spec.grain, tokenizer_of(view, runtime.settings))
    sources = look(view.selectors, runtime.spool)
    brought = bring(database, sources, cutting, encoding=wants.encoding)
    documents = brought.documents
    if sources.troubles:
        documents = _with_unseen(runtime, view, documents, cutting)
    if not documents:
        raise UsageError("; ".join(brought.troubles) or "none of its documents is there")
    resolved = resolved_for(
        wants.spec, documents, ops=wants.ops, models=runtime, model=wants.model, tokenizer=cutting.counter.name
    )
    with database.write() as rows:
        rows.views.select(view.id, [item.document.id for item in documents])
    with database.read() as rows:
        was = served(rows, view.served_job_id)
    more = entity_causes(database, wants.ops, was)
    with database.read() as rows:
        comparison = compare(rows, view.id, was, documents, resolved["steps"], more)
        stuck = _stuck(rows, view, selection_digest(resolved, documents))
    job, joined = stuck, False
    if not comparison.fresh and stuck is None:
        job, joined = begin_job(
            database,
            wants.spec,
            documents,
            ops=wants.ops,
            models=runtime,
            model=wants.model,
            tokenizer=cutting.counter.name,
            view_id=view.id,
        )
    return Swept(
        view=view.name,
        documents=len(documents),
        changed=brought.changed,
        comparison=comparison,
        job=None if comparison.fresh else job,
        joined=joined,
        troubles=brought.troubles,
    )


def _stuck(rows: Repositories, view: View, selection: bytes) -> Job | None:
    """The refresh that was made of just this and ended with holes: a person decides of them, not every sweep anew."""
    latest = rows.views.latest(view.id)
    job = rows.jobs.get(latest) if latest else None
    ended = job is not None and job.state in (JobState.HOLES, JobState.FAILED)
    return job if ended and job is not None and job.selection_sha256 == selection else None


def _with_unseen(runtime: Runtime, view: View, documents: Sequence[Ingested], cutting: Cutting) -> tuple[Ingested, ...]:
    """While a place can not be looked at, what it held stays as it was: it is not taken for deleted."""
    found = {item.document.id: item for item in documents}
    with runtime.database.read() as rows:
        before = rows.views.documents(view.id)
    for document in before:
        if document.id not in found and document.current is not None and gone(document):
            found[document.id] = recut(runtime.database, document, document.current, cutting)
    order = {document.id: at for at, document in enumerate(before)}
    return tuple(sorted(found.values(), key=lambda item: order.get(item.document.id, len(order))))


def views_named(runtime: Runtime, names: Sequence[str]) -> list[View]:
    """The views of these names; without names all. Raises NotFoundError."""
    with runtime.database.read() as rows:
        known = {view.name: view for view in rows.views.all()}
    for name in names:
        if name not in known:
            there = ", ".join(known) or "there is none yet"
            raise NotFoundError(f"There is no view {name!r}", hint=f"octavo view add makes one; known: {there}")
    return [known[name] for name in names] if names else list(known.values())
