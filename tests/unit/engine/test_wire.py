"""A slot is a call under way: threads beside the slots wait for one, and what they waited is no part of a latency."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from workers import wire
from workers.governor.port import Reason, Wait
from workers.wire import NotNowError, Wire


def in_thread(task: Callable[[], None]) -> threading.Thread:
    """Run in a thread with this one's context."""
    thread = threading.Thread(target=contextvars.copy_context().run, args=(task,))
    thread.start()
    return thread


class Slots(threading.BoundedSemaphore):
    """A semaphore that says how many wait for it."""

    waiting = 0

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        self.waiting += blocking
        taken = super().acquire(blocking, timeout)
        self.waiting -= blocking
        return taken


def until(there: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + 10
    while not there():
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)


@pytest.fixture
def slots() -> Slots:
    """One slot."""
    return Slots(1)


@pytest.fixture
def begun() -> list[str]:
    """The threads that were told that their turn has come."""
    return []


@pytest.fixture
def one(slots: Slots, begun: list[str]) -> Iterator[None]:
    """This thread's calls take that slot."""
    wire.here.set(Wire(slots, lambda: begun.append(threading.current_thread().name)))
    yield
    wire.leave()
    wire.here.set(None)


@pytest.mark.usefixtures("one")
def test_a_call_waits_for_the_slot_and_is_told_when_it_has_it(slots: Slots, begun: list[str]) -> None:
    waited: list[int] = []

    def call() -> None:
        wire.enter()
        waited.append(wire.waited_ms())
        wire.leave()

    earlier = wire.waited_ms()  # of whatever ran in this thread before
    wire.enter()
    thread = in_thread(call)
    until(lambda: slots.waiting == 1)
    began = time.monotonic()
    until(lambda: time.monotonic() - began > 0.002)
    assert waited == []
    wire.leave()
    thread.join(10)
    assert begun == [thread.name]
    assert waited[0] > 0
    assert wire.waited_ms() == earlier  # this thread had its slot at once


@pytest.mark.usefixtures("one")
def test_who_has_a_slot_keeps_it_and_gives_it_back_once() -> None:
    wire.enter()
    wire.enter()
    wire.leave()
    wire.leave()  # a semaphore that is given back too often raises
    wire.enter()
    wire.leave()


@pytest.mark.usefixtures("one")
def test_who_waited_for_its_slot_asks_whether_it_may_still_call_and_gives_it_back_if_not(slots: Slots) -> None:
    """Its permit is older than its slot: meanwhile the provider may have asked for silence."""
    said: list[str] = []
    asked = threading.Event()

    def call() -> None:
        wire.on_turn(lambda: Wait(ms=3_000, reason=Reason.COOL_DOWN))
        asked.set()
        try:
            wire.enter()
        except NotNowError as refused:
            said.append(f"{refused.wait.reason} {refused.wait.ms}")

    wire.enter()
    thread = in_thread(call)
    assert asked.wait(10)
    until(lambda: slots.waiting == 1)
    wire.leave()
    thread.join()
    assert said == ["cool_down 3000"]
    wire.enter()  # the slot is free
    wire.leave()


def test_a_call_of_nobodys_slots_waits_for_none() -> None:
    wire.here.set(None)
    for _ in range(3):
        wire.enter()
    wire.leave()


@pytest.mark.parametrize(("slots", "beside"), [(1, 1), (4, 1), (32, 8)])
def test_a_quarter_of_the_slots_work_beside_them(slots: int, beside: int) -> None:
    assert wire.ahead(slots) == beside
