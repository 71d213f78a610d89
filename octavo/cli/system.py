"""`octavo doctor` and `octavo db`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from octavo.cli import console, options
from octavo.cli.exits import Exit
from workers.doctor import examine

db_app = typer.Typer(help="The database.", no_args_is_help=True, rich_markup_mode=None)


def doctor(as_json: options.AsJson = False, state: options.State = None) -> None:
    """Look for what could go wrong: shadowed packages, the state folder, the database, the tokenizer."""
    with options.runtime(state) as runtime:
        found = examine(runtime)
    if as_json:
        console.print_json([{"check": item.check, "ok": item.ok, "says": item.says} for item in found])
    else:
        console.table(("check", "", "what it says"), [[i.check, "ok" if i.ok else "FAULT", i.says] for i in found])
    if not all(item.ok for item in found):
        raise typer.Exit(Exit.ERROR)


@db_app.command("upgrade")
def upgrade(as_json: options.AsJson = False, state: options.State = None) -> None:
    """Bring the database to this version's tables (done on first use too)."""
    from db import migrate

    with options.runtime(state) as runtime:
        database = runtime.unmigrated()
        changed = migrate.upgrade(database)
        at = migrate.head()
    if as_json:
        console.print_json({"changed": changed, "migration": at})
    else:
        console.note(f"{'upgraded to' if changed else 'already at'} migration {at}")


@db_app.command("backup")
def backup(
    to: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; it must not be there.")],
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Write a backup of the database as it is at this moment. It may be worked on meanwhile."""
    from workers.backup import back_up

    with options.runtime(state) as runtime:
        size = back_up(runtime, to)
    if as_json:
        console.print_json({"file": str(to), "bytes": size})
    else:
        console.note(f"{to}: {size} bytes. octavo db restore {to} --state FOLDER brings it back, here or elsewhere")


@db_app.command("restore")
def restore(
    backup: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Bring a backup into a new state folder, or an empty PostgreSQL database. What was half done goes on by resume."""
    from workers import backup as backups

    with options.runtime(state) as runtime:
        backups.restore(runtime, backup)
        hint = options.command(runtime, "resume")
    if as_json:
        console.print_json({"restored": str(backup)})
    else:
        console.note(f"restored. What was half done goes on with: {hint}")
