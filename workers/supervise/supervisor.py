"""The loop that starts services in order, watches and restarts them, and stops them in order. One thread."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from pipeline.errors import OctavoError, UsageError
from workers.supervise.orphans import BY_KERNEL, Guardian
from workers.supervise.service import Change, Service, Status
from workers.supervise.watched import Watched

TURN_S = 0.1  # how long the loop waits for output or a signal before it looks around
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StartError(OctavoError):
    """A service could not be started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """Whom the supervisor tells what. They are called in its thread and must not wait."""

    line: Callable[[str, str], None]  # service, a line of its output
    change: Callable[[Change], None]
    ready: Callable[[Mapping[str, Watched]], None]  # every service is up, once


class Supervisor:
    """Runs services until it is asked to stop."""

    def __init__(
        self,
        services: Sequence[Service],
        told: Told,
        *,
        environ: Mapping[str, str],
        start_s: float = 120.0,
        guardian: bool = not BY_KERNEL,
    ) -> None:
        """`environ` is what every child gets, `start_s` the time until all must be up.

        Raises UsageError when a service needs one that there is not.
        """
        self._watched = {service.name: Watched(service, told.change) for service in services}
        for service in services:
            missing = [name for name in service.needs if name not in self._watched]
            if missing:
                raise UsageError(f"The service {service.name} needs {missing[0]}, and there is none")
        self._told = told
        self._environ = environ
        self._start_s = start_s
        self._guardian = Guardian() if guardian else None
        self._selector = selectors.DefaultSelector()
        self._asked = 0  # times to stop
        self._ready = False

    def run(self) -> None:
        """Start everything, then watch it until SIGINT, SIGTERM or SIGHUP comes; a second one kills what is left.

        Raises StartError, everything stopped, when a service does not come up at the start.
        """
        with self._signals():
            failure: StartError | None = None
            try:
                deadline = time.monotonic() + self._start_s
                while not self._asked:
                    self._turn()
                    if not self._ready:
                        self._look_at_the_start(deadline)
            except StartError as error:
                failure = error
            finally:
                self._stop_all()
            if failure is not None:
                raise failure

    def _turn(self) -> None:
        self._read(TURN_S)
        for watched in self._watched.values():
            watched.reap(self._forget)
            watched.check()
            if watched.due and self._has_its_needs(watched):
                self._start(watched)

    def _has_its_needs(self, watched: Watched) -> bool:
        needed = [self._watched[name] for name in watched.service.needs]
        return watched.started or all(need.status in (Status.UP, Status.DONE) for need in needed)

    def _start(self, watched: Watched) -> None:
        child = watched.start(self._environ)
        if child is None:
            return
        self._selector.register(child.reader.descriptor, selectors.EVENT_READ, watched)
        if self._guardian:
            self._guardian.add(child.pid, watched.service.orphan_signal)

    def _forget(self, watched: Watched) -> None:
        """A child has ended: its last lines, and no more from its pipe."""
        assert watched.child is not None
        descriptor = watched.child.reader.descriptor
        with contextlib.suppress(KeyError):
            self._selector.unregister(descriptor)
        for line in watched.child.last_lines():
            self._told.line(watched.service.name, line)
        if self._guardian:
            self._guardian.remove(watched.child.pid)

    def _read(self, wait_s: float) -> None:
        for key, _ in self._selector.select(wait_s):
            if key.data is None:  # a signal has come
                with contextlib.suppress(BlockingIOError):
                    os.read(key.fd, 512)
                continue
            watched: Watched = key.data
            assert watched.child is not None
            for line in watched.child.reader.read():
                self._told.line(watched.service.name, line)
            if watched.child.reader.ended:
                self._selector.unregister(key.fd)

    def _look_at_the_start(self, deadline: float) -> None:
        waited_for = [watched for watched in self._watched.values() if not watched.settled]
        needed = [watched for watched in self._watched.values() if not watched.service.optional]
        down = next((watched for watched in needed if watched.status is Status.DOWN), None)
        if down is not None:
            raise StartError(f"{down.service.name} can not be started: it {down.says}", hint="its lines above say why")
        late = time.monotonic() > deadline
        missing = next((watched for watched in needed if late and watched in waited_for), None)
        if missing is not None:
            raise StartError(
                f"{missing.service.name} is still {missing.status.value} after {self._start_s:.0f} s",
                hint="its lines above say why",
            )
        if late or not waited_for:
            self._ready = True
            self._told.ready(self._watched)

    def _stop_all(self) -> None:
        """Lowest `stops` first; each group has its time, then it is killed."""
        for order in sorted({watched.service.stops for watched in self._watched.values()}):
            group = [watched for watched in self._watched.values() if watched.service.stops == order]
            for watched in group:
                watched.stop()
            while any(watched.child for watched in group):
                self._read(TURN_S)
                for watched in group:
                    watched.hurry(kill=self._asked > 1)
                    watched.reap(self._forget)
        self._selector.close()
        if self._guardian:
            self._guardian.close()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Signals set a mark and wake the loop, and do nothing else."""
        reading, writing = os.pipe()
        for end in (reading, writing):
            os.set_blocking(end, False)

        def ask(_number: int, _frame: FrameType | None) -> None:
            self._asked += 1

        before = {wanted: signal.signal(wanted, ask) for wanted in STOPPING}
        woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self._selector.register(reading, selectors.EVENT_READ, None)
        try:
            yield
        finally:
            signal.set_wakeup_fd(woken)
            for wanted, handler in before.items():
                signal.signal(wanted, handler)
            os.close(reading)
            os.close(writing)
