"""`octavo view add`, `list`, `show`, `dismiss`, `remove`: pipelines kept fresh over a selection of documents."""

from __future__ import annotations

import getpass
import os
import re
from pathlib import Path
from typing import Annotated

import typer

from octavo.cli import complete, console, options, show
from pipeline.errors import UsageError
from pipeline.ops.values import Json
from pipeline.spec import builtin_names
from workers.clock import now_ms
from workers.fresh.sources import DOCUMENT, selector
from workers.fresh.standing import dismiss, view_row
from workers.fresh.sweep import views_named
from workers.outputs.job import find_output, view
from workers.outputs.present import present
from workers.planning.context import load_context
from workers.runtime import Runtime

view_app = typer.Typer(
    no_args_is_help=True, help="Pipelines kept fresh over a selection of documents.", rich_markup_mode=None
)
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

ViewArg = Annotated[str, typer.Argument(metavar="VIEW", help="A view's name.", autocompletion=complete.views)]


def seconds(text: str) -> int:
    """Seconds of `90s`, `15m`, `2h` or `1d`. Raises UsageError."""
    found = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if found is None or int(found[1]) == 0:
        raise UsageError(f"{text!r} is no span of time", hint="write 90s, 15m, 2h or 1d")
    return int(found[1]) * UNITS[found[2]]


@view_app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it: letters, digits, - and _.")],
    documents: Annotated[
        list[str],
        typer.Option("--documents", "-d", help="Files, folders, globs, or books that are in; may be repeated."),
    ],
    pipeline: options.Pipeline = "summary",
    every: Annotated[
        str | None, typer.Option("--every", help="Have it swept this often by any worker or octavo watch: 15m, 2h, 1d.")
    ] = None,
    model: options.Model = None,
    ops: options.Ops = None,
    tokenizer: options.Tokenizer = None,
    limit: options.Limit = None,
    overlap: options.Overlap = None,
    encoding: options.Encoding = None,
    skip_boilerplate: options.SkipBoilerplate = None,
    state: options.State = None,
) -> None:
    """Keep a pipeline fresh over documents. `octavo sweep` then makes it and renews what changed."""
    if not NAME.fullmatch(name) or name == "last":
        raise UsageError(f"{name!r} is no name for a view", hint="begin with a letter; letters, digits, - and _")
    every_s = None if every is None else seconds(every)
    with options.runtime(state, model=model, ops=ops, tokenizer=tokenizer) as runtime:
        spec = options.pipeline_with(pipeline, limit, overlap, skip_boilerplate)
        options.check(runtime, spec)
        given: dict[str, Json] = {
            "model": model,
            "ops": ops,
            "tokenizer": _absolute(tokenizer),
            "limit": limit,
            "overlap": overlap,
            "encoding": encoding,
            "skip_boilerplate": skip_boilerplate,
        }
        with runtime.database.write() as rows:
            made = rows.views.add(
                name=name,
                pipeline=pipeline if pipeline in builtin_names() else os.path.abspath(pipeline),  # noqa: PTH100
                selectors=[selector(rows, text) for text in documents],
                options={key: value for key, value in given.items() if value is not None},
            )
            if not made:
                raise UsageError(f"There is a view {name!r} already", hint=f"octavo view remove {name} takes it away")
            found = rows.views.get(name)
            assert found is not None
            rows.views.schedule(found.id, every_s, now_ms())
        console.note(f"view {name} is there. Make it with: {options.command(runtime, 'sweep', name)}")


def _absolute(tokenizer: str | None) -> str | None:
    return tokenizer if tokenizer in (None, "characters") else str(Path(tokenizer).absolute())


@view_app.command("list")
def list_views(as_json: options.AsJson = False, state: options.State = None) -> None:
    """All views: their pipelines, what they are over, and how often they are swept."""
    with options.runtime(state) as runtime, runtime.database.read() as rows:
        schedules = {item.view_id: item.every_s for item in rows.views.schedules()}
        found = [
            {
                "view": item.name,
                "pipeline": item.pipeline,
                "selectors": [text.removeprefix(DOCUMENT) for text in item.selectors],
                "options": item.options,
                "every_s": schedules.get(item.id),
                "refresh": item.refresh,
                "served": str(item.served_job_id) if item.served_job_id else None,
                "nodes": rows.views.size(item.id)[0],
            }
            for item in rows.views.all()
        ]
    if as_json:
        console.print_json(found)
    elif found:
        columns = ("view", "pipeline", "refresh", "nodes", "every_s", "selectors")
        console.table(columns, [[row[name] for name in columns] for row in found])
    else:
        console.note("no views yet: octavo view add NAME --pipeline P --documents BOOK makes one")


@view_app.command("show")
def show_view(
    name: ViewArg,
    as_json: options.AsJson = False,
    citations: options.Citations = 10,
    state: options.State = None,
) -> None:
    """What a view serves: the result of its last finished refresh, also while a newer one is made."""
    with options.runtime(state) as runtime:
        output = _output(runtime, name, citations)
        if as_json:
            console.print_json(output)
        else:
            show.output(output, options.command(runtime, "export", name))


def _output(runtime: Runtime, name: str, citations: int) -> dict[str, Json]:
    views_named(runtime, [name])
    with runtime.database.read() as rows:
        context = load_context(runtime.database, runtime.ops, find_output(rows, name).id, to_read=True)
        return present(view(rows, context, citations=citations))


@view_app.command("dismiss")
def dismiss_command(
    name: ViewArg,
    note: Annotated[str, typer.Option("--note", help="Why it is no trouble.")] = "",
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="Of this document (its URI); may be repeated.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take all dismissals of the view back.")] = False,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Staleness that is no trouble: not told again until anything more changes. A sweep renews it all the same."""
    if not undo and not note.strip():
        raise UsageError("A note is needed", hint='such as --note "only a typo"')
    with options.runtime(state) as runtime:
        (found,) = views_named(runtime, [name])
        documents = [] if undo else view_row(runtime, found)["documents"]
        with runtime.database.write() as rows:
            if undo:
                count = rows.views.revive(found.id)
            else:
                count = dismiss(rows, found, documents, note=note, by=getpass.getuser(), uris=document or [])
    if as_json:
        console.print_json({"view": name, "dismissed": 0 if undo else count, "revived": count if undo else 0})
    else:
        console.note(f"{count} documents of {name} {'are told as they stand again' if undo else 'are dismissed'}")


@view_app.command("remove")
def remove(name: ViewArg, as_json: options.AsJson = False, state: options.State = None) -> None:
    """Keep a view no more. Its documents and what it computed stay; `octavo gc` says what could go."""
    with options.runtime(state) as runtime:
        (found,) = views_named(runtime, [name])
        with runtime.database.write() as rows:
            rows.views.remove(found.id)
    if as_json:
        console.print_json({"view": name, "removed": True})
    else:
        console.note(f"view {name} is kept no more; its results stay in the memo")
