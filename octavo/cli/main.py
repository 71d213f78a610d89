"""The `octavo` command: every error becomes lines a person can act on, and an exit code."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from octavo.cli import console
from octavo.cli.exits import Exit as Code
from octavo.cli.exits import code_of
from octavo.cli.later import Later, LaterGroup
from pipeline.errors import OctavoError


class Commands(LaterGroup):
    """What `octavo` can do."""

    later = (
        Later(
            "run",
            "octavo.cli.run:run",
            "Run a pipeline over books: ingest what changed, do what is not in the memo, show the result.",
        ),
        Later(
            "ingest",
            "octavo.cli.ingest:ingest_command",
            "Bring books in: read them, cut them by the pipeline's grain, store what is new.",
        ),
        Later(
            "import",
            "octavo.cli.retrofit:import_command",
            "Bring in documents from a table or from JSON Lines; their ids are kept, and nothing there is changed.",
        ),
        Later(
            "plan",
            "octavo.cli.run:plan",
            "Say what a run would do, and do none of it: hits, calls, tokens; exact for maps, bounds for reduces.",
        ),
        Later("resume", "octavo.cli.run:resume", "Go on with a job that was paused, interrupted or killed."),
        Later(
            "worker",
            "octavo.cli.worker:worker",
            "Serve jobs over Redis and PostgreSQL until told to end (OCTAVO_REDIS_URL, OCTAVO_DATABASE_URL).",
        ),
        Later(
            "up",
            "octavo.cli.up:up",
            "Run workers and the pages here, with PostgreSQL, Redis and Flower where needed, until Ctrl-C.",
        ),
        Later("web", "octavo.cli.web:web", "Serve the pages and the HTTP API until Ctrl-C."),
        Later(
            "status",
            "octavo.cli.look:status",
            "Where things stand: documents, views and the latest jobs; a view's documents; a job's steps.",
        ),
        Later("jobs", "octavo.cli.look:jobs", "The latest jobs."),
        Later("results", "octavo.cli.look:results_command", "What a map step gave for each chunk, in reading order."),
        Later(
            "export",
            "octavo.cli.look:export",
            "Everything a job gave: every chunk's output, then the merged result with its citations.",
        ),
        Later(
            "chunks",
            "octavo.cli.look:chunks",
            "A document's chunks: where each begins and ends, its tokens and its first words.",
        ),
        Later(
            "manifest",
            "octavo.cli.look:manifest_command",
            "A document's sections and chunks with their lines and offsets, as JSON.",
        ),
        Later(
            "diff",
            "octavo.cli.diff:diff_command",
            "What changed between two revisions of a book: chunks kept, edited, moved, added, removed.",
        ),
        Later(
            "grain",
            "octavo.cli.grain:grain",
            "Measure a book's chapters and paragraphs in tokens, and propose a grain for a pipeline, with the reasons.",
        ),
        Later(
            "explain",
            "octavo.cli.explain:explain",
            "Why a chunk or a reduce node hit or missed the memo: which field of its key, and which edit.",
        ),
        Later(
            "search",
            "octavo.cli.evidence:search",
            "Chunks that have the words, best first (BM25); "
            "single characters and names of two are found in Chinese too.",
        ),
        Later(
            "context",
            "octavo.cli.evidence:context",
            "Evidence for a question: whole chunks as sources S1, S2 …, exactly within a budget of tokens.",
        ),
        Later(
            "ask",
            "octavo.cli.evidence:ask",
            "Answer a question from the books, every statement with its source and lines.",
        ),
        Later(
            "measure",
            "octavo.cli.evidence:measure_command",
            "What more evidence costs: tokens of the request for each budget and, live, time and answer.",
        ),
        Later(
            "pause",
            "octavo.cli.decide:pause",
            "Start nothing new of a job until it is resumed; what runs is finished and kept.",
        ),
        Later("cancel", "octavo.cli.decide:cancel", "End a job for good; what it did stays in the memo."),
        Later(
            "priority",
            "octavo.cli.decide:priority",
            "Give a job a larger share of the workers, or a smaller one; the others still get theirs.",
            takes_unknown=True,
        ),
        Later(
            "retry",
            "octavo.cli.decide:retry",
            "Make a job's holes ready again. `octavo resume` then runs only them and what depends on them.",
        ),
        Later(
            "waive",
            "octavo.cli.decide:waive",
            "Accept holes: the job counts as done without them, and its output names them.",
        ),
        Later("usage", "octavo.cli.usage:usage", "Tokens and cost of model calls, and what the memo saved, added up."),
        Later(
            "sweep",
            "octavo.cli.sweep:sweep_command",
            "Bring views up to date: find changed files and stale chunks, re-derive those and nothing else.",
        ),
        Later(
            "watch",
            "octavo.cli.sweep:watch_command",
            "Sweep views whenever their files change, or their schedule says so, until Ctrl-C.",
        ),
        Later("view", "octavo.cli.view:view_app", "Pipelines kept fresh over a selection of documents."),
        Later(
            "gc",
            "octavo.cli.gc:gc",
            "Take what the policy `[retention]` lets go: old jobs and revisions, and results that nothing reaches.",
        ),
        Later(
            "doctor",
            "octavo.cli.system:doctor",
            "Look for what could go wrong: shadowed packages, the state folder, the database, the tokenizer.",
        ),
        Later("entities", "octavo.cli.entities:entities_app", "Names and terms of a book, and decisions about them."),
        Later("token", "octavo.cli.web:token_app", "Tokens for the API and the pages."),
        Later("db", "octavo.cli.system:db_app", "The database."),
        Later("models", "octavo.cli.models:models_app", "Model profiles of octavo.toml."),
    )


app = typer.Typer(
    cls=Commands,
    name="octavo",
    help="Huge documents in; finished, cited results out. Resumable, memoized, chunk by chunk.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"octavo {version('octavo')}")
        raise typer.Exit


def _debug(wanted: bool) -> None:
    console.show_tracebacks(wanted)


@app.callback()
def main_options(
    shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", callback=_debug, is_eager=True, help="Show where an error came from.")
    ] = False,
) -> None:
    """Huge documents in; finished, cited results out. Resumable, memoized, chunk by chunk."""


def main() -> None:
    """Run the command line and exit with its code."""
    raise SystemExit(run_guarded(None))


def run_guarded(arguments: list[str] | None) -> int:
    """Run a command line (None: the process's own); its exit code. Every error is told in lines a person can act on."""
    try:
        code = _dispatch(arguments)
        console.flush()
    except OctavoError as error:
        return _failed(error, code_of(error))
    except OSError as error:
        return _failed(OctavoError(f"The system refused: {error.strerror or error}", cause=error.filename), Code.ERROR)
    except Exception as error:  # noqa: BLE001  # the last resort: a fault of Octavo's own is told as one, too
        cause = f"{type(error).__name__}: {error}"
        hint = "this is a fault of Octavo: octavo --debug … shows where; what was committed is kept"
        return _failed(OctavoError("Octavo met something it did not expect", cause=cause, hint=hint), Code.ERROR)
    return code


def _dispatch(arguments: list[str] | None) -> int:
    try:
        result = app(args=arguments, standalone_mode=False)
    except typer.Exit as error:
        return int(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return Code.INTERRUPTED
    except typer.TyperException as error:
        return _misused(error)
    return result if isinstance(result, int) else Code.OK


def _failed(error: OctavoError, code: int) -> int:
    console.complain(error)
    console.let_go()
    return code


def _misused(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    if context is not None and error.format_message() == context.get_help():  # a group was called, and no command of it
        typer.echo(context.get_help(), err=True)
        return Code.USAGE
    command = context.command_path if context else "octavo"
    return _failed(OctavoError(error.format_message(), hint=f"{command} --help shows what there is"), Code.USAGE)
