"""The hub: looks at the jobs that somebody watches, once a second for all who do, and tells them what has changed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from db.database import Repositories
from db.listed import Event
from db.repositories.task_lists import CELLS
from pipeline import canonical
from pipeline.errors import OctavoError
from pipeline.ops.values import Json
from pipeline.states import JOB_ENDED
from workers.clock import now_ms
from workers.faces.hands import Hands
from workers.faces.jobs import job_row, standing
from workers.runtime import Runtime

log = logging.getLogger(__name__)

LOOK_S: Final = 1.0
COST_SHARE: Final = 2  # a look that took long is followed by so many times its time of rest: a third of a core at most
RUNS_MOST: Final = 400  # changes of a map in one event; more, and viewers load it anew
NOTES_MOST: Final = 50  # told at one look
Told = Callable[[Event], None]

_SHOWN = (
    "state", "because", "tasks", "done", "hits", "running", "retrying", "holes", "waived", "calls", "retries",
    "tokens", "cost_micros",
)  # fmt: skip
_STEP = ("step", "position", "level", "state", "tasks", "done", "hits", "running", "retrying", "holes", "calls")


@dataclass(slots=True)
class _Watched:
    tell: list[Told] = field(default_factory=list)
    maps: dict[str, bytearray] = field(default_factory=dict)
    said: bytes = b""
    told: int | None = None  # the number up to which notes were told


class Hub:
    """Viewers subscribe to a job; each event is stored, numbered, then told."""

    def __init__(self, runtime: Runtime, hands: Hands) -> None:
        self._runtime = runtime
        self._hands = hands
        self._watched: dict[UUID, _Watched] = {}
        self._turn = threading.Lock()
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._soon = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="octavo-hub", daemon=True)
        hands.noted = self._soon.set

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._ending.set()
        self._soon.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def watch(self, job_id: UUID, tell: Told) -> None:
        """Tell a viewer of every event of a job from now on."""
        with self._turn:
            self._watched.setdefault(job_id, _Watched()).tell.append(tell)
        self._wake.set()

    def leave(self, job_id: UUID, tell: Told) -> None:
        """A viewer is gone."""
        with self._turn:
            watched = self._watched.get(job_id)
            if watched is not None and tell in watched.tell:
                watched.tell.remove(tell)
                if not watched.tell:
                    del self._watched[job_id]

    def viewers(self) -> int:
        """How many watch."""
        with self._turn:
            return sum(len(watched.tell) for watched in self._watched.values())

    def _serve(self) -> None:
        while not self._ending.is_set():
            began = time.monotonic()
            with self._turn:
                jobs = list(self._watched.items())
            for job_id, watched in jobs:
                try:
                    self._look(job_id, watched)
                except OctavoError as error:
                    log.warning("a watched job can not be looked at: %s", error.message, extra={"job": str(job_id)})
            took = time.monotonic() - began
            self._soon.wait(max(LOOK_S, COST_SHARE * took))
            self._soon.clear()
            if not jobs:
                self._wake.wait()
            self._wake.clear()

    def _look(self, job_id: UUID, watched: _Watched) -> None:
        with self._runtime.database.read() as rows:
            data = self.delta(rows, job_id, watched)
            last = rows.web.last_event(job_id)
            stood = rows.web.last_event(job_id, notes=False)
            notes = self._notes(rows, job_id, watched, last)
        if data is None:
            return
        for note in notes:
            self._tell(watched, note)
        said = canonical.dumps({name: value for name, value in data.items() if name != "map"})
        if said == watched.said and not data["map"]:
            return
        watched.said = said
        kind = "end" if data["state"] in JOB_ENDED else "progress"
        if kind == "end" and stood is not None and stood.kind == "end" and stood.data == canonical.dumps(data):
            event = stood
        else:
            event = Event(
                job_id=job_id,
                sequence=last.sequence + 1 if last else 1,
                at_ms=now_ms(),
                kind=kind,
                data=canonical.dumps(data),
            )
            with self._runtime.database.write() as rows:
                stored = rows.web.add_event(event)
            if not stored:
                return  # another process was first: the next look tells what it said
            watched.told = event.sequence
        self._tell(watched, event)

    @staticmethod
    def _tell(watched: _Watched, event: Event) -> None:
        for tell in list(watched.tell):
            tell(event)

    @staticmethod
    def _notes(rows: Repositories, job_id: UUID, watched: _Watched, last: Event | None) -> list[Event]:
        """What happened since the last look, whoever noted it."""
        since, watched.told = watched.told, last.sequence if last else 0
        if since is None or since == watched.told:
            return []
        return rows.web.events(job_id, after=since, limit=NOTES_MOST, notes=True)

    def delta(self, rows: Repositories, job_id: UUID, watched: _Watched) -> dict[str, Json] | None:
        """Where a job stands, and which cells of its maps changed since the last look."""
        job = rows.jobs.get(job_id)
        if job is None:
            return None
        now = standing(rows, job, self._runtime.settings)
        row = job_row(rows, now)
        data: dict[str, Json] = {name: row[name] for name in _SHOWN}
        data["because"] = self._hands.note(job_id) or data["because"]
        data["steps"] = [{name: step[name] for name in _STEP} for step in row["steps"]]
        data["map"] = {}
        for item in now.progress.steps:
            if item.step.level == 0:
                changed = _changed(rows, watched, item.step.id, item.step.name, item.step.total or 0)
                if changed:
                    data["map"][item.step.name] = changed
        return data


def _changed(rows: Repositories, watched: _Watched, step_id: int, name: str, total: int) -> Json:
    """Runs of changed cells as [first, cells, code]; "reload" when they are many, or nothing is known of before."""
    total = max(total, rows.task_lists.last_ordinal(step_id) + 1)
    now = bytearray(min(total, CELLS))
    for first, count, code in rows.task_lists.states_of(step_id, total):
        now[first : first + count] = bytes([code]) * count
    before = watched.maps.get(name)
    watched.maps[name] = now
    if before is None or len(before) > len(now):
        return "reload"
    runs = _runs(bytes(before).ljust(len(now), b"\0"), bytes(now))
    return "reload" if len(runs) > RUNS_MOST else runs


def _runs(before: bytes, now: bytes) -> list[list[int]]:
    runs: list[list[int]] = []
    for block in range(0, len(now), 256):
        if before[block : block + 256] == now[block : block + 256]:
            continue
        for at in range(block, min(block + 256, len(now))):
            if before[at] == now[at]:
                continue
            if runs and runs[-1][0] + runs[-1][1] == at and runs[-1][2] == now[at]:
                runs[-1][1] += 1
            else:
                runs.append([at, 1, now[at]])
    return runs
