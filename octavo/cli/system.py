"""`octavo doctor` and `octavo db`."""

from __future__ import annotations

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
