"""The `octavo` command: every error becomes lines a person can act on, and an exit code."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from octavo.cli import console, decide, look, run, system
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
app.command("ingest")(run.ingest_command)
app.command("plan")(run.plan)
app.command("resume")(run.resume)
app.command("status")(look.status)
app.command("jobs")(look.jobs)
app.command("results")(look.results_command)
app.command("export")(look.export)
app.command("chunks")(look.chunks)
app.command("manifest")(look.manifest_command)
app.command("explain")(look.explain)
app.command("pause")(decide.pause)
app.command("cancel")(decide.cancel)
app.command("retry")(decide.retry)
app.command("waive")(decide.waive)
app.command("doctor")(system.doctor)
app.add_typer(system.db_app, name="db")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"octavo {version('octavo')}")
        raise typer.Exit


@app.callback()
def main_options(
    shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Huge documents in; finished, cited results out. Resumable, memoized, chunk by chunk."""


def main() -> None:
    """Run the command line and exit with its code."""
    code = _guarded()
    sys.stdout.flush()
    sys.stderr.flush()
    raise SystemExit(code)


def _guarded() -> int:
    try:
        result = app(standalone_mode=False)
    except typer.Exit as error:
        return int(error.exit_code)
    except typer.Abort:
        return Code.INTERRUPTED
    except typer.TyperException as error:
        return _misused(error)
    except OctavoError as error:
        if os.environ.get("OCTAVO_DEBUG"):
            raise
        console.complain(error)
        return code_of(error)
    except KeyboardInterrupt:
        return Code.INTERRUPTED
    return result if isinstance(result, int) else Code.OK


def _misused(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "octavo"
    console.complain(OctavoError(error.format_message(), hint=f"{command} --help shows what there is"))
    return Code.USAGE
