"""`octavo gc`: what the retention policy lets go."""

from __future__ import annotations

from typing import Annotated

import typer

from octavo.cli import console, options
from pipeline.ops.values import Json
from workers.fresh.retention import collect, collectable


def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and take nothing.")] = False,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Take what the policy `[retention]` lets go: old jobs and revisions, and results that nothing reaches."""
    with options.runtime(state) as runtime:
        policy = runtime.settings.retention
        if dry_run:
            found = collectable(runtime.database, policy).row() | {"texts": None}
        else:
            found = collect(runtime.database, policy)
    found |= {"dry_run": dry_run}
    if as_json:
        console.print_json(found)
        return
    _tell(found)


def _tell(found: dict[str, Json]) -> None:
    verb = "would go" if found["dry_run"] else "went"
    parts = [
        f"{found['jobs']} jobs with {found['tasks']} tasks",
        f"{found['revisions']} revisions with {found['pages']} pages and {found['chunks']} chunks",
        f"{found['nodes']} former nodes of views",
        f"{found['results']} results ({found['result_bytes']} bytes)",
        f"what {found['calls']} calls outside jobs used",
    ]
    console.out().print(f"{verb}: {', '.join(parts)}")
    console.out().print(
        f"kept: {found['kept_results']} results, {found['unreached']} of them by the policy alone ([retention])"
    )
