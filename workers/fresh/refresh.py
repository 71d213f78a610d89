"""Sweeps that nobody waits for: by schedule, in any worker and in `octavo watch`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from db.values import View
from pipeline.errors import OctavoError
from pipeline.states import JobState
from workers.clock import now_ms
from workers.embedded import EmbeddedRunner
from workers.fresh.sweep import Swept, sweep
from workers.runtime import Runtime

log = logging.getLogger(__name__)

Told = Callable[[Swept], None]


def refresh(runtime: Runtime, view: View, runner: Callable[[EmbeddedRunner], None] = lambda _: None) -> Swept:
    """Sweep a view and, in embedded mode, work on its refresh to the end; workers find a refresh by themselves.

    `runner` is told of the runner before it begins, so that it can be stopped.
    """
    found = sweep(runtime, view)
    if found.job is not None and found.job.state is JobState.RUNNING and not runtime.settings.distributed:
        made = EmbeddedRunner(runtime, found.job.id)
        runner(made)
        made.work()
    return found


class Schedules:
    """Sweeps what is due, one after the other, in a thread of its own: a large ingest holds nothing up.

    Any number of processes may have one: a schedule is moved on by compare-and-set, and who moved it does the work.
    """

    def __init__(self, runtime: Runtime, told: Told = lambda _: None) -> None:
        self._runtime = runtime
        self._told = told
        self._thread: threading.Thread | None = None

    def tick(self) -> None:
        """Begin what is due, if nothing of this process is at it. Cheap when nothing is."""
        if self._thread is not None and self._thread.is_alive():
            return
        now = now_ms()
        with self._runtime.database.read() as rows:
            due = [item for item in rows.views.schedules() if item.next_ms <= now]
        if not due:
            return
        with self._runtime.database.write() as rows:
            taken = {item.view_id for item in rows.views.take(due, now)}
            views = [view for view in rows.views.all() if view.id in taken]
        if views:
            self._thread = threading.Thread(target=self._sweep, args=(views,), name="octavo-sweep", daemon=True)
            self._thread.start()

    def _sweep(self, views: list[View]) -> None:
        for view in views:
            try:
                found = refresh(self._runtime, view)
            except OctavoError as error:
                log.warning("view %s not swept: %s (%s)", view.name, error.message, error.cause)
                continue
            for trouble in found.troubles:
                log.warning("view %s: %s", view.name, trouble)
            self._told(found)

    def close(self) -> None:
        """Wait for what is under way."""
        if self._thread is not None:
            self._thread.join()
