"""The watchdog of a worker: ends a process that serves no more, so that its supervisor starts a fresh one.

After a broker's restart a Celery consumer could be connected and yet get nothing (celery/celery issue 8030; mended in
kombu 5.4, and watched for here), and a thread of the engine can end of a fault. Neither shows in the process table.
Whatever the process held goes back when its leases run out, so an end that is not clean loses nothing.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

import redis

log = logging.getLogger(__name__)

LOOK_S = 1.0
HUNG_LOOKS = 15  # so many looks in a row: a process that slept does not take its sleep for a hang
EXIT_CODE = 70  # EX_SOFTWARE of sysexits.h


class Watchdog:
    """A thread that looks once a second.

    `waiting` gives how many messages wait in the queues of this worker; `taken` a number that grows with every message
    it takes; `free` whether it has a slot free; `fault` what is broken in the engine, if anything.
    """

    def __init__(
        self,
        *,
        waiting: Callable[[], int],
        taken: Callable[[], int],
        free: Callable[[], bool],
        fault: Callable[[], str | None],
        end: Callable[[int], None] = os._exit,
    ) -> None:
        self._waiting = waiting
        self._taken = taken
        self._free = free
        self._fault = fault
        self._end = end
        self._hung = 0
        self._last = -1
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="octavo-watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._ending.set()

    def _serve(self) -> None:
        while not self._ending.wait(LOOK_S):
            reason = self.look()
            if reason is not None:
                log.critical("this worker serves no more and ends: %s", reason)
                self._end(EXIT_CODE)

    def look(self) -> str | None:
        """Why the process should end, if it should."""
        fault = self._fault()
        if fault is not None:
            return fault
        taken = self._taken()
        try:
            hangs = taken == self._last and self._free() and self._waiting() > 0
        except redis.RedisError:
            hangs = False  # a broker that is away is waited for
        self._last = taken
        self._hung = self._hung + 1 if hangs else 0
        if self._hung >= HUNG_LOOKS:
            return f"messages wait, slots are free, and for {HUNG_LOOKS} looks none was taken"
        return None
