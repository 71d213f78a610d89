"""Views for lists and pages. Where a view stands takes a look at every file, so that is done in the background."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from db.database import Database, Repositories
from db.values import Schedule, View
from pipeline.errors import NotFoundError, OctavoError, UsageError
from pipeline.ops.values import Json
from pipeline.settings import Settings
from pipeline.spec import PipelineSpec
from workers.clock import now_ms
from workers.faces.jobs import standing
from workers.fresh import standing as standing_of
from workers.fresh.sources import DOCUMENT
from workers.fresh.standing import STATES, view_row
from workers.fresh.sweep import Swept, sweep
from workers.planning.plan import resolve
from workers.runtime import Runtime

WAIT_S = 0.12  # a page waits so long for a view to be looked at, then shows what is known
GOOD_S = 5.0  # what was seen is good for so long, or for so many times as long as the look took
GOOD_SHARE = 20
KEPT = 50
MANY = 500  # documents of a view: so many are looked at in another process
DISMISS_WAIT_S = 10.0  # what is dismissed must have been looked at
MOST_OVER = 500  # views over the documents of one page that are asked where they stand
WORST = ("fresh", "dismissed", "new", "withdrawn", "missing", "stale")


@dataclass(frozen=True, kw_only=True)
class Stood:
    """Where a view stood when it was last looked at; `trouble` instead where that could not be done."""

    stamp: tuple[Json, ...]
    at_ms: int
    took_ms: int
    row: dict[str, Json] | None
    trouble: str | None = None

    @cached_property
    def states(self) -> dict[str, str]:
        """The state of each document by its URI."""
        documents = self.row["documents"] if self.row else []
        return {row["uri"]: "dismissed" if row["dismissed"] else str(row["state"]) for row in documents}

    def is_good(self, stamp: tuple[Json, ...]) -> bool:
        """Is it still what would be seen, as far as one need ask?"""
        good_ms = max(GOOD_S * 1000, GOOD_SHARE * self.took_ms)
        return self.stamp == stamp and now_ms() - self.at_ms < good_ms


class Standings:
    """Looks at views in a thread of its own, and keeps what it saw. Safe to call from many threads.

    `ask` has a process of its own do it, of a view over many documents: in this one the pages would wait for it.
    """

    def __init__(self, runtime: Runtime, ask: Callable[[dict[str, Json]], dict[str, Json]]) -> None:
        self._runtime = runtime
        self._ask = ask
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="octavo-standing")
        self._kept: dict[int, Stood] = {}
        self._looking: dict[int, Future[None]] = {}
        self._turn = threading.Lock()

    def of(self, view: View, *, wait_s: float = WAIT_S) -> Stood | None:
        """Where a view stands, as far as that is known soon; None: it is being looked at for the first time."""
        stamp: tuple[Json, ...] = (view.refresh, view.served_job_id, view.swept_at)
        with self._turn:
            kept = self._kept.get(view.id)
            changed = kept is None or kept.stamp != stamp
            if kept is not None and kept.is_good(stamp):
                return kept
            looking = self._looking.get(view.id)
            if looking is None or looking.done():
                looking = self._looking[view.id] = self._pool.submit(self._look, view, stamp)
        until = time.monotonic() + (wait_s if changed else 0)
        while not looking.done() and time.monotonic() < until:
            threading.Event().wait(0.005)
        with self._turn:
            return self._kept.get(view.id)

    def _look(self, view: View, stamp: tuple[Json, ...]) -> None:
        began = now_ms()
        row: dict[str, Json] | None = None
        trouble: str | None = None
        try:
            with self._runtime.database.read() as rows:
                many = rows.views.selected(view.id) > MANY
            row = self._ask({"what": "stand", "view": view.name}) if many else view_row(self._runtime, view)
        except OctavoError as error:
            trouble = error.message
        found = Stood(stamp=stamp, at_ms=now_ms(), took_ms=now_ms() - began, row=row, trouble=trouble)
        with self._turn:
            self._kept.pop(view.id, None)
            self._kept[view.id] = found
            while len(self._kept) > KEPT:
                self._kept.pop(next(iter(self._kept)))

    def forget(self, view_id: int) -> None:
        """Look anew when it is asked for next."""
        with self._turn:
            self._kept.pop(view_id, None)

    def close(self) -> None:
        """End; a look that is under way is waited for."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def get_view(rows: Repositories, name: str) -> View:
    """A view by name. Raises NotFoundError."""
    found = rows.views.get(name)
    if found is None:
        raise NotFoundError(f"There is no view {name!r}", hint="octavo view add makes one")
    return found


def freshness(rows: Repositories, standings: Standings, documents: Mapping[UUID, str]) -> dict[UUID, str]:
    """The worst state of each document (by id, with its URI) in the views over it, as far as they were looked at."""
    found: dict[UUID, str] = {}
    for document, view in rows.views.over_each(list(documents), MOST_OVER) if documents else ():
        stood = standings.of(view, wait_s=0)
        state = stood.states.get(documents[document]) if stood else None
        if state and (document not in found or WORST.index(state) > WORST.index(found[document])):
            found[document] = state
    return found


def view_lines(
    rows: Repositories, found: Sequence[View], settings: Settings, stood: Sequence[Stood | None]
) -> list[dict[str, Json]]:
    """Views for a list: what they are, their refresh, and where they stand as far as that is known."""
    ids = [view.id for view in found]
    schedules: dict[int, Schedule] = {item.view_id: item for item in rows.views.schedules(ids)} if ids else {}
    return [_line(rows, view, settings, schedules.get(view.id), seen) for view, seen in zip(found, stood, strict=True)]


def _line(
    rows: Repositories, view: View, settings: Settings, schedule: Schedule | None, seen: Stood | None
) -> dict[str, Json]:
    latest = rows.views.latest(view.id)
    job = rows.jobs.get(latest) if latest and latest != view.served_job_id else None
    return {
        "name": view.name,
        "pipeline": view.pipeline,
        "selectors": [text.removeprefix(DOCUMENT) for text in view.selectors],
        "options": view.options,
        "every_s": schedule.every_s if schedule else None,
        "refresh": view.refresh,
        "served": str(view.served_job_id) if view.served_job_id else None,
        "job": str(job.id) if job else None,
        "job_state": str(job.state) if job else None,
        "because": standing(rows, job, settings).because if job else None,
        "swept_at": view.swept_at.isoformat() if view.swept_at else None,
        "trouble": (seen.row["trouble"] if seen and seen.row else seen.trouble if seen else None) or view.trouble,
        "standing": _summed(seen),
    }


def _summed(seen: Stood | None) -> dict[str, Json] | None:
    if seen is None or seen.row is None:
        return None
    row = seen.row
    names = ("state", *STATES, "holes", "lost", "dismissed", "why")
    causes = Counter(str(why) for document in row["documents"] for why in document["why"])
    counted = {"documents": len(row["documents"]), "causes": dict(causes), "as_of_ms": seen.at_ms}
    return {name: row[name] for name in names} | counted | {"attention": _attention(row)}


def _attention(row: dict[str, Json]) -> bool:
    """Is something not fresh that nobody has dismissed?"""
    away = len(row["documents"]) - int(row["fresh"])
    return row["state"] != "fresh" and (row["served"] is None or away > int(row["dismissed"]) or not away)


def add_view(
    runtime: Runtime,
    rows: Repositories,
    *,
    name: str,
    spec: PipelineSpec,
    documents: Sequence[UUID],
    options: dict[str, Json],
    every_s: int | None,
) -> View:
    """Keep a built-in pipeline fresh over documents that are in. Raises UsageError, NotFoundError, PipelineError."""
    resolve(spec, runtime.ops, runtime, str(options.get("model") or runtime.settings.model))
    for document in documents:
        if rows.documents.get(document) is None:
            raise NotFoundError(f"There is no document {document}")
    selectors = [f"{DOCUMENT}{document}" for document in dict.fromkeys(documents)]
    if not rows.views.add(name=name, pipeline=spec.name, selectors=selectors, options=options):
        raise UsageError(f"There is a view {name!r} already", hint="take another name, or remove that one")
    made = get_view(rows, name)
    rows.views.schedule(made.id, every_s, now_ms())
    return made


def dismiss(database: Database, standings: Standings, name: str, *, note: str, by: str, uris: Sequence[str]) -> bool:
    """Dismiss the staleness of documents of a view as it was last looked at; False: it was not yet.

    Raises NotFoundError.
    """
    with database.read() as rows:
        found = get_view(rows, name)
    stood = standings.of(found, wait_s=DISMISS_WAIT_S)
    if stood is None or stood.row is None:
        return False
    with database.write() as rows:
        standing_of.dismiss(rows, found, stood.row["documents"], note=note, by=by, uris=uris)
    standings.forget(found.id)
    return True


def stands(runtime: Runtime, name: str) -> dict[str, Json]:
    """Where a view stands, by a look at each of its files (docs/outputs.md, `ViewRow`). Raises NotFoundError."""
    with runtime.database.read() as rows:
        view = get_view(rows, name)
    return view_row(runtime, view)


def swept(runtime: Runtime, name: str) -> dict[str, Json]:
    """Sweep a view: what was found, and the job that renews it. Raises NotFoundError."""
    with runtime.database.read() as rows:
        view = get_view(rows, name)
    return swept_row(sweep(runtime, view))


def swept_row(found: Swept) -> dict[str, Json]:
    """What a sweep found, for programs."""
    comparison = found.comparison
    return {
        "view": found.view,
        "fresh": found.fresh,
        "documents": found.documents,
        "changed": found.changed,
        "missing": len(comparison.missing) if comparison else 0,
        "withdrawn": len(comparison.withdrawn) if comparison else 0,
        "stale": comparison.causes() if comparison else {},
        "lost": comparison.nodes if comparison else 0,
        "troubles": list(found.troubles),
        "job": str(found.job.id) if found.job else None,
    }
