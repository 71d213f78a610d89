"""`octavo run`, `plan` and `resume`."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer

from db.values import Job
from octavo.cli import console, options, show
from octavo.cli.exits import Exit, Interrupted
from octavo.cli.ingest import AsBook, Books, ingest_all
from octavo.cli.watch import Watch
from pipeline.ops.values import Json
from pipeline.spec import PipelineSpec
from pipeline.states import JobState
from workers.caps import CAPPED
from workers.embedded import EmbeddedRunner
from workers.follow import follow
from workers.ingest.ingest import Ingested
from workers.outputs.job import find_job, view
from workers.outputs.present import present
from workers.planning.context import load_context
from workers.planning.jobs import begin_job
from workers.planning.preview import StepPreview, preview, whole
from workers.progress import progress
from workers.runtime import Runtime

Citations = options.Citations


def run(
    books: Books,
    as_book: AsBook = False,
    pipeline: options.Pipeline = "summary",
    as_json: options.AsJson = False,
    model: options.Model = None,
    ops: options.Ops = None,
    tokenizer: options.Tokenizer = None,
    limit: options.Limit = None,
    overlap: options.Overlap = None,
    encoding: options.Encoding = None,
    skip_boilerplate: options.SkipBoilerplate = None,
    citations: Citations = 10,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    max_calls: options.MaxCalls = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what a run would do, as octavo plan.")] = False,
    state: options.State = None,
) -> None:
    """Run a pipeline over books: ingest what changed, do what is not in the memo, show the result."""
    began = time.monotonic()
    with options.runtime(state, model=model, ops=ops, tokenizer=tokenizer) as runtime:
        spec = options.pipeline_with(pipeline, limit, overlap, skip_boilerplate)
        options.check(runtime, spec)
        documents = ingest_all(runtime, books, spec.grain, encoding=encoding, quiet=as_json, as_book=as_book)
        if dry_run:
            tell_plan(runtime, spec, documents, as_json=as_json)
            return
        job, joined = begin(runtime, spec, documents, options.caps(max_cost, max_tokens, max_calls))
        if joined and not as_json:
            console.note(f"job {job.id} is at it already: joined")
        finish(runtime, work(runtime, job, quiet=as_json), began, as_json=as_json, citations=citations)


def resume(
    job: options.JobArg = "last",
    as_json: options.AsJson = False,
    ops: options.Ops = None,
    citations: Citations = 10,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    max_calls: options.MaxCalls = None,
    state: options.State = None,
) -> None:
    """Go on with a job that was paused, interrupted or killed."""
    from workers.control import unpause

    began = time.monotonic()
    with options.runtime(state, ops=ops) as runtime:
        found = unpause(runtime.database, job, options.caps(max_cost, max_tokens, max_calls))
        finish(runtime, work(runtime, found, quiet=as_json), began, as_json=as_json, citations=citations)


def plan(
    books: Books,
    as_book: AsBook = False,
    pipeline: options.Pipeline = "summary",
    as_json: options.AsJson = False,
    model: options.Model = None,
    ops: options.Ops = None,
    tokenizer: options.Tokenizer = None,
    limit: options.Limit = None,
    overlap: options.Overlap = None,
    encoding: options.Encoding = None,
    skip_boilerplate: options.SkipBoilerplate = None,
    state: options.State = None,
) -> None:
    """Say what a run would do, and do none of it: hits, calls, tokens; exact for maps, bounds for reduces."""
    with options.runtime(state, model=model, ops=ops, tokenizer=tokenizer) as runtime:
        spec = options.pipeline_with(pipeline, limit, overlap, skip_boilerplate)
        options.check(runtime, spec)
        documents = ingest_all(runtime, books, spec.grain, encoding=encoding, quiet=as_json, as_book=as_book)
        tell_plan(runtime, spec, documents, as_json=as_json)


def tell_plan(runtime: Runtime, spec: PipelineSpec, documents: list[Ingested], *, as_json: bool) -> None:
    """Print what a run would do."""
    steps = preview(runtime.database, spec, documents, ops=runtime.ops, models=runtime, model=runtime.settings.model)
    if as_json:
        console.print_json({"steps": [step.row() for step in steps], "whole": whole(steps)})
    else:
        show.plan(steps, currency(runtime, steps))


def currency(runtime: Runtime, steps: Sequence[StepPreview]) -> str:
    """The currency of the models' prices."""
    named = {runtime.settings.models[step.model].currency for step in steps if step.model and step.cost_micros_most}
    return ", ".join(sorted(named)) or "USD"


def begin(
    runtime: Runtime, spec: PipelineSpec, documents: list[Ingested], caps: dict[str, int] | None = None
) -> tuple[Job, bool]:
    """The job of a run, and whether it was there already."""
    cutting = runtime.cutting(spec.grain)
    return begin_job(
        runtime.database,
        spec,
        documents,
        ops=runtime.ops,
        models=runtime,
        model=runtime.settings.model,
        tokenizer=cutting.counter.name,
        caps=caps,
        estimate=_estimate(runtime, spec, documents),
    )


def _estimate(runtime: Runtime, spec: PipelineSpec, documents: list[Ingested]) -> dict[str, Json] | None:
    """What a run with a language model will use. Nothing else is worth the time that counting takes."""
    names = {step.model or runtime.settings.model for step in spec.step if step.kind != "merge"}
    profiles = [runtime.settings.models[name] for name in names if name in runtime.settings.models]
    if all(profile.provider == "extractive" for profile in profiles):
        return None
    return whole(
        preview(runtime.database, spec, documents, ops=runtime.ops, models=runtime, model=runtime.settings.model)
    )


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask once for a clean stop; a second one ends at once."""
    asked = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            raise Interrupted
        asked.set()
        stop()

    before = {name: signal.signal(name, handle) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def work(runtime: Runtime, job: Job, *, quiet: bool) -> Job:
    """Work on a job until it ends. On Ctrl-C: says what is kept and how to go on, raises Interrupted."""
    if runtime.settings.distributed:
        return watch_workers(runtime, job, quiet=quiet)
    with Watch(quiet=quiet) as watch:
        runner = EmbeddedRunner(runtime, job.id, on_beat=watch.beat)
        with stopping(runner.stop) as asked:
            job = runner.work()
    if asked.is_set() and job.state is JobState.RUNNING:
        with runtime.database.read() as rows:
            standing = progress(rows, job, runtime.settings)
        console.note(
            f"stopped: {standing.total('done')} of {standing.total('tasks')} tasks are done and kept. "
            f"Go on with: {options.command(runtime, 'resume', str(job.id))}"
        )
        raise Interrupted
    return job


def watch_workers(runtime: Runtime, job: Job, *, quiet: bool) -> Job:
    """Let the workers do a job and look on. Ctrl-C only ends the looking on."""
    leave = threading.Event()
    with Watch(quiet=quiet) as watch, stopping(leave.set):
        from workers.distributed.worker import ring_control  # slow to load, and the workers may be at it already

        ring_control(runtime.settings)
        job = follow(runtime, job.id, watch.beat, leave)
    if leave.is_set() and job.state is JobState.RUNNING:
        console.note(
            f"left: the workers go on. Look again with: {options.command(runtime, 'resume', str(job.id))}, "
            f"or end it with: {options.command(runtime, 'cancel', str(job.id))}"
        )
        raise Interrupted
    return job


def finish(runtime: Runtime, job: Job, began: float, *, as_json: bool, citations: int) -> None:
    """Print the job's result and end with its exit code."""
    with runtime.database.read() as rows:
        job = find_job(rows, str(job.id))
        standing = progress(rows, job, runtime.settings)
        output: Json = None
        if job.state in (JobState.DONE, JobState.HOLES):
            context = load_context(runtime.database, runtime.ops, job.id, to_read=True)
            output = present(view(rows, context, citations=citations))
    summary = show.run_summary(standing, time.monotonic() - began)
    if as_json:
        console.print_json(summary | {"output": output})
    else:
        if output is not None:
            show.output(output, options.command(runtime, "export", str(job.id)))
        show.run_line(summary, options.command(runtime, "retry", str(job.id)))
        if job.estimate is not None:
            names = {step["model"] for step in job.resolved["steps"] if step["model"]}
            found = {runtime.settings.models[name].currency for name in names if name in runtime.settings.models}
            show.compared(job.estimate, summary, ", ".join(sorted(found)) or "USD")
    if job.state is JobState.HOLES:
        raise typer.Exit(Exit.HOLES)
    if job.state is JobState.PAUSED and (job.reason or "").startswith(CAPPED):
        raise typer.Exit(Exit.CAPPED)
    if job.state is not JobState.DONE:
        raise typer.Exit(Exit.ERROR)
