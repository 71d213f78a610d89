"""The `octavo` command: every error becomes lines a person can act on, and an exit code."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from octavo.cli import (
    console,
    decide,
    diff,
    entities,
    evidence,
    explain,
    gc,
    grain,
    ingest,
    look,
    models,
    retrofit,
    run,
    sweep,
    system,
    up,
    usage,
    view,
    web,
    worker,
)
from octavo.cli.exits import Exit as Code
from octavo.cli.exits import code_of
from pipeline.errors import OctavoError

app = typer.Typer(
    name="octavo",
    help="Huge documents in; finished, cited results out. Resumable, memoized, chunk by chunk.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("run")(run.run)
app.command("ingest")(ingest.ingest_command)
app.command("import")(retrofit.import_command)
app.command("plan")(run.plan)
app.command("resume")(run.resume)
app.command("worker")(worker.worker)
app.command("up")(up.up)
app.command("web")(web.web)
app.command("status")(look.status)
app.command("jobs")(look.jobs)
app.command("results")(look.results_command)
app.command("export")(look.export)
app.command("chunks")(look.chunks)
app.command("manifest")(look.manifest_command)
app.command("diff")(diff.diff_command)
app.command("grain")(grain.grain)
app.command("explain")(explain.explain)
app.command("search")(evidence.search)
app.command("context")(evidence.context)
app.command("ask")(evidence.ask)
app.command("measure")(evidence.measure_command)
app.command("pause")(decide.pause)
app.command("cancel")(decide.cancel)
app.command("priority", context_settings={"ignore_unknown_options": True})(decide.priority)
app.command("retry")(decide.retry)
app.command("waive")(decide.waive)
app.command("usage")(usage.usage)
app.command("sweep")(sweep.sweep_command)
app.command("watch")(sweep.watch_command)
app.add_typer(view.view_app, name="view")
app.command("gc")(gc.gc)
app.command("doctor")(system.doctor)
app.add_typer(entities.entities_app, name="entities")
app.add_typer(web.token_app, name="token")
app.add_typer(system.db_app, name="db")
app.add_typer(models.models_app, name="models")


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
    command = context.command_path if context else "octavo"
    return _failed(OctavoError(error.format_message(), hint=f"{command} --help shows what there is"), Code.USAGE)
