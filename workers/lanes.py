"""Lanes: one pool of slots a model, so that a slow model starves no other."""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
import time
from collections import deque

from pipeline.ops.kinds import MapOp
from workers import wire
from workers.app import app
from workers.current import Engine, here
from workers.execute import Work
from workers.planning.plan import StepPlan
from workers.tasks import run_task
from workers.wire import Wire

WINDOW_MOST = 512
LASTS_S = 0.2  # a window that does not last so long is too small: claims would cost more than calls
STOCK_S = 0.1  # a lane whose tasks last so long, or lasted, leaves time for planning
RUNG_S = 0.05  # tasks that last less than half of it are rung for several at once
RUNG_MOST = 32
LATEST = 0.2  # the weight of the latest duration in the mean of a step's


class _Slot:
    """One thread's place in a lane: the task it is at, since when, and those it was rung for and has not begun."""

    __slots__ = ("began", "given_up", "item", "rest")

    def __init__(self) -> None:
        self.item: tuple[int, int] | None = None
        self.began = 0.0
        self.rest: deque[tuple[int, int]] = deque()
        self.given_up = False


class Lane:
    """The threads of one model's slots and the tasks in flight for them.

    A thread that takes a task wakes one other if there are more, so that as many work as calls wait, and no more: those
    awake without need would stand in the interpreter's queue before the ones that claim and commit. Where calls wait
    for a server there are some threads beside the slots (workers.wire).
    """

    def __init__(self, name: str, slots: int, window: int, *, on_wire: bool = False) -> None:
        self.name = name
        self.most_threads = slots + wire.ahead(slots) if on_wire else slots
        self._wire = Wire(threading.BoundedSemaphore(slots), self._begun) if on_wire else None
        self.window = window
        self._inbox: deque[tuple[int, int]] = deque()
        self._bell: queue.SimpleQueue[bool] = queue.SimpleQueue()  # rung once wakes one thread; False ends it
        self._rung = False
        self._held: dict[int, Work] = {}
        self._filled_at = 0.0
        self._pace_s = 0.0  # between two tasks' ends, as it was of late
        self._threads: list[threading.Thread] = []
        self._growing = threading.Lock()
        self._slots: dict[threading.Thread, _Slot] = {}
        self._lasts_s: dict[int, float] = {}  # the mean of late of a task of each step, by its position
        self._serves: Engine | None = None

    def start(self, serve: Engine) -> None:
        """Serve from now on: threads are opened as tasks come; each runs task bodies for `serve`."""
        # Celery would bind its tasks and make its backend on first use: two threads at once may see a task half bound,
        # and each of all that begin at once would make a backend of its own.
        app.finalize()
        _ = app.backend
        self._serves = serve
        self._grow()

    def _grow(self) -> None:
        """Open one slot more if tasks wait and not all are open: the first call does not wait for the last thread."""
        with self._growing:
            if self._serves is not None and self._inbox and len(self._threads) < self.most_threads:
                self._open_slot()

    def _open_slot(self) -> None:
        assert self._serves is not None
        context = contextvars.copy_context()
        context.run(here.set, self._serves)
        context.run(wire.here.set, self._wire)
        name = f"octavo-{self.name}-{len(self._threads)}"
        thread = threading.Thread(target=context.run, args=(self._serve,), name=name, daemon=True)
        self._threads.append(thread)
        self._slots[thread] = _Slot()
        thread.start()

    def _serve(self) -> None:
        slot = self._slots[threading.current_thread()]
        while self._bell.get():
            # Cleared before the inbox is looked at: what is put in later rings again.
            self._rung = False
            while rung := self._next(slot):
                plan, began = self._plan_of(rung[0]), time.monotonic()
                # The id is for people and logs; Celery would take a random one from the system for every task.
                run_task.apply(args=rung, task_id=f"{rung[0][0]}.{rung[0][1]}", throw=True)
                if slot.given_up:
                    return  # another has its place
                slot.item = None
                if plan is not None:
                    self._learn(plan, (time.monotonic() - began) / len(rung))

    def _learn(self, plan: StepPlan, lasted_s: float) -> None:
        before = self._lasts_s.get(plan.position, lasted_s)
        self._lasts_s[plan.position] = before + (lasted_s - before) * LATEST

    def _next(self, slot: _Slot) -> list[tuple[int, int]]:
        """One task, or several of a step: of an op that says so (MapOp.batch), or of one whose tasks are found short.

        Celery's own work for a task is that of a short call: it is done once for several.
        """
        with contextlib.suppress(IndexError):
            slot.rest.append(self._inbox.popleft())
            plan = self._plan_of(slot.rest[0])
            most = self._most(plan) if plan else 1
            while len(slot.rest) < most and self._plan_of(self._inbox[0]) is plan:
                slot.rest.append(self._inbox.popleft())
        self._ring()
        if len(self._threads) < self.most_threads:
            self._grow()
        return list(slot.rest)

    def _most(self, plan: StepPlan) -> int:
        declared = plan.op.batch if isinstance(plan.op, MapOp) else 1
        lasts_s = self._lasts_s.get(plan.position)
        if lasts_s is None:
            return declared
        # Each slot's share of what is there, so that none stands idle while another has several.
        found = min(int(RUNG_S / max(lasts_s, 1e-6)), RUNG_MOST, len(self._inbox) // (self.most_threads or 1))
        return max(declared, found)

    def begin(self, task_id: int, epoch: int) -> Work | None:
        """The work of a task that this thread was rung for; None when it was taken back or given up meanwhile."""
        slot = self._slots.get(threading.current_thread())
        if slot is None or slot.given_up:
            return None
        with contextlib.suppress(ValueError):
            slot.rest.remove((task_id, epoch))
            slot.item, slot.began = (task_id, epoch), time.monotonic()
            return self.get(task_id, epoch)
        return None

    def _begun(self) -> None:
        """This thread's call has its turn on the wire: its deadline counts from now."""
        slot = self._slots.get(threading.current_thread())
        if slot is not None:
            slot.began = time.monotonic()

    def _plan_of(self, item: tuple[int, int]) -> StepPlan | None:
        work = self._held.get(item[0])
        return work.plan if work is not None else None

    def _ring(self) -> None:
        # Two threads may both find it silent and ring twice: one wakes for nothing.
        if self._inbox and not self._rung:
            self._rung = True
            self._bell.put(True)

    @property
    def room(self) -> int:
        """How many more tasks may be in flight: none until a quarter of the window is free: claims make batches."""
        free = self.window - len(self._held)
        return free if free * 4 >= self.window else 0

    @property
    def stocked(self) -> bool:
        """Have its slots work for a while? Then there is time to plan more."""
        return bool(self._inbox) and time.monotonic() - self._filled_at + len(self._inbox) * self._pace_s > STOCK_S

    @property
    def in_flight(self) -> int:
        """Tasks taken and not committed."""
        return len(self._held)

    def put(self, works: list[Work]) -> None:
        """Take tasks in."""
        now = time.monotonic()
        if self._filled_at:
            self._pace_s = (now - self._filled_at) / len(works)
            if self.window * self._pace_s < LASTS_S:
                self.window = min(WINDOW_MOST, self.window * 2)
        self._filled_at = now
        for work in works:
            self._held[work.claim.id] = work
        self._inbox.extend((work.claim.id, work.claim.epoch) for work in works)
        self._ring()
        if not self._threads:
            self._grow()

    def get(self, task_id: int, epoch: int) -> Work | None:
        """The work of a task that is in flight under this epoch."""
        work = self._held.get(task_id)
        return work if work is not None and work.claim.epoch == epoch else None

    def ended(self, work: Work) -> None:
        """A task was committed. One that is held under a newer epoch stays."""
        if self.get(work.claim.id, work.claim.epoch):
            self._held.pop(work.claim.id, None)

    def give_up_hung(self) -> list[Work]:
        """Open another slot in place of each that is in a call past its deadline; gives what those were at."""
        now = time.monotonic()
        hung: list[Work] = []
        for thread, slot in list(self._slots.items()):
            work = self.get(*slot.item) if slot.item else None
            if work is not None and now - slot.began >= work.plan.timeout_s:
                slot.given_up = True
                hung.append(work)
                self._inbox.extend(_emptied(slot.rest))
                with self._growing:
                    del self._slots[thread]
                    self._threads.remove(thread)
                    self._open_slot()
                self._bell.put(True)
        return hung

    def held(self) -> list[Work]:
        """The tasks in flight."""
        return list(self._held.values())

    def drain(self) -> list[Work]:
        """Take back what no thread has begun."""
        items = _emptied(self._inbox)
        for slot in list(self._slots.values()):
            items += _emptied(slot.rest)
        return [work for task_id, _ in items if (work := self._held.pop(task_id, None))]

    def stop(self, timeout_s: float) -> None:
        """End the threads after their present task; wait for them at most so long."""
        with self._growing:
            self._serves = None  # opens no more
        for _ in self._threads:
            self._bell.put(False)
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _emptied(items: deque[tuple[int, int]]) -> list[tuple[int, int]]:
    """What was in it. Its owner may take from it at the same time: each item goes to one of the two."""
    found: list[tuple[int, int]] = []
    with contextlib.suppress(IndexError):
        while True:
            found.append(items.popleft())
    return found
