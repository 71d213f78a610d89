"""What the supervisor starts: a service is data, and so are its health check and its restart policy."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol


class Probe(Protocol):
    """Asks a running service whether it answers."""

    def ok(self) -> bool:
        """True when it does. Never raises, never takes longer than `health.PATIENCE_S`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Restart:
    """When a service that died is started again: exponential back-off, and an end to it."""

    first_s: float = 0.5  # the wait after the first death; doubles with each more within the window
    most_s: float = 30.0
    deaths: int = 5  # so many within the window, and it is left down
    window_s: float = 60.0

    def wait_s(self, recent_deaths: int) -> float | None:
        """Seconds until the next start after so many deaths within the window; None: leave it down."""
        if recent_deaths >= self.deaths:
            return None
        return min(self.most_s, self.first_s * 2.0 ** (recent_deaths - 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """One process to keep running, or (`once`) to run to its end before those that need it start."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str | None] = field(default_factory=dict)  # added to the supervisor's own; None takes one away
    health: Probe | None = None  # None: healthy as soon as it runs
    restart: Restart = field(default_factory=Restart)
    needs: tuple[str, ...] = ()  # names of services that must be healthy (or, if `once`, done) before it starts
    once: bool = False
    optional: bool = False  # the others start and stay even if it can not be started
    user: int | None = None  # numeric user and group to run as; only root can name another than its own
    folder: Path | None = None  # working folder; None: the supervisor's
    stops: int = 0  # at the end, services of the lowest number are stopped first, then the next
    stop_signal: signal.Signals = signal.SIGTERM
    stop_s: float = 10.0  # how long it may take to stop before it is killed
    kill_signal: signal.Signals = signal.SIGKILL
    orphan_signal: signal.Signals = signal.SIGKILL  # what the system sends when the supervisor itself was killed
    shown: str = ""  # where a person finds it: an address, a socket


class Status(StrEnum):
    """Where a service stands."""

    WAITING = "waiting"  # for what it needs
    STARTING = "starting"  # it runs, and has not answered its health check yet
    UP = "up"
    SILENT = "silent"  # it was up, runs still, and does not answer its health check now
    BACKING_OFF = "backing off"  # it died and will be started again
    DOWN = "down"  # it died too often (a `once`: failed) and is left down
    DONE = "done"  # a `once` that ended well
    STOPPED = "stopped"  # at the supervisor's wish


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Something that happened to a service, for the log."""

    service: str
    status: Status
    says: str
    pid: int | None = None
