"""Options that commands share."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from octavo.cli import complete, console
from octavo.cli.exits import Interrupted
from pipeline import settings
from pipeline.spec import GrainSpec, PipelineSpec, load
from workers.runtime import Runtime

State = Annotated[
    Path | None, typer.Option("--state", help="Folder that holds the state (default .octavo, or OCTAVO_STATE).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]
Model = Annotated[str | None, typer.Option("--model", help="Model profile that answers the ops (default extractive).")]
Ops = Annotated[list[str] | None, typer.Option("--ops", help="Python module with ops of your own; may be repeated.")]
Tokenizer = Annotated[
    str | None,
    typer.Option("--tokenizer", help="A tokenizer.json that counts tokens, or 'characters' (default: the built-in)."),
]
Limit = Annotated[int | None, typer.Option("--limit", help="Tokens in a chunk at most, instead of the pipeline's.")]
Overlap = Annotated[
    int | None, typer.Option("--overlap", help="Tokens of the text before that are shown with a chunk.")
]
Pipeline = Annotated[
    str,
    typer.Option(
        "--pipeline",
        "-p",
        help="A built-in pipeline (summary, glossary, outline, conflicts) or a .toml file.",
        autocompletion=complete.pipelines,
    ),
]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Force the encoding instead of finding it.")]
SkipBoilerplate = Annotated[
    bool | None,
    typer.Option(
        "--skip-boilerplate/--keep-boilerplate",
        help="Leave out licence blocks and site banners, or take them too (default: as the pipeline's steps say; "
        "the built-in ones leave them out).",
        show_default=False,
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", min=0, help="Stop when model calls have cost so much."),
]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Stop when they used so many tokens.")]
MaxCalls = Annotated[int | None, typer.Option("--max-calls", min=1, help="Stop when there were so many model calls.")]
Citations = Annotated[int, typer.Option("--citations", min=0, help="Citations of each entry to give; 0 gives all.")]
OutputArg = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="A view's name, or a job's id, its beginning or end, or 'last'.",
        autocompletion=complete.outputs,
    ),
]
JobArg = Annotated[
    str,
    typer.Argument(metavar="JOB", help="A job's id, its beginning or end, or 'last'.", autocompletion=complete.jobs),
]
DocumentArg = Annotated[
    str,
    typer.Argument(metavar="BOOK", help="A document's path, title, URI or id.", autocompletion=complete.documents),
]


def caps(max_cost: float | None, max_tokens: int | None, max_calls: int | None) -> dict[str, int]:
    """The caps that are set, as a job keeps them."""
    found = {
        "max_calls": max_calls,
        "max_tokens": max_tokens,
        "max_cost_micros": None if max_cost is None else round(max_cost * 1_000_000),
    }
    return {name: value for name, value in found.items() if value is not None}


@contextmanager
def runtime(
    state: Path | None,
    *,
    model: str | None = None,
    ops: list[str] | None = None,
    tokenizer: str | None = None,
) -> Iterator[Runtime]:
    """The runtime of one command, closed at its end. SIGTERM ends the command as Ctrl-C does, with words."""
    made = Runtime(
        settings.current({"state": state, "model": model, "ops": tuple(ops) if ops else None, "tokenizer": tokenizer})
    )
    in_main = threading.current_thread() is threading.main_thread()  # no other may set handlers
    before = signal.signal(signal.SIGTERM, _interrupt) if in_main else None
    try:
        yield made
    except Interrupted:
        raise
    except KeyboardInterrupt:
        console.note("interrupted: what was committed is kept, and the same command goes on from there")
        raise
    finally:
        made.close()
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def command(runtime: Runtime, *words: str) -> str:
    """A command to type next, with the options that make it mean the same state and ops."""
    given, usual = runtime.settings, settings.current({})
    more = ["--state", str(given.state)] if given.state != usual.state else []
    if words[0] in ("resume", "export", "results"):
        more += [part for module in given.ops if given.ops != usual.ops for part in ("--ops", module)]
    return shlex.join(["octavo", *words, *more])


def pipeline_with(
    name: str, limit: int | None, overlap: int | None, skip_boilerplate: bool | None = None
) -> PipelineSpec:
    """A pipeline, its grain and what it leaves out changed where options say so. Raises PipelineError."""
    spec = load(name)
    if skip_boilerplate is not None:
        spec = spec.skipping_boilerplate(skip_boilerplate)
    grain = grain_with(spec.grain, limit, overlap)
    return spec.model_copy(update={"grain": grain})


def check(runtime: Runtime, spec: PipelineSpec) -> None:
    """See that the ops and models of a pipeline are there before a book is read."""
    from workers.planning.plan import resolve

    resolve(spec, runtime.ops, runtime, runtime.settings.model)


def grain_with(grain: GrainSpec, limit: int | None, overlap: int | None) -> GrainSpec:
    """A grain with another limit or overlap. Raises UsageError when they do not fit each other."""
    from pydantic import ValidationError

    from pipeline.errors import UsageError
    from pipeline.spec import describe

    changed = {"limit": limit, "overlap": overlap}
    try:
        return GrainSpec.model_validate(
            grain.model_dump() | {name: value for name, value in changed.items() if value is not None}
        )
    except ValidationError as error:
        raise UsageError(f"--limit and --overlap: {describe(error, GrainSpec)}") from error
