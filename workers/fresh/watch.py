"""Watch the folders of views, and sweep a view when what it is over has changed and come to rest."""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from db.values import View
from pipeline.errors import UsageError
from workers.embedded import EmbeddedRunner
from workers.fresh.refresh import Schedules, refresh
from workers.fresh.sources import DOCUMENT
from workers.fresh.sweep import Swept
from workers.runtime import Runtime

TICK_MS = 500  # between two looks for schedules that are due, and for a wish to stop


def base_of(selector: str) -> Path | None:
    """The folder to watch for what a selector names; None for a document named by itself."""
    if selector.startswith(DOCUMENT):
        return None
    path = Path(selector)
    if selector.endswith(os.sep):
        return path
    path = path.parent
    while glob.has_magic(str(path)):
        path = path.parent
    return path


def touches(selector: str, changed: Path) -> bool:
    """May a change at this path be one of what the selector names?"""
    base = base_of(selector)
    if base is None:
        return False
    if not selector.endswith(os.sep) and not glob.has_magic(selector):
        return changed == Path(selector)
    return changed.is_relative_to(base)


def over(views: Sequence[View], folders: Sequence[Path]) -> list[View]:
    """The views that are over something in the folders. Raises UsageError when a folder has none."""
    chosen: dict[str, View] = {}
    for folder in folders:
        found = [
            view
            for view in views
            for base in map(base_of, view.selectors)
            if base is not None and (base.is_relative_to(folder) or folder.is_relative_to(base))
        ]
        if not found:
            raise UsageError(
                f"No view is over anything in {folder}", hint=f"octavo view add NAME --documents {folder} makes one"
            )
        chosen |= {view.name: view for view in found}
    return list(chosen.values()) if folders else list(views)


class Watcher:
    """Sweeps views when their files change, and when their schedules are due, until it is stopped."""

    def __init__(self, runtime: Runtime, views: Sequence[View], told: Callable[[Swept], None], rest_s: float) -> None:
        self._runtime = runtime
        self._views = views
        self._told = told
        self._rest_ms = int(rest_s * 1000)
        self._stop = threading.Event()
        self._runner: EmbeddedRunner | None = None
        self._schedules = Schedules(runtime, told)

    def stop(self) -> None:
        """End soon; what runs is finished and committed."""
        self._stop.set()
        if self._runner is not None:
            self._runner.stop()

    def run(self) -> None:
        """Sweep all views once, then each when something it is over changed and nothing more for `rest_s` seconds."""
        from watchfiles import watch

        folders = {base for view in self._views for base in map(base_of, view.selectors) if base and base.is_dir()}
        if not folders:
            raise UsageError("There is no folder to watch", hint="octavo view add NAME --documents FOLDER makes a view")
        changes = watch(
            *folders,
            watch_filter=lambda _kind, path: self._concerned([path]) != [],
            debounce=max(self._rest_ms * 8, 1),
            step=max(self._rest_ms, 1),
            stop_event=self._stop,
            rust_timeout=TICK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
        )
        listening = False
        for found in changes:
            # The first sweep comes when it listens, so that what changes meanwhile is not missed.
            self._sweep(self._concerned(path for _, path in found) if listening else self._views)
            listening = True
            self._schedules.tick()
        self._schedules.close()

    def _concerned(self, paths: Iterable[str]) -> list[View]:
        changed = [Path(path) for path in paths]
        return [view for view in self._views if any(touches(text, path) for text in view.selectors for path in changed)]

    def _sweep(self, views: Sequence[View]) -> None:
        for view in views:
            with self._runtime.database.read() as rows:
                now = rows.views.get(view.name)
            if now is None or self._stop.is_set():
                continue
            self._told(refresh(self._runtime, now, self._begun))
        self._runner = None

    def _begun(self, runner: EmbeddedRunner) -> None:
        self._runner = runner
        if self._stop.is_set():
            runner.stop()
