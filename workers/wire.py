"""The wire: a slot's call is what is under way to a server. What is done before and after it holds no slot.

A slot that built its request, read its answer and took its next task would leave the server idle meanwhile: with calls
of 200 ms a twelfth of the time. So a few threads more than there are slots work, and only slots of them call.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar

from workers.governor.port import Wait

PATIENT_S = 0.001  # a thread that keeps the interpreter longer than that makes others wait who have a slot


class NotNowError(Exception):
    """The call has its slot, and the provider is to be let alone by now: nothing was sent."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(wait.reason)
        self.wait = wait


class Wire:
    """Slots for calls. `begun` is told, in the thread that waited for one, that it has it."""

    def __init__(self, slots: threading.Semaphore, begun: Callable[[], None]) -> None:
        self._slots = slots
        self._begun = begun

    def take(self) -> bool:
        """Take a slot, when there is one; says whether it had to be waited for."""
        if self._slots.acquire(blocking=False):
            return False
        began = time.monotonic()
        self._slots.acquire()
        _mine.waited_s += time.monotonic() - began
        self._begun()
        return True

    def give_back(self) -> None:
        """Give the slot back."""
        self._slots.release()
        if sys.getswitchinterval() > PATIENT_S:
            time.sleep(0)  # lets go of the interpreter: who has the slot now is to send before this thread reads on


class _Mine(threading.local):
    taken: Wire | None = None
    waited_s: float = 0.0
    turn: Callable[[], Wait | None] | None = None


_mine = _Mine()

# Whose slots the calls of this thread take; without one (a question from the command line) they take none.
here: ContextVar[Wire | None] = ContextVar("octavo_wire", default=None)


def ahead(slots: int) -> int:
    """Threads beside so many slots, to count inputs and read answers: a quarter, since each that waits holds a task."""
    return max(1, slots // 4)


def enter() -> None:
    """A request is about to be sent; one that has a slot keeps it. Raises NotNowError, as `on_turn` says."""
    wire = here.get()
    if wire is None or _mine.taken is not None:
        return
    waited, _mine.taken = wire.take(), wire
    turn, _mine.turn = _mine.turn, None
    wait = turn() if waited and turn is not None else None
    if wait is not None:
        leave()
        raise NotNowError(wait)


def on_turn(turn: Callable[[], Wait | None] | None) -> None:
    """What is asked once, when the next call of this thread had to wait for its slot: must it wait longer?

    It has its permit since before it waited, and others may have been told to be silent since.
    """
    _mine.turn = turn


def leave() -> None:
    """Its answer is here, or will not come. May be said again."""
    wire, _mine.taken = _mine.taken, None
    if wire is not None:
        wire.give_back()


def waited_ms() -> int:
    """How long this thread has waited for slots in all: no part of a call's latency."""
    return int(_mine.waited_s * 1000)
