"""What the shell completes: names of pipelines, and of the documents, jobs and views that are in the state folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from db.database import Repositories

MOST = 200  # names that are looked at


def pipelines(incomplete: str) -> list[str]:
    """The built-in pipelines."""
    from pipeline.spec import builtin_names

    return [name for name in builtin_names() if name.startswith(incomplete)]


def documents(ctx: typer.Context, incomplete: str) -> list[str]:
    """Titles of the newest documents."""
    return _stored(ctx, incomplete, lambda rows: [line.title for line in rows.lists.documents(limit=MOST)])


def jobs(ctx: typer.Context, incomplete: str) -> list[str]:
    """`last`, and the ends of the ids of the latest jobs, by which they are told apart soonest."""
    return _stored(ctx, incomplete, lambda rows: ["last", *(str(job.id)[-12:] for job in rows.lists.jobs(limit=MOST))])


def views(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of views."""
    return _stored(ctx, incomplete, lambda rows: [view.name for view in rows.views.page(limit=MOST)])


def outputs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Views and jobs: what has an output."""
    return [*views(ctx, incomplete), *jobs(ctx, incomplete)]


def _stored(ctx: typer.Context, incomplete: str, names: Callable[[Repositories], list[str]]) -> list[str]:
    """Names in a state that is there already; none where it is not, or can not be read: a shell is told no errors."""
    from db.version import is_current  # all that follows is loaded by who completes, and by no command
    from pipeline import settings
    from pipeline.errors import OctavoError
    from workers.runtime import Runtime

    try:
        given: dict[str, Any] = {"state": ctx.params.get("state")}
        found = settings.current(given)
        if found.database_url is None and not (found.state / "octavo.db").exists():
            return []
        database = Runtime(found).unmigrated()
        try:
            if not is_current(database):
                return []
            with database.read() as rows:
                return [name for name in dict.fromkeys(names(rows)) if name.startswith(incomplete)]
        finally:
            database.close()
    except OctavoError:
        return []
