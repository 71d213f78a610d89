"""Where views stand: each document fresh, stale and why, missing, or with holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from db.database import Repositories
from db.values import Dismissal, Document, Job, Standing, View
from pipeline import canonical
from pipeline.errors import NotFoundError, OctavoError
from pipeline.ops.values import Json
from pipeline.states import TaskState
from workers.fresh.compare import Served, Why, document_causes, entity_causes, served, step_causes, steps_digest
from workers.fresh.sources import DOCUMENT, look
from workers.fresh.sweep import asked, tokenizer_of
from workers.ingest.ingest import Ingested, Outcome, reading_options, stands
from workers.ingest.moves import found_of, path_of
from workers.planning.plan import resolve
from workers.progress import progress
from workers.runtime import Runtime

STATES = ("fresh", "stale", "missing", "withdrawn", "new")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """What a view would be made of now. Steps and policy are None when its pipeline, an op or its model is not to be
    had: `trouble` says why."""

    steps: list[dict[str, Json]] | None
    policy: dict[str, Json] | None
    encoding: str | None
    trouble: str | None = None


def _wanted(runtime: Runtime, view: View) -> _Wanted:
    given = view.options.get("encoding")
    encoding = str(given) if given else None
    try:
        wants = asked(runtime, view)
        steps = resolve(wants.spec, wants.ops, runtime, wants.model)
        policy = runtime.cutting(wants.spec.grain, tokenizer_of(view, runtime.settings)).policy()
    except OctavoError as error:
        return _Wanted(steps=None, policy=None, encoding=encoding, trouble=error.message)
    return _Wanted(steps=steps, policy=policy, encoding=encoding)


def view_row(runtime: Runtime, view: View) -> dict[str, Json]:
    """Where a view stands (docs/outputs.md, `ViewRow`), with its documents.

    Costs a stat for each file, and reads only files that were touched.
    """
    wanted = _wanted(runtime, view)
    documents = _documents(runtime, view, wanted)
    with runtime.database.read() as rows:
        job = _refresh(rows, view)
        standing = progress(rows, job) if job else None
        nodes = rows.views.missing(view.id)
        dismissed = rows.views.dismissals(view.id)
    _tell_dismissed(documents, dismissed)
    counts = Counter(str(row["state"]) for row in documents)
    fresh = set(counts) <= {"fresh"} and not nodes
    known = sum(1 for row in documents if row["dismissed"])
    return {
        "view": view.name,
        "pipeline": view.pipeline,
        "selectors": [text.removeprefix(DOCUMENT) for text in view.selectors],
        "state": "missing" if view.served_job_id is None else "fresh" if fresh else "stale",
        **{name: counts[name] for name in STATES},
        "holes": sum(int(row["holes"]) for row in documents),
        "lost": nodes,
        "dismissed": known,
        "why": sorted({why for row in documents for why in row["why"]}, key=list(Why).index),
        "refresh": view.refresh,
        "served": str(view.served_job_id) if view.served_job_id else None,
        "job": str(job.id) if job else None,
        "job_state": job.state if job else None,
        "because": standing.waits_because() if standing else None,
        "swept_at": view.swept_at.isoformat(timespec="seconds") if view.swept_at else None,
        "trouble": wanted.trouble or view.trouble,
        "documents": documents,
    }


def _refresh(rows: Repositories, view: View) -> Job | None:
    """The refresh that is under way, or that ended without being served."""
    latest = rows.views.latest(view.id)
    return rows.jobs.get(latest) if latest and latest != view.served_job_id else None


def _documents(runtime: Runtime, view: View, wanted: _Wanted) -> list[dict[str, Json]]:
    sources = look(view.selectors, runtime.spool)
    with runtime.database.read() as rows:
        was = served(rows, view.served_job_id)
    more = entity_causes(runtime.database, runtime.ops, was) if wanted.steps else []
    with runtime.database.read() as rows:
        selected = rows.views.documents(view.id)
        uris = [document.uri for document in selected]
        standing = rows.documents.standing(uris, wanted.policy) if wanted.policy else {}
        holes, lost = _lacks(rows, view, was)
        common = step_causes(was.job.resolved["steps"], wanted.steps) if was and wanted.steps else []
        common = sorted({*common, *more}, key=list(Why).index)
        chunks = rows.documents.chunk_counts(list(was.revisions.values())) if was else {}
        found = [_document(rows, document, was, standing.get(document.uri), common, chunks) for document in selected]
    present = {item.uri for item in sources.files}
    for row, document in zip(found, selected, strict=True):
        _look_at_source(runtime, row, document, wanted, there=document.uri in present or bool(sources.troubles))
        row |= {"holes": holes[document.id], "lost": lost[document.id]}
        if lost[document.id] and row["state"] == "fresh":
            row |= {"state": "stale", "why": [Why.RESULTS]}
    known = set(uris)
    new = [item for item in sources.files if item.uri not in known]
    every = found + [_row(item.name, item.uri) | {"state": "new", "holes": 0, "lost": 0} for item in new]
    made_of = [steps_digest(wanted.steps) if wanted.steps else None, wanted.policy]
    return [row | {"stamp": _stamp(row, made_of)} for row in every]


def _stamp(row: dict[str, Json], made_of: Json) -> str | None:
    """Names the state that a document is in which is not fresh: the next edit or prompt gives it another."""
    if row["state"] == "fresh":
        return None
    path = path_of(row["uri"])
    try:
        found = path.stat() if path else None
    except OSError:
        found = None
    at = [found.st_size, found.st_mtime_ns] if found else None
    named = [row[name] for name in ("uri", "state", "revision", "served", "lost")]
    return canonical.digest([*named, [str(why) for why in row["why"]], at, made_of]).hex()[:16]


def _tell_dismissed(documents: Sequence[dict[str, Json]], dismissed: Mapping[str, Dismissal]) -> None:
    """Add to each document who dismissed the very state it is in."""
    for row in documents:
        found = dismissed.get(row["uri"])
        holds = found is not None and found.stamp == row["stamp"]
        row["dismissed"] = (
            {"note": found.note, "by": found.made_by, "at": found.made_at.isoformat(timespec="seconds")}
            if found and holds
            else None
        )


def dismiss(
    rows: Repositories, view: View, documents: Sequence[dict[str, Json]], *, note: str, by: str, uris: Sequence[str]
) -> int:
    """Note that a person knows that documents of a view are not fresh (no `uris`: all that are not); gives how many.

    They are told as stale again when anything more changes; a sweep renews them all the same. Raises NotFoundError.
    """
    missing = set(uris) - {str(row["uri"]) for row in documents}
    if missing:
        raise NotFoundError(f"View {view.name} has no document {min(missing)}", hint="name its URI, as status shows it")
    chosen = [row for row in documents if row["stamp"] and (not uris or row["uri"] in uris)]
    now = datetime.now(UTC)
    rows.views.dismiss(view.id, [Dismissal(row["uri"], row["stamp"], note, by, now) for row in chosen])
    return len(chosen)


def _row(title: str, uri: str) -> dict[str, Json]:
    return {"document": title, "uri": uri, "state": "missing", "why": [], "revision": None, "served": None, "chunks": 0}


def _document(
    rows: Repositories,
    document: Document,
    was: Served | None,
    standing: Standing | None,
    common: Sequence[Why],
    chunks: Mapping[tuple[int, int], int],
) -> dict[str, Json]:
    """A document as the database knows it; `chunks` by revision and chunking."""
    row = _row(document.title, document.uri)
    current = document.current
    if current is None:
        return row
    row["revision"] = current.number
    if was is None or document.id not in was.revisions:
        return row
    revision_id, chunking_id = was.revisions[document.id], was.chunking(document.id)
    old = current if revision_id == current.id else rows.documents.revision(revision_id)
    now = standing.chunking_id if standing else None
    item = Ingested(
        document=document, revision=current, chunking_id=now or chunking_id, outcome=Outcome.UNCHANGED, report={}
    )
    causes = [*document_causes(rows, was, item), *common]
    if standing and now is None and Why.SOURCE not in causes:
        causes.append(Why.GRAIN)  # no revision was cut as the view asks for now
    return row | {
        "served": old.number if old else None,
        "chunks": chunks.get((revision_id, chunking_id), 0),
        "state": "stale" if causes else "fresh",
        "why": causes,
    }


def _look_at_source(
    runtime: Runtime, row: dict[str, Json], document: Document, wanted: _Wanted, *, there: bool
) -> None:
    """Add what only the file itself can tell: that it is gone, or that it changed since it was last read."""
    path = path_of(document.uri)
    if path is None or row["state"] == "missing" or document.current is None:
        return
    if not path.exists():
        if not there:
            row |= {"state": "withdrawn", "why": []}
        return
    try:
        found = found_of(document)
        same = found is None or stands(
            runtime.database, found, document.current, reading_options(found, wanted.encoding)
        )
    except OctavoError:
        same = False
    if not same and Why.SOURCE not in row["why"]:
        row |= {"state": "stale", "why": [Why.SOURCE, *row["why"]]}


def _lacks(rows: Repositories, view: View, was: Served | None) -> tuple[Mapping[UUID, int], Mapping[UUID, int]]:
    """By document: the holes of what is served, and the pages with a result that is gone from the memo."""
    holes: Counter[UUID] = Counter()
    lost: Counter[UUID] = Counter()
    if was is None:
        return holes, lost
    pages = rows.views.missing_pages(view.id)
    maps = [step.id for step in rows.jobs.steps(was.job.id) if step.level == 0]
    broken = rows.tasks.hole_pages(maps, (TaskState.FAILED,))
    for document_id, revision_id in was.revisions.items() if pages or broken else ():
        for place in rows.documents.pages(revision_id, was.chunking(document_id)) or []:
            holes[document_id] += broken.get(place.page_id, 0)
            lost[document_id] += place.page_id in pages
    return holes, lost
