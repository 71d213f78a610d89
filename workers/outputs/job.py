"""A job's outputs as the outputs package reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from db.database import Repositories
from db.values import Job, Step
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from workers.outputs.cite import Citation
from workers.planning.context import JobContext
from workers.planning.plan import StepPlan

T = TypeVar("T")
Style = Callable[[Citation], dict[str, Json]]


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """One read transaction over one job."""

    rows: Repositories
    context: JobContext
    steps: tuple[Step, ...]
    style: Style  # how citations are written: Citation.named or Citation.canonical
    citations: int  # how many of each entry's are shown; 0 for all

    def level(self, position: int, level: int) -> Step | None:
        """A level of a step, if it was planned."""
        return next((step for step in self.steps if step.position == position and step.level == level), None)

    def source(self, plan: StepPlan) -> Step:
        """The map step that a reduce takes its leaves from. Raises NotFoundError while it is not planned."""
        found = self.level(plan.position if plan.source is None else plan.source, 0)
        if found is None:
            raise NotFoundError(f"Step {plan.name!r} has no outputs yet")
        return found

    def some(self, found: list[T]) -> list[T]:
        """Those of many citations, or places of such, that are shown."""
        return found[: self.citations] if self.citations else found


def view(rows: Repositories, context: JobContext, style: Style = Citation.named, citations: int = 10) -> View:
    """Open a job's outputs in a read transaction."""
    return View(
        rows=rows, context=context, steps=tuple(rows.jobs.steps(context.job.id)), style=style, citations=citations
    )


def find_job(rows: Repositories, text: str) -> Job:
    """The job whose id is, or begins with, `text`; `last` is the newest. Raises NotFoundError."""
    try:
        job = rows.jobs.get(UUID(text)) if len(text) >= 32 else None
    except ValueError:
        job = None
    if job is None and len(text) < 32:
        latest = rows.jobs.latest(10_000)
        matches = latest[:1] if text == "last" else [item for item in latest if text and _begins(item, text)]
        if len(matches) > 1:
            raise NotFoundError(f"Several jobs begin with {text!r}", hint="give more of the id; see octavo jobs")
        job = matches[0] if matches else None
    if job is None:
        raise NotFoundError(f"There is no job {text!r}", hint="octavo jobs lists them")
    return job


def find_output(rows: Repositories, text: str) -> Job:
    """The job that a view of this name serves, else the job that `find_job` finds. Raises NotFoundError."""
    view_found = rows.views.get(text)
    if view_found is None:
        return find_job(rows, text)
    job = rows.jobs.get(view_found.served_job_id) if view_found.served_job_id else None
    if job is None:
        raise NotFoundError(f"View {text!r} serves nothing yet", hint=f"octavo sweep {text} makes it")
    return job


def _begins(job: Job, text: str) -> bool:
    # The end of a time-ordered id tells jobs apart sooner than its beginning, so both are taken.
    return str(job.id).startswith(text) or str(job.id).endswith(text)
