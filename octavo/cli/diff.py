"""`octavo diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from octavo.cli import console, options
from pipeline.errors import UsageError
from pipeline.ops.values import Json
from workers.outputs.diff import cut_alike, diff, two_revisions
from workers.outputs.manifest import find_document

SIGNS = {"edited": "~", "moved": ">", "added": "+", "removed": "-"}
SHOWN = 50


def diff_command(
    book: options.DocumentArg,
    revisions: Annotated[
        list[int] | None,
        typer.Argument(metavar="[REV REV]", help="Two numbers of revisions; without them the last two."),
    ] = None,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """What changed between two revisions of a book: chunks kept, edited, moved, added, removed."""
    if revisions and len(revisions) != 2:
        raise UsageError("Name two revisions, or none", hint="octavo diff BOOK 1 3; without numbers the last two")
    with options.runtime(state) as runtime:
        with runtime.database.read() as rows:
            document = find_document(rows, book)
            pair = two_revisions(rows, document, *(revisions or (None, None)))
        chunking_id = cut_alike(runtime.database, document, pair, runtime.cutting_as)
        with runtime.database.read() as rows:
            found = diff(rows, document, pair, chunking_id)
    if as_json:
        console.print_json(found)
        return
    counts = ", ".join(f"{count} {name}" for name, count in found["counts"].items())
    console.out().print(console.safe(f"{found['document']}: revision {found['from']} → {found['to']}: {counts}"))
    for change in found["changes"][:SHOWN]:
        _print(change)
    if len(found["changes"]) > SHOWN:
        console.note(f"… and {len(found['changes']) - SHOWN} more: --json has them all")


def _print(change: dict[str, Json]) -> None:
    lines = " → ".join(str(line) for line in (change["was_line"], change["start_line"]) if line is not None)
    many = f", {change['chunks']} chunks" if change["chunks"] > 1 else ""
    where = f"{change['section']}, line {lines}{many}" if change["section"] else f"line {lines}{many}"
    console.out().print(console.safe(f"{SIGNS[change['what']]} {change['what']}: {where}"))
    if change["what"] != "moved":
        for sign, text in (("-", change["before"]), ("+", change["after"])):
            if text is not None:
                console.out().print(f"    {sign} {console.safe(text)}")
