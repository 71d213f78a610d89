"""`octavo import`: documents that another program keeps, with their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from octavo.cli import console, options
from pipeline.errors import UsageError
from workers.ingest.retrofit import Kept, bring, from_lines, from_table

TOLD_EVERY = 100


def import_command(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A database's URL (with --table), or a file of JSON Lines.")
    ],
    table: Annotated[str | None, typer.Option("--table", help="The table; SCHEMA.TABLE where it needs one.")] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="What the source is called: documents are NAME:ID (default: the table or file)."),
    ] = None,
    id_column: Annotated[str, typer.Option("--id", help="The column or field of the id.")] = "id",
    text: Annotated[str, typer.Option("--text", help="The column or field of the text.")] = "text",
    title: Annotated[str | None, typer.Option("--title", help="The column or field of the title.")] = None,
    media_type: Annotated[
        str, typer.Option("--type", help="What the texts are: text/plain or text/markdown.")
    ] = "text/plain",
    as_json: options.AsJson = False,
    pipeline: options.Pipeline = "summary",
    tokenizer: options.Tokenizer = None,
    limit: options.Limit = None,
    overlap: options.Overlap = None,
    state: options.State = None,
) -> None:
    """Bring in documents from a table or from JSON Lines; their ids are kept, and nothing there is changed.

    Run again, what is the same costs a look, and what has changed becomes a new revision.
    """
    called = name or (table.rpartition(".")[2] if table else Path(source).stem)
    with options.runtime(state, tokenizer=tokenizer) as runtime:
        cutting = runtime.cutting(options.pipeline_with(pipeline, limit, overlap).grain)
        counts: Counter[str] = Counter()
        for kept in _documents(source, table, id_column=id_column, text=text, title=title):
            item = bring(runtime.database, kept, cutting, source=called, spool=runtime.spool, media_type=media_type)
            counts[str(item.outcome)] += 1
            if as_json:
                found = {"id": kept.id, "document": str(item.document.id), "uri": item.document.uri}
                console.print_json(found | {"what": str(item.outcome), "revision": item.revision.number})
            elif counts.total() % TOLD_EVERY == 0:
                console.note(f"{counts.total()} documents")
    if not as_json:
        said = ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "none"
        console.note(f"{called}: {said}. octavo status shows them; each is named {called}:ID")


def _documents(source: str, table: str | None, *, id_column: str, text: str, title: str | None) -> Iterator[Kept]:
    if "://" in source:
        if table is None:
            raise UsageError("A database needs --table", hint="octavo import URL --table NAME")
        return from_table(source, table, id_column=id_column, text=text, title=title)
    if table is not None:
        raise UsageError(f"{source!r} is a file, and --table is for databases")
    return from_lines(Path(source), id_field=id_column, text=text, title=title)
