"""`octavo ingest`, and how other commands bring their books in."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Annotated, Self

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from octavo.cli import console, options, show
from octavo.cli.exits import Exit
from pipeline.errors import OctavoError
from pipeline.ops.values import Json
from pipeline.spec import GrainSpec
from workers.ingest.attempt import Attempt, Failed, attempt
from workers.ingest.find import Finding, look
from workers.ingest.ingest import Ingested, Outcome
from workers.ingest.pool import ingest_parallel, size_of, usable_processors
from workers.ingest.serving import Task
from workers.runtime import Runtime

Books = Annotated[
    list[str],
    typer.Argument(metavar="BOOK", help="Files, folders, globs, archives of texts, or - for standard input."),
]
AsBook = Annotated[
    bool, typer.Option("--as-book", help="Each folder or archive is one book, its files the chapters: 2 before 10.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Processes that read at once (default: one a processor).")
]
PARALLEL_FROM = 32  # sources, or
PARALLEL_BYTES = 8_000_000  # of several: less is done sooner than other processes are up
TOLD_ONE_BY_ONE = 20  # sources: of more, only what went wrong is told while it goes on
TOLD_WARNINGS = 5  # of one kind and document
PLAIN_EVERY_S = 5.0


def ingest_command(
    books: Books,
    as_book: AsBook = False,
    as_json: options.AsJson = False,
    pipeline: options.Pipeline = "summary",
    tokenizer: options.Tokenizer = None,
    limit: options.Limit = None,
    overlap: options.Overlap = None,
    encoding: options.Encoding = None,
    jobs: Jobs = None,
    state: options.State = None,
) -> None:
    """Bring books in: read them, cut them by the pipeline's grain, store what is new.

    Says of each file what became of it. One that can not be read holds up no other; the exit code is then 1.
    """
    with options.runtime(state, tokenizer=tokenizer) as runtime:
        grain = options.pipeline_with(pipeline, limit, overlap).grain
        finding = look(books, runtime.spool, sys.stdin.buffer, as_book=as_book)
        outcomes = bring_in(runtime, finding, grain, encoding=encoding, jobs=jobs, quiet=as_json)
        if len(finding.sources) == 1 and isinstance(outcomes[0], Failed):
            raise error_of(outcomes[0])
        rows = _rows(runtime, outcomes, finding)
        if as_json:
            console.print_json(rows)
        else:
            _print(rows)
    if any(isinstance(outcome, Failed) for outcome in outcomes):
        raise typer.Exit(Exit.ERROR)


def ingest_all(
    runtime: Runtime,
    books: list[str],
    grain: GrainSpec,
    *,
    encoding: str | None,
    quiet: bool,
    as_book: bool = False,
) -> list[Ingested]:
    """Bring sources in, in order. Raises ReadError when one can not be read, once all others are in."""
    finding = look(books, runtime.spool, sys.stdin.buffer, as_book=as_book)
    outcomes = bring_in(runtime, finding, grain, encoding=encoding, jobs=None, quiet=quiet)
    done = [outcome for outcome in outcomes if isinstance(outcome, Ingested)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    if failed:
        raise _with_count(error_of(failed[0]), len(done), len(outcomes))
    return done


def bring_in(
    runtime: Runtime, finding: Finding, grain: GrainSpec, *, encoding: str | None, jobs: int | None, quiet: bool
) -> list[Attempt]:
    """Bring sources in, several at once where there are many; what became of each, in order."""
    sources = finding.sources
    is_much = len(sources) >= PARALLEL_FROM or sum(map(size_of, sources)) >= PARALLEL_BYTES
    processes = jobs or (usable_processors() if is_much else 1)
    with _Progress(sources_count=len(sources), quiet=quiet) as progress:
        if processes > 1 and len(sources) > 1:
            assert runtime.database  # made and migrated once, before others open it
            task = Task(settings=runtime.settings, grain=grain, encoding=encoding, collection="default")
            return ingest_parallel(task, sources, processes=processes, on_done=progress.done)
        cutting = runtime.cutting(grain)
        outcomes: list[Attempt] = []
        for number, source in enumerate(sources):
            outcomes.append(attempt(runtime.database, source, cutting, encoding=encoding))
            _raise_for_storage(outcomes[-1])
            progress.done(number, outcomes[-1])
        return outcomes


def _raise_for_storage(outcome: Attempt) -> None:
    if isinstance(outcome, Failed) and outcome.is_storage:
        raise error_of(outcome)


def error_of(failed: Failed) -> OctavoError:
    """The error that a failed source is when it was the only one."""
    return failed.error(failed.message, cause=failed.cause, hint=failed.hint)


def _with_count(error: OctavoError, done: int, wanted: int) -> OctavoError:
    if wanted == 1:
        return error
    hint = error.hint or f"{done} of {wanted} files are in already; octavo ingest says of each what became of it"
    return type(error)(error.message, cause=error.cause, hint=hint)


def _rows(runtime: Runtime, outcomes: Sequence[Attempt], finding: Finding) -> list[dict[str, Json]]:
    rows: list[dict[str, Json]] = []
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            reason = ": ".join(part for part in (outcome.message, outcome.cause) if part)
            found = outcome.found
            rows.append({"document": found.name, "uri": found.uri, "what": "failed", "reason": reason})
        else:
            rows.append(show.ingested(runtime.database, outcome))
    rows += [{"document": item.name, "what": "skipped", "reason": item.reason} for item in finding.skipped]
    return rows


def _print(rows: Sequence[dict[str, Json]]) -> None:
    columns = ["document", "what", "encoding", "sections", "chunks", "tokens", "kept", "edited", "added", "removed"]
    if any("reason" in row for row in rows):
        columns.append("reason")
    console.table(columns, [[row.get(name) for name in columns] for row in rows])
    counts = Counter(str(row["what"]) for row in rows)
    order = (*Outcome, "skipped", "failed")
    console.note(", ".join(f"{counts[what]} {what}" for what in order if counts[what]))
    tokenizer = next((row["tokenizer"] for row in rows if "tokenizer" in row), "")
    if tokenizer:
        console.note(f"tokens counted with {tokenizer}")


def tell(item: Ingested) -> None:
    """Say what ingest did with a source, and what it noticed."""
    counts = ", ".join(f"{count} {name}" for name, count in item.report.items() if count)
    what = item.outcome if item.outcome is Outcome.UNCHANGED else f"{item.outcome} ({item.revision.encoding})"
    console.note(f"{item.document.title}: {what}" + (f": chunks {counts}" if counts else ""))
    if item.outcome is Outcome.UNCHANGED:
        return
    told: Counter[str] = Counter()
    for warning in item.revision.warnings:
        if isinstance(warning, dict):
            told[str(warning["code"])] += 1
            if told[str(warning["code"])] <= TOLD_WARNINGS:
                console.note(f"  warning: {warning['message']}{_at(warning)}")
    for code, count in told.items():
        if count > TOLD_WARNINGS:
            console.note(f"  and {count - TOLD_WARNINGS} more of {code}: octavo manifest lists them all")


def _at(warning: dict[str, Json]) -> str:
    return f" (line {warning['line']})" if warning.get("line") and "line" not in str(warning["message"]) else ""


class _Progress:
    """Says what becomes of sources while they are brought in: each, or a bar where there are many."""

    def __init__(self, *, sources_count: int, quiet: bool) -> None:
        self._total, self._quiet = sources_count, quiet
        self._many = sources_count > TOLD_ONE_BY_ONE
        self._bar = Progress(
            TextColumn("ingest"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} {task.fields[note]}"),
            TimeRemainingColumn(),
            console=console.err(),
            transient=True,
        )
        self._terminal = console.err().is_terminal and not quiet and self._many
        self._row = self._bar.add_task("ingest", total=sources_count, note="")
        self._count = self._failed = 0
        self._told = time.monotonic()

    def __enter__(self) -> Self:
        if self._terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            self._bar.stop()

    def done(self, number: int, outcome: Attempt, held: int = 0) -> None:
        """A source is done."""
        del number, held
        self._count += 1
        self._failed += isinstance(outcome, Failed)
        if self._quiet:
            return
        if isinstance(outcome, Failed):
            if self._total > 1:
                console.note(f"failed: {outcome.message}" + (f" ({outcome.hint})" if outcome.hint else ""))
        elif not self._many:
            tell(outcome)
        note = f"{self._failed} failed" if self._failed else ""
        self._bar.update(self._row, completed=self._count, note=note)
        if self._many and not self._terminal and time.monotonic() - self._told >= PLAIN_EVERY_S:
            self._told = time.monotonic()
            console.note(f"ingest: {self._count}/{self._total} {note}".rstrip())
