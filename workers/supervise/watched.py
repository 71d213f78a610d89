"""A service as it stands: its child, its deaths, its health, and the only functions that change its status."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping

from workers.supervise.child import Child, how_it_ended
from workers.supervise.service import Change, Service, Status

PROBE_STARTING_S = 0.1
PROBE_UP_S = 5.0
MISSES = 3  # checks in a row unanswered before a service that was up is called silent
KILL_S = 5.0  # after `kill_signal`, before SIGKILL


class Watched:
    """A service and what became of it."""

    def __init__(self, service: Service, on_change: Callable[[Change], None]) -> None:
        self.service = service
        self.status = Status.WAITING
        self.says = ""
        self.child: Child | None = None
        self.started = False  # ever?
        self._on_change = on_change
        self._deaths: deque[float] = deque(maxlen=max(1, service.restart.deaths))
        self._next_start = self._next_probe = 0.0
        self._missed = 0
        self._stopping = False
        self._kill_at = self._end_at = float("inf")

    @property
    def due(self) -> bool:
        """Should it be started, if what it needs is there?"""
        waiting = self.status in (Status.WAITING, Status.BACKING_OFF)
        return waiting and not self._stopping and time.monotonic() >= self._next_start

    @property
    def settled(self) -> bool:
        """Is it up or done, or known not to come?"""
        return self.status in (Status.UP, Status.DONE, Status.DOWN)

    def start(self, environ: Mapping[str, str]) -> Child | None:
        """Start a process of it; None when the system refuses the program, which counts as a death."""
        self.started = True
        self._missed = 0
        try:
            self.child = Child(self.service, environ)
        except OSError as error:
            self._died(f"can not be run: {error.strerror}: {error.filename or self.service.argv[0]}")
            return None
        plain = self.service.health is None and not self.service.once
        self._become(Status.UP if plain else Status.STARTING, f"runs as process {self.child.pid}")
        return self.child

    def reap(self, forget: Callable[[Watched], None]) -> None:
        """Notice that its process has ended, and decide what follows."""
        code = None if self.child is None else self.child.exit_code()
        if code is None:
            return
        forget(self)
        self.child = None
        if self._stopping:
            self._become(Status.STOPPED, how_it_ended(code))
        elif self.service.once and code == 0:
            self._become(Status.DONE, "is done")
        elif self.service.once:
            self._become(Status.DOWN, how_it_ended(code))
        else:
            self._died(how_it_ended(code))

    def check(self) -> None:
        """Ask for its health when it is time."""
        probe = self.service.health
        if self.child is None or probe is None or time.monotonic() < self._next_probe:
            return
        answers = probe.ok()
        self._next_probe = time.monotonic() + (PROBE_STARTING_S if self.status is Status.STARTING else PROBE_UP_S)
        self._missed = 0 if answers else self._missed + 1
        if answers and self.status is not Status.UP:
            self._become(Status.UP, "is up")
        elif self.status is Status.UP and self._missed >= MISSES:
            self._become(Status.SILENT, "runs, but does not answer its health check")

    def stop(self) -> None:
        """Ask it to stop; it is not started again."""
        self._stopping = True
        if self.child is not None:
            self.child.send(self.service.stop_signal)
            self._kill_at = time.monotonic() + self.service.stop_s
            self._tell("is asked to stop")
        elif self.status in (Status.WAITING, Status.BACKING_OFF):
            self._become(Status.STOPPED, "is not started")

    def hurry(self, *, kill: bool) -> None:
        """Kill it when its time to stop is over, or at once."""
        now = time.monotonic()
        if self.child is None:
            return
        if now >= self._end_at:
            self.child.kill()
        elif self._end_at == float("inf") and (kill or now >= self._kill_at):
            self._end_at = now + KILL_S
            self._tell("is killed" if kill else f"did not stop in {self.service.stop_s:g} s and is killed")
            self.child.kill(self.service.kill_signal)

    def _died(self, how: str) -> None:
        now = time.monotonic()
        self._deaths.append(now)
        policy = self.service.restart
        recent = sum(1 for death in self._deaths if now - death < policy.window_s)
        wait_s = policy.wait_s(recent)
        if wait_s is None:
            self._become(Status.DOWN, f"{how}, {recent} times within {policy.window_s:.0f} s, and is left down")
            return
        self._next_start = now + wait_s
        self._become(Status.BACKING_OFF, f"{how}; it is started again in {wait_s:g} s")

    def _become(self, status: Status, says: str) -> None:
        self.status, self.says = status, says
        self._next_probe = 0.0 if status is Status.STARTING else time.monotonic() + PROBE_UP_S
        self._tell(says)

    def _tell(self, says: str) -> None:
        self._on_change(
            Change(service=self.service.name, status=self.status, says=says, pid=self.child.pid if self.child else None)
        )
