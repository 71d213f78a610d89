"""Progress of a run: bars on a terminal, plain lines elsewhere, both on stderr."""

from __future__ import annotations

import re
import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from octavo.cli.console import err, safe
from pipeline.states import StepState
from workers.embedded import Beat
from workers.progress import JobProgress, StepProgress

PLAIN_EVERY_S = 5.0


class Watch:
    """Shows beats of a runner. `quiet` shows nothing."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = err().is_terminal and not quiet
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} {task.fields[note]}"),
            console=err(),
            transient=True,
        )
        self._rows: dict[int, TaskID] = {}
        self._began = time.monotonic()
        self._told = self._began
        self._first: dict[int, int] = {}
        self._done = 0
        self._lacks: str | None = None
        self._lacked = 0.0  # since when; workers take a moment to load a job's ops

    def __enter__(self) -> Self:
        if self._terminal:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            self._bars.stop()

    def beat(self, beat: Beat) -> None:
        """Show where the job stands. What it waits for is said even where nothing else is: no more would come."""
        failed = beat.progress.waits_because() if beat.progress.failed else None
        done = beat.progress.total("done")
        # A try of what waits is no move: only what is done ends the waiting.
        if beat.progress.lacks or failed or done != self._done:
            self._tell(beat.progress.lacks or failed)
        self._done = done
        if self._quiet:
            return
        if self._terminal:
            self._draw(beat.progress)
        elif time.monotonic() - self._told >= PLAIN_EVERY_S:
            self._told = time.monotonic()
            for step in beat.progress.steps:
                if step.step.state is not StepState.COMPLETE:
                    err().print(f"{_name(step)}: {step.done}/{step.tasks} {self._note(step)}")

    def _tell(self, lacks: str | None) -> None:
        now = time.monotonic()
        lacks = re.sub(r"^\d+ ", "", lacks) if lacks else None  # how many wait changes, and is shown already
        if lacks != self._lacks:
            self._lacks, self._lacked = lacks, now
        elif lacks and self._lacked and now - self._lacked > PLAIN_EVERY_S:
            self._lacked = 0.0  # said once
            err().print(safe(f"waiting: {lacks}"))

    def _draw(self, progress: JobProgress) -> None:
        for step in progress.steps:
            if not step.tasks:
                continue
            if step.step.id not in self._rows:
                self._rows[step.step.id] = self._bars.add_task(_name(step), total=step.tasks, note="")
            row = self._rows[step.step.id]
            self._bars.update(row, completed=step.done, total=step.tasks, note=self._note(step))

    def _note(self, step: StepProgress) -> str:
        first = self._first.setdefault(step.step.id, step.done)
        seconds = time.monotonic() - self._began
        rate = (step.done - first) / seconds if seconds > 0 else 0.0
        parts = [f"{rate:.0f}/s", f"{step.hits} hits"]
        if step.holes:
            parts.append(f"{step.holes} failed")
        if step.retrying:
            parts.append(f"{step.retrying} retrying")
        if rate and step.done < step.tasks:
            parts.append(f"{_clock((step.tasks - step.done) / rate)} left")
        return ", ".join(parts)


def _name(step: StepProgress) -> str:
    return step.step.name if step.step.level <= 1 else f"{step.step.name} level {step.step.level}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
