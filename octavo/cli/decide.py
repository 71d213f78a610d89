"""`octavo pause`, `cancel`, `priority`, `retry` and `waive`."""

from __future__ import annotations

from typing import Annotated

import typer

from db.values import Job
from octavo.cli import console, options
from workers import control


def _tell(job: Job, text: str, *, as_json: bool, **more: int) -> None:
    if as_json:
        console.print_json({"job": str(job.id), "state": job.state, **more})
    else:
        console.note(f"job {job.id}: {text}")


def pause(job: options.JobArg = "last", as_json: options.AsJson = False, state: options.State = None) -> None:
    """Start nothing new of a job until it is resumed; what runs is finished and kept."""
    with options.runtime(state) as runtime:
        found = control.pause(runtime.database, job)
        _tell(found, f"paused. Go on with: {options.command(runtime, 'resume', str(found.id))}", as_json=as_json)


def cancel(job: options.JobArg, as_json: options.AsJson = False, state: options.State = None) -> None:
    """End a job for good; what it did stays in the memo."""
    with options.runtime(state) as runtime:
        _tell(control.cancel(runtime.database, job), "cancelled; its results stay in the memo", as_json=as_json)


def priority(
    job: options.JobArg,
    step: Annotated[
        int, typer.Argument(metavar="N", min=-6, max=6, help="0 is usual; each step up doubles the job's share.")
    ],
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Give a job a larger share of the workers, or a smaller one; the others still get theirs."""
    with options.runtime(state) as runtime:
        found = control.prioritize(runtime.database, job, step)
        _tell(found, f"its priority is {found.priority}", as_json=as_json, priority=found.priority)


def retry(job: options.JobArg = "last", as_json: options.AsJson = False, state: options.State = None) -> None:
    """Make a job's holes ready again. `octavo resume` then runs only them and what depends on them."""
    with options.runtime(state) as runtime:
        found, count = control.retry(runtime.database, job)
        resume = options.command(runtime, "resume", str(found.id))
        text = f"{count} holes are ready again. Run them with: {resume}" if count else "it has no holes"
        _tell(found, text, as_json=as_json, holes=count)


def waive(
    job: options.JobArg = "last",
    chunk: Annotated[
        list[int] | None, typer.Option("--chunk", help="Ordinal of a chunk whose hole to accept; default all.")
    ] = None,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Accept holes: the job counts as done without them, and its output names them."""
    with options.runtime(state) as runtime:
        found, count = control.waive(runtime.database, job, chunk or None)
        resume = options.command(runtime, "resume", str(found.id))
        text = f"{count} holes accepted. Finish with: {resume}" if count else "it has no such holes"
        _tell(found, text, as_json=as_json, waived=count)
