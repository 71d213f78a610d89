"""Why the key of a chunk or of a reduce node hit or missed: its key document beside the last one that was another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from db.database import Database, Repositories
from db.values import Chunk, Document, Job, Step, Task
from pipeline import keys
from pipeline.errors import NotFoundError, OctavoError
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.states import TaskState
from pipeline.surroundings import Surroundings
from workers.outputs.above import above
from workers.outputs.cite import Citer
from workers.outputs.edits import Versions
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
    revision_id: int
    chunking_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Made:
    """What a key of a chunk is made of."""

    seen: _Seen
    inputs: tuple[bytes, ...]
    shown: Surroundings | None
    document: dict[str, Json]

    @property
    def extra(self) -> bytes | None:
        return self.shown.digest() if self.shown else None


def explain_chunk(
    database: Database,
    ops: Registry,
    text: str,
    *,
    job: UUID | None = None,
    contexts: Callable[[UUID], JobContext] | None = None,
    nodes: bool = True,
) -> dict[str, Json]:
    """Why each map of a job over a chunk hit or missed, and the nodes above it (docs/outputs.md).

    `text` is a chunk's id, or BOOK:ORDINAL; `job` the one that is explained (None: the latest). `contexts` loads a job,
    where the caller keeps them; without `nodes` nothing is told of those above: finding them looks at the whole job.
    Raises NotFoundError.
    """
    load = contexts or (lambda job_id: load_context(database, ops, job_id, to_read=True))
    with database.read() as rows:
        document, logical_id = _chunk(rows, text)
        jobs = _until(rows, rows.jobs.over(document.id, JOBS), job)
    seen = [found for each in jobs if (found := _seen(database, load, each, document, logical_id))]
    if not seen:
        raise NotFoundError(f"No job has worked on chunk {text}", hint="octavo run BOOK begins one")
    now = seen[0]
    with database.read() as rows:
        place = Citer(rows, now.context.selection, 0).whole([now.ordinal])[0].named()
        maps = [plan for plan in now.context.plans if plan.kind == "map"]
        return {
            "place": place,
            "job": str(now.job.id),
            "pending": _pending(rows, document, now),
            "steps": [_explain(rows, plan, seen) for plan in maps],
            "above": above(rows, now.context, now.ordinal) if nodes else [],
        }


def _until(rows: Repositories, jobs: list[Job], last: UUID | None) -> list[Job]:
    """Those of the jobs, newest first, that are not newer than `last`; that one itself where it is older than all."""
    if last is None:
        return jobs
    asked = rows.jobs.get(last)
    return [job for job in jobs if job.id <= last] or ([asked] if asked else [])


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
        raise NotFoundError(
            f"{text!r} is no chunk and no node",
            hint="give a chunk's id, BOOK:ORDINAL, or a node as STEP/LEVEL/ORDINAL, as explaining a chunk names it",
        )
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


def _seen(
    database: Database, load: Callable[[UUID], JobContext], job: Job, document: Document, logical_id: UUID
) -> _Seen | None:
    try:
        context = load(job.id)
    except OctavoError:
        return None  # an op of an old job may be gone: it explains nothing then
    with database.read() as rows:
        places = {chunk.page_id: chunk for _, _, chunk in rows.chunks.by_logical_id(logical_id)}
    for run, (member, place) in enumerate(context.selection.runs):
        chunk = places.get(place.page_id)
        if chunk and member.document.id == document.id:
            ordinal = context.selection.first(run) + chunk.ordinal
            return _Seen(
                job=job,
                context=context,
                ordinal=ordinal,
                chunk=chunk,
                revision_id=member.revision_id,
                chunking_id=member.chunking_id,
            )
    return None


def _pending(rows: Repositories, document: Document, now: _Seen) -> Json:
    """The edit that no job has worked on yet; None when there is none."""
    current = document.current
    if current is None or current.id == now.revision_id:
        return None
    pages = {place.page_id for place in rows.documents.pages(current.id, now.chunking_id) or ()}
    found = rows.chunks.by_logical_id(now.chunk.logical_id)
    newer = next((chunk for _, _, chunk in found if chunk.page_id in pages), None)
    if newer is None or newer.content_sha256 == now.chunk.content_sha256:
        return None
    versions = Versions(rows, document, now.chunking_id)
    return versions.edit(now.chunk.logical_id, was=now.revision_id, now=current.id)


def _explain(rows: Repositories, plan: StepPlan, seen: list[_Seen]) -> dict[str, Json]:
    now = seen[0]
    task = _task(rows, plan, now)
    made = _made(rows, plan, now)
    told: dict[str, Json] = {"step": plan.name, "state": task.state if task else "not in this step", "memo": memo(task)}
    if made is None:
        return told | {"key": None, "document": None, "changes": []}
    key = plan.keys().key(made.inputs, made.extra).hex()
    return told | {"key": key, "document": made.document, "changes": _changes(rows, plan, made, seen)}


def _level(rows: Repositories, plan_position: int, seen: _Seen) -> Step | None:
    steps = rows.jobs.steps(seen.job.id)
    return next((step for step in steps if step.position == plan_position and step.level == 0), None)


def _task(rows: Repositories, plan: StepPlan, seen: _Seen) -> Task | None:
    step = _level(rows, plan.position, seen)
    return rows.tasks.at(step.id, seen.ordinal) if step else None


def memo(task: Task | None) -> str:
    """What the memo had of a task's key."""
    if task is None:
        return "not planned"
    if task.hit:
        return "hit: the memo had its key"
    return "miss: its key was new" if task.state is TaskState.DONE else "miss: its key has no result yet"


def _made(rows: Repositories, plan: StepPlan, seen: _Seen) -> _Made | None:
    """What the chunk's key is made of; None while the output that it takes is not there."""
    inputs: tuple[bytes, ...] = (seen.chunk.content_sha256,)
    if plan.source is not None:
        before = _level(rows, plan.source, seen)
        key = rows.tasks.keys(before.id, [seen.ordinal]).get(seen.ordinal) if before else None
        output = rows.results.hashes([key]).get(key) if key else None
        if output is None:
            return None
        inputs += (output,)
    shown = _shown(rows, plan, seen)
    document = keys.document(plan.identity(), inputs, shown.digest() if shown else None)
    return _Made(seen=seen, inputs=inputs, shown=shown, document=document)


def _shown(rows: Repositories, plan: StepPlan, seen: _Seen) -> Surroundings | None:
    """What the step shows with the chunk."""
    if not plan.shows:
        return None
    step = _level(rows, plan.position, seen)
    data = rows.nodes.inputs_at(step.id, seen.ordinal) if step else None
    return Surrounder(seen.context, plan).of(rows, {seen.ordinal: data})[seen.ordinal]


def _changes(rows: Repositories, plan: StepPlan, now: _Made, seen: list[_Seen]) -> list[dict[str, Json]]:
    """What differs between the key and the last one that was another."""
    since = now.seen
    for before in seen[1:]:
        other = next((item for item in before.context.plans if (item.name, item.kind) == (plan.name, plan.kind)), None)
        made = _made(rows, other, before) if other else None
        if made is None:
            continue
        found = keys.differences(now.document, made.document)
        if found:
            return [row for why, then, value in found for row in _told(rows, why, then, value, now, made, since)]
        since = before
    return []


def _told(
    rows: Repositories, why: keys.Missed, before: Json, now: Json, made: _Made, was: _Made, since: _Seen
) -> list[dict[str, Json]]:
    row: dict[str, Json] = {"why": why, "before": before, "now": now, "since": str(since.job.id), "edit": None}
    if why is keys.Missed.NEW_EXTRA:
        return [row | {"shown": _differing(was.shown, made.shown)}]
    if why is not keys.Missed.NEW_INPUT:
        return [row]
    told = []
    if was.inputs[0] != made.inputs[0]:
        one, two = was.inputs[0].hex(), made.inputs[0].hex()
        told.append(row | {"why": keys.Missed.NEW_TEXT, "before": one, "now": two, "edit": _edit(rows, made, was)})
    if was.inputs[1:] != made.inputs[1:]:
        told.append(row | {"before": was.inputs[-1].hex(), "now": made.inputs[-1].hex()})
    return told


def _edit(rows: Repositories, made: _Made, was: _Made) -> Json:
    document = next(
        member.document for member in made.seen.context.selection.members if member.revision_id == made.seen.revision_id
    )
    versions = Versions(rows, document, made.seen.chunking_id)
    return versions.edit(made.seen.chunk.logical_id, was=was.seen.revision_id, now=made.seen.revision_id)


def _differing(before: Surroundings | None, now: Surroundings | None) -> dict[str, Json]:
    """The parts that differ, each as `[before, now]`; of entities only those that came or went."""
    one, two = (side.parts() if side else {} for side in (before, now))
    found = {name: [one.get(name), two.get(name)] for name in {**one, **two} if one.get(name) != two.get(name)}
    if "entities" in found:
        was, is_now = (side or [] for side in found["entities"])
        found["entities"] = [[it for it in was if it not in is_now], [it for it in is_now if it not in was]]
    return found
