"""`octavo usage`: what was used, and what the memo saved."""

from __future__ import annotations

from typing import Annotated

import typer

from octavo.cli import console, options
from workers.outputs.usage import By
from workers.outputs.usage import usage as add_up


def usage(
    by: Annotated[By, typer.Option("--by", help="What to add up by.")] = By.MODEL,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Over so many jobs, the latest.")] = 1000,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Tokens and cost of model calls, and what the memo saved, added up."""
    with options.runtime(state) as runtime, runtime.database.read() as rows:
        found = add_up(rows, by, jobs=jobs)
    if as_json:
        console.print_json({"by": by.value, "rows": found})
        return
    columns = ("name", "calls", "tokens_in", "tokens_out", "cost", "hits", "saved_tokens", "saved_cost")
    shown = [[f"{row[name]:.4f}" if "cost" in name else str(row[name]) for name in columns] for row in found]
    console.table((by.value, *columns[1:]), shown)
