"""`octavo sweep` and `octavo watch`: views brought up to date, once or whenever their files change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from octavo.cli import console, options, run
from octavo.cli.exits import Exit
from pipeline.ops.values import Json
from pipeline.states import JobState
from workers.faces.views import swept_row
from workers.fresh.sweep import Swept, sweep, views_named
from workers.fresh.watch import Watcher, over
from workers.runtime import Runtime


def sweep_command(
    views: Annotated[list[str] | None, typer.Argument(metavar="[VIEW...]", help="Views; without names all.")] = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Work on the refreshes, or wait for the workers that do.")
    ] = True,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Bring views up to date: find changed files and stale chunks, re-derive those and nothing else."""
    with options.runtime(state) as runtime:
        chosen = views_named(runtime, views or [])
        if not chosen and not as_json:
            console.note("no views yet: octavo view add NAME --pipeline P --documents BOOK makes one")
        rows = []
        for view in chosen:
            found = sweep(runtime, view)
            if not as_json:
                tell(found)
            if wait and found.job is not None and found.job.state is JobState.RUNNING:
                run.work(runtime, found.job, quiet=as_json)
            rows.append(_row(runtime, found))
            if not as_json and found.job is not None:
                _tell_end(runtime, rows[-1])
    if as_json:
        console.print_json(rows)
    if any(row["troubles"] or row["state"] == JobState.FAILED for row in rows):
        raise typer.Exit(Exit.ERROR)
    if any(row["state"] == JobState.HOLES for row in rows):
        raise typer.Exit(Exit.HOLES)


def watch_command(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDER...]", help="Watch what views are over in these folders; without, all views."),
    ] = None,
    rest: Annotated[
        float, typer.Option("--rest", min=0.05, max=3600, help="Seconds without a change before a view is swept.")
    ] = 1.5,
    state: options.State = None,
) -> None:
    """Sweep views whenever their files change, or their schedule says so, until Ctrl-C."""
    with options.runtime(state) as runtime:
        chosen = over(views_named(runtime, []), [Path(folder).absolute() for folder in folders or []])
        watcher = Watcher(runtime, chosen, lambda found: _watched(runtime, found), rest)
        with run.stopping(watcher.stop):
            console.note(f"watching {', '.join(view.name for view in chosen) or 'nothing'}; Ctrl-C ends it")
            watcher.run()


def tell(found: Swept) -> None:
    """Say what a sweep found."""
    for trouble in found.troubles:
        console.note(f"  warning: view {found.view}: {trouble}")
    if found.comparison is None:
        console.note(f"{found.view}: not swept; what it served stays served")
        return
    if found.fresh:
        console.note(f"{found.view}: fresh, {found.documents} documents")
        return
    if found.job is not None and found.job.state in (JobState.HOLES, JobState.FAILED):
        console.note(
            f"{found.view}: its refresh {found.job.id} ended {found.job.state}; "
            f"octavo retry {found.job.id} tries the holes again, octavo waive {found.job.id} accepts them"
        )
        return
    console.note(f"{found.view}: {', '.join(_parts(found))}; refreshing")


def _parts(found: Swept) -> list[str]:
    comparison = found.comparison
    assert comparison is not None
    parts = [f"{count} stale by {why}" for why, count in comparison.causes().items()]
    parts += [f"{len(comparison.missing)} missing"] if comparison.missing else []
    parts += [f"{len(comparison.withdrawn)} withdrawn"] if comparison.withdrawn else []
    return parts + ([f"{comparison.nodes} results lost"] if comparison.nodes else [])


def _row(runtime: Runtime, found: Swept) -> dict[str, Json]:
    row = swept_row(found) | {"state": None, "calls": 0}
    if found.job is not None:
        with runtime.database.read() as rows:
            job = rows.jobs.get(found.job.id)
            counts = rows.jobs.counts([step.id for step in rows.jobs.steps(found.job.id)])
        assert job is not None
        row |= {"state": job.state, "calls": sum(item.calls for item in counts.values())}
    return row


def _tell_end(runtime: Runtime, row: dict[str, Json]) -> None:
    if row["state"] == JobState.DONE:
        shown = options.command(runtime, "view", "show", row["view"])
        console.note(f"{row['view']}: fresh again with {row['calls']} op calls. Look at it with: {shown}")
    elif row["state"] != JobState.RUNNING:
        console.note(f"{row['view']}: its refresh is {row['state']}; what it served stays served")


def _watched(runtime: Runtime, found: Swept) -> None:
    tell(found)
    if found.job is not None:
        _tell_end(runtime, _row(runtime, found))
