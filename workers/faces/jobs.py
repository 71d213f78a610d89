"""Jobs, their steps, tasks and holes, as people look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from db.database import Repositories
from db.listed import JobLine, TaskLine
from db.repositories.task_lists import CELLS, MAP_CODES
from db.values import Job, Step
from pipeline import canonical
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from pipeline.settings import Settings
from pipeline.states import JOB_ACTIVE, TASK_OPEN, JobState, TaskState
from workers.clock import now_ms
from workers.faces.books import Shapes, titles_at
from workers.progress import JobProgress, StepProgress, progress

LIVE = 12  # jobs of a list whose reason for waiting is looked up: only active ones have one
RATE_MS = 60_000
PACED = 3  # tries by which a pace is told


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A job with where it stands and why it waits."""

    progress: JobProgress
    because: str | None


def get_job(rows: Repositories, job_id: UUID) -> Job:
    """A job. Raises NotFoundError."""
    found = rows.jobs.get(job_id)
    if found is None:
        raise NotFoundError(f"There is no job {job_id}")
    return found


def standing(rows: Repositories, job: Job, settings: Settings) -> Standing:
    """Where a job stands, and why it does not move where it does not."""
    found = progress(rows, job, settings)
    return Standing(progress=found, because=_because(rows, found, settings))


def _because(rows: Repositories, found: JobProgress, settings: Settings) -> str | None:
    said = found.waits_because()
    job = found.job
    if job.state is not JobState.RUNNING or found.total("running"):
        return said
    equal = _waits_for_equals(rows, found)
    if equal:
        return f"its last {equal} tasks wait for equal ones that another job is at"
    if not settings.distributed:
        return "no process works on it: resume it" if said and said.startswith("no process") else said
    if said is not None:
        return said
    ahead = [job_id for job_id, priority in rows.dispatches.running() if job_id != job.id and priority >= job.priority]
    if ahead:
        return f"the workers are at {_others(len(ahead))}: a higher priority gives it a larger share"
    return "it is about to be taken up"


def _waits_for_equals(rows: Repositories, found: JobProgress) -> int:
    """How many tasks wait for an equal one, where no other task of the job is open."""
    counts = rows.tasks.counts([item.step.id for item in found.steps])
    waiting = sum(states.get(TaskState.WAITING_KEY, 0) for states in counts.values())
    others = sum(
        states.get(state, 0) for states in counts.values() for state in (TaskState.READY, TaskState.DISPATCHED)
    )
    return 0 if others else waiting


def _others(count: int) -> str:
    return "another job" if count == 1 else f"{count} other jobs"


def job_rows(rows: Repositories, found: Sequence[JobLine], settings: Settings) -> list[dict[str, Json]]:
    """Jobs for a list: state, counts, what they spent, and why active ones wait."""
    ids = [line.id for line in found]
    states = rows.lists.task_states(ids) if ids else {}
    spent = rows.lists.spent(ids) if ids else {}
    active = [line.id for line in found if line.state in JOB_ACTIVE][:LIVE]
    because: dict[UUID, tuple[str | None, int]] = {}
    pace = paces(rows) if active else {}
    for job_id in active:
        job = rows.jobs.get(job_id)
        if job is not None:
            now = standing(rows, job, settings)
            because[job_id] = (now.because, now.progress.total("retrying"))
    return [
        _job_row(line, states.get(line.id, {}), spent.get(line.id, (0, 0, 0)), because.get(line.id), pace.get(line.id))
        for line in found
    ]


def _job_row(
    line: JobLine,
    states: dict[str, int],
    spent: tuple[int, int, int],
    live: tuple[str | None, int] | None,
    pace: float | None,
) -> dict[str, Json]:
    tasks = sum(states.values())
    open_ = sum(states.get(state, 0) for state in TASK_OPEN)
    return {
        "id": str(line.id),
        "pipeline": line.pipeline,
        "title": line.title,
        "documents": line.documents,
        "document": str(line.first_document) if line.first_document else None,
        "state": str(line.state),
        "because": live[0] if live else line.reason,
        "priority": line.priority,
        "tasks": tasks,
        "done": tasks - open_,
        "running": states.get(TaskState.LEASED, 0),
        "retrying": live[1] if live else 0,
        "holes": states.get(TaskState.FAILED, 0),
        "calls": spent[0],
        "tokens": spent[1],
        "cost_micros": spent[2],
        "eta_s": eta_s(tasks, tasks - open_, pace if line.state is JobState.RUNNING else None),
        "created_at": line.created_at.isoformat(),
        "finished_at": line.finished_at.isoformat() if line.finished_at else None,
    }


def step_row(item: StepProgress) -> dict[str, Json]:
    """One level of a step."""
    return {
        "step": item.step.name,
        "position": item.step.position,
        "level": item.step.level,
        "state": str(item.step.state),
        "tasks": item.tasks,
        "done": item.done,
        "hits": item.hits,
        "running": item.running,
        "retrying": item.retrying,
        "holes": item.holes,
        "waived": item.waived,
        "calls": item.counts.calls,
        "retries": item.counts.retries,
        "tokens_in": item.counts.tokens_in,
        "tokens_out": item.counts.tokens_out,
        "cost_micros": item.counts.cost_micros,
        "busy_ms": item.counts.busy_ms,
    }


def job_row(rows: Repositories, now: Standing) -> dict[str, Json]:
    """A job with its steps, as the API and the pages show it."""
    job = now.progress.job
    head = rows.lists.jobs(limit=1, ids=[job.id])
    total = now.progress
    row: dict[str, Json] = {
        "id": str(job.id),
        "pipeline": job.pipeline,
        "title": head[0].title if head else "",
        "documents": head[0].documents if head else 0,
        "document": str(head[0].first_document) if head and head[0].first_document else None,
        "state": str(job.state),
        "because": now.because,
        "priority": job.priority,
        "created_at": job.created_at.isoformat(),
        "finished_at": job.finished_at.isoformat() if job.finished_at else None,
    }
    for name in ("tasks", "done", "hits", "running", "retrying", "holes", "waived"):
        row[name] = total.total(name)
    for name in ("calls", "retries", "tokens_in", "tokens_out", "cost_micros", "busy_ms"):
        row[name] = total.count(name)
    row["tokens"] = row["tokens_in"] + row["tokens_out"]
    return row | {"steps": [step_row(item) for item in total.steps]}


def paced(rows: Repositories, row: dict[str, Json]) -> dict[str, Json]:
    """A job's row with its pace and the time that is left."""
    pace = paces(rows).get(UUID(row["id"])) if row["state"] == JobState.RUNNING else None
    return row | {"pace": pace, "eta_s": eta_s(row["tasks"], row["done"], pace)}


def ops_of(row: dict[str, Json], job: Job) -> list[dict[str, Json]]:
    """One node an op: the levels of a step added up, with what the job resolved for it."""
    nodes: list[dict[str, Json]] = []
    counted = [name for name, value in row["steps"][0].items() if isinstance(value, int)] if row["steps"] else []
    for position, resolved in enumerate(job.resolved["steps"]):
        levels = [step for step in row["steps"] if step["position"] == position]
        node = {name: sum(step[name] for step in levels) for name in counted}
        node |= {
            "step": resolved["name"],
            "position": position,
            "levels": len(levels),
            "kind": resolved["kind"],
            "op": resolved["op"],
            "model": resolved["model"],
            "limits": resolved["limits"],
            "state": _state_of(levels),
        }
        nodes.append(node)
    return nodes


def _state_of(levels: Sequence[dict[str, Json]]) -> str:
    states = {str(step["state"]) for step in levels}
    if not states:
        return "not begun"
    return "complete" if states == {"complete"} else "planning" if "planning" in states else "running"


def steps_of(rows: Repositories, job_id: UUID, name: str | None = None) -> list[Step]:
    """The levels of a job's steps, of one step where it is named. Raises NotFoundError."""
    steps = rows.jobs.steps(job_id)
    if name is None:
        return steps
    chosen = [step for step in steps if step.name == name]
    if not chosen:
        known = ", ".join(dict.fromkeys(step.name for step in steps)) or "none yet"
        raise NotFoundError(f"The job has no step {name!r}", hint=f"it has {known}")
    return chosen


def task_rows(rows: Repositories, shapes: Shapes, job_id: UUID, tasks: Sequence[TaskLine]) -> list[dict[str, Json]]:
    """Tasks with the places of their chunks."""
    places = _places(rows, shapes, job_id, tasks)
    return [task_row(task) | {"place": places.get(task.id)} for task in tasks]


def task_row(task: TaskLine) -> dict[str, Json]:
    """A task without its place."""
    return {
        "id": task.id,
        "step": task.step,
        "level": task.level,
        "ordinal": task.ordinal,
        "state": task.state,
        "hit": task.hit,
        "attempt": task.attempt,
        "losses": task.losses,
        "error": task.error_code,
        "not_before_ms": task.not_before_ms,
        "key": task.key.hex() if task.key else None,
        "owner": task.lease_owner,
    }


def _places(rows: Repositories, shapes: Shapes, job_id: UUID, tasks: Sequence[TaskLine]) -> dict[int, dict[str, Json]]:
    """Document, section and lines of map tasks, by task id."""
    leaves = [task for task in tasks if task.page_id is not None and task.page_ordinal is not None]
    pages = rows.lists.pages_of(sorted({task.page_id for task in leaves if task.page_id is not None})) if leaves else {}
    documents = sorted({document for document, _ in pages.values()}, key=str)
    revisions = rows.lists.revision_in(job_id, documents) if documents else {}
    titles = {document: rows.documents.get(document) for document in documents}
    found: dict[int, dict[str, Json]] = {}
    chunks = rows.chunks.at([(task.page_id, task.page_ordinal) for task in leaves])  # type: ignore[misc]
    for document in documents:
        if document not in revisions:
            continue
        mine = [task for task in leaves if pages[task.page_id or 0][0] == document]
        shape = shapes.of(rows, revisions[document], pages[mine[0].page_id or 0][1])
        at = {place.page_id: place for place in shape.places}
        offsets = {
            task.id: at[task.page_id or 0].start + chunks[task.page_id or 0, task.page_ordinal or 0].start
            for task in mine
            if task.page_id in at
        }
        names = titles_at(rows, shape, offsets.values())
        title = titles[document]
        for task in mine:
            if task.id in offsets:
                chunk = chunks[task.page_id or 0, task.page_ordinal or 0]
                found[task.id] = {
                    "document": str(document),
                    "title": title.title if title else "",
                    "section": names[offsets[task.id]],
                    "chunk": str(chunk.logical_id),
                    "start_line": at[task.page_id or 0].start_line + chunk.line,
                    "start": offsets[task.id],
                    "end": at[task.page_id or 0].start + chunk.end,
                }
    return found


def chunk_map(rows: Repositories, job_id: UUID, name: str | None) -> dict[str, Json]:
    """The states of a map step's chunks as runs: `{step, total, cells, codes, runs: [[first, cells, code]]}`.

    Without a name: the first map step. Raises NotFoundError when it has not begun.
    """
    steps = [step for step in steps_of(rows, job_id, name) if step.level == 0]
    if not steps:
        raise NotFoundError("The job has no map step with chunks yet")
    step = steps[0]
    total = max(step.total or 0, rows.task_lists.last_ordinal(step.id) + 1)
    runs = rows.task_lists.states_of(step.id, total)
    cells = min(total, CELLS)
    return {
        "step": step.name,
        "total": total,
        "cells": cells,
        "codes": list(MAP_CODES),
        "runs": [list(run) for run in runs],
    }


def paces(rows: Repositories) -> dict[UUID, float]:
    """Tasks a second of the jobs at work, by the tries that ended in the last minute; of very fast ones in less."""
    now = now_ms()
    found = rows.task_lists.ended_lately(now - RATE_MS)
    return {job: count * 1000 / max(1000, now - first) for job, (count, first) in found.items() if count >= PACED}


def eta_s(tasks: int, done: int, pace: float | None) -> int | None:
    """Seconds until the tasks that are planned are done, at this pace; None when nothing is left, or nothing moves."""
    return round((tasks - done) / pace) if pace and tasks > done else None


def happened(rows: Repositories, job_id: UUID, *, limit: int, before: int | None = None) -> list[dict[str, Json]]:
    """What happened to a job, the latest first: `{sequence, at_ms, state, says}`; at most 200 are kept."""
    found = rows.web.events(job_id, limit=limit, newest=True, before=before, notes=True)
    return [
        {"sequence": event.sequence, "at_ms": event.at_ms, "state": said["state"], "says": said["says"]}
        for event in found
        for said in [canonical.loads(event.data)]
    ]


def over_time(rows: Repositories, job_id: UUID) -> list[tuple[int, int]]:
    """[(time in milliseconds, tasks done)] from what viewers were told."""
    events = rows.web.events(job_id, limit=240, newest=True, notes=False)
    return [(event.at_ms, int(canonical.loads(event.data).get("done", 0))) for event in reversed(events)]
