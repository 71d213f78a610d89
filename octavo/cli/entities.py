"""`octavo entities`: the names and terms of a book, and what a person decides about them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from octavo.cli import console, options, show
from octavo.cli.options import DocumentArg
from pipeline.reduce.glossary import DecisionKind
from workers.outputs import entities
from workers.outputs.manifest import find_document

entities_app = typer.Typer(
    help="Names and terms of a book, and decisions about them.", no_args_is_help=True, rich_markup_mode=None
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Any name of the entity.")]


@entities_app.command("list")
def list_command(
    book: DocumentArg,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="How many, most mentioned first.")] = 50,
    citations: Annotated[int, typer.Option("--citations", min=0, help="Citations of each; 0 gives all.")] = 1,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """The entities of a book's latest glossary, decisions included."""
    with options.runtime(state) as runtime:
        found = entities.glossed(runtime.database, runtime.ops, book)
        rows = entities.listed(runtime.database, found, limit=limit, citations=citations)
    if as_json:
        console.print_json({"entries": rows})
        return
    table = [[str(row["name"]), str(row["kind"]), str(row["count"]), _also(row), _first(row)] for row in rows]
    console.table(("name", "kind", "count", "also", "first seen"), table)


def _also(row: dict[str, Any]) -> str:
    """The aliases; those that the book states with the section that says so first."""
    stated = {item["alias"]: item["citations"][0]["section"] for item in row.get("stated", ()) if item["citations"]}
    return ", ".join(f"{alias} ({stated[alias]})" if alias in stated else alias for alias in row["aliases"])


def _first(row: dict[str, object]) -> str:
    citations = row["citations"]
    return show.place(citations[0]) if isinstance(citations, list) and citations else ""


@entities_app.command("merge")
def merge(
    book: DocumentArg,
    name: Name,
    into: Annotated[str, typer.Argument(metavar="INTO", help="The entity that it is.")],
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Two entities are one. It holds through reruns and edits until it is undone."""
    _decide(book, DecisionKind.MERGE, name, into, as_json, state)


@entities_app.command("split")
def split(
    book: DocumentArg,
    name: Name,
    out_of: Annotated[str, typer.Argument(metavar="OUT_OF", help="The entity that it is not.")],
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """A name does not belong to an entity. It holds through reruns and edits until it is undone."""
    _decide(book, DecisionKind.SPLIT, name, out_of, as_json, state)


@entities_app.command("rename")
def rename(
    book: DocumentArg,
    name: Name,
    to: Annotated[str, typer.Argument(metavar="TO", help="The name that it is shown by.")],
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Show an entity by another name; the old one stays as an alias."""
    _decide(book, DecisionKind.RENAME, name, to, as_json, state)


@entities_app.command("decisions")
def decisions(book: DocumentArg, as_json: options.AsJson = False, state: options.State = None) -> None:
    """What was decided about a book's entities, those undone too."""
    with options.runtime(state) as runtime:
        with runtime.database.read() as rows:
            document = find_document(rows, book)
        found = entities.decisions(runtime.database, document.id)
    listed = [
        {
            "decision": item.id,
            "kind": item.kind,
            "name": item.body["name"],
            "other": item.body["other"],
            "made_at": item.created_at.isoformat(timespec="seconds"),
            "undone_at": item.undone_at.isoformat(timespec="seconds") if item.undone_at else None,
        }
        for item in found
    ]
    if as_json:
        console.print_json(listed)
    else:
        columns = ("decision", "kind", "name", "other", "made_at", "undone_at")
        console.table(columns, [[row[column] for column in columns] for row in listed])


@entities_app.command("undo")
def undo(
    book: DocumentArg,
    number: Annotated[
        int | None, typer.Argument(metavar="[DECISION]", help="A decision's number; without it the latest.")
    ] = None,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Take a decision back."""
    with options.runtime(state) as runtime:
        with runtime.database.read() as rows:
            document = find_document(rows, book)
        taken = entities.undo(runtime.database, document.id, number)
    if as_json:
        console.print_json({"decision": taken.id, "kind": taken.kind, **taken.body})
    else:
        console.note(f"undone: {taken.kind} {taken.body['name']!r}, {taken.body['other']!r}")


def _decide(book: str, kind: DecisionKind, name: str, other: str, as_json: bool, state: options.State) -> None:
    with options.runtime(state) as runtime:
        found = entities.glossed(runtime.database, runtime.ops, book)
        number = entities.decide(runtime.database, found, kind, name, other)
    if as_json:
        console.print_json({"decision": number, "kind": kind, "name": name, "other": other})
    else:
        console.note(f"decision {number} holds from now on; octavo entities undo {book} {number} takes it back")
