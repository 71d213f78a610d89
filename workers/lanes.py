"""Lanes: one pool of slots a model, so that a slow model starves no other."""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
import time
from collections import deque

from pipeline.ops.kinds import MapOp
from workers.app import app
from workers.current import Engine, here
from workers.execute import Work
from workers.planning.plan import StepPlan
from workers.tasks import run_task

WINDOW_MOST = 512
LASTS_S = 0.2  # a window that does not last so long is too small: claims would cost more than calls
STOCK_S = 0.1  # a lane whose tasks last so long, or lasted, leaves time for planning


class Lane:
    """The threads of one model's slots and the tasks in flight for them.

    A thread that takes a task wakes one other if there are more, so that as many work as calls wait, and no more: those
    awake without need would stand in the interpreter's queue before the ones that claim and commit.
    """

    def __init__(self, name: str, slots: int, window: int) -> None:
        self.name = name
        self.slots = slots
        self.window = window
        self._inbox: deque[tuple[int, int]] = deque()
        self._bell: queue.SimpleQueue[bool] = queue.SimpleQueue()  # rung once wakes one thread; False ends it
        self._rung = False
        self._held: dict[int, Work] = {}
        self._filled_at = 0.0
        self._pace_s = 0.0  # between two tasks' ends, as it was of late
        self._threads: list[threading.Thread] = []
        self._running: dict[threading.Thread, tuple[float, list[tuple[int, int]]]] = {}  # since when, and what
        self._serves: Engine | None = None

    def start(self, serve: Engine) -> None:
        """Start the threads; each runs task bodies for `serve`."""
        # Celery would bind its tasks and make its backend on first use: two threads at once may see a task half bound,
        # and each of all that begin at once would make a backend of its own.
        app.finalize()
        _ = app.backend
        self._serves = serve
        for _ in range(self.slots):
            self._open_slot()

    def _open_slot(self) -> None:
        assert self._serves is not None
        context = contextvars.copy_context()
        context.run(here.set, self._serves)
        name = f"octavo-{self.name}-{len(self._threads)}"
        thread = threading.Thread(target=context.run, args=(self._serve,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        me = threading.current_thread()
        while self._bell.get():
            # Cleared before the inbox is looked at: what is put in later rings again.
            self._rung = False
            while rung := self._next():
                self._running[me] = (time.monotonic(), rung)
                # The id is for people and logs; Celery would take a random one from the system for every task.
                run_task.apply(args=rung, task_id=f"{rung[0][0]}.{rung[0][1]}", throw=True)
                if self._running.pop(me, None) is None:
                    return  # given up while it hung: another has its place

    def _next(self) -> list[tuple[int, int]]:
        """One task, or several of a step whose op says that they are cheaper than a message (MapOp.batch)."""
        rung: list[tuple[int, int]] = []
        with contextlib.suppress(IndexError):
            rung.append(self._inbox.popleft())
            plan = self._plan_of(rung[0])
            most = plan.op.batch if plan and isinstance(plan.op, MapOp) else 1
            while len(rung) < most and self._plan_of(self._inbox[0]) is plan:
                rung.append(self._inbox.popleft())
        self._ring()
        return rung

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
        for thread, (began, rung) in list(self._running.items()):
            works = [found for item in rung if (found := self.get(*item))]
            late = now - began >= sum(held.plan.timeout_s for held in works)
            if works and late and self._running.pop(thread, None) is not None:
                hung.extend(works)
                self._threads.remove(thread)
                self._open_slot()
                self._bell.put(True)
        return hung

    def held(self) -> list[Work]:
        """The tasks in flight."""
        return list(self._held.values())

    def drain(self) -> list[Work]:
        """Take back what no thread has begun."""
        back: list[Work] = []
        while True:
            try:
                item = self._inbox.popleft()
            except IndexError:
                return back
            if work := self._held.pop(item[0], None):
                back.append(work)

    def stop(self, timeout_s: float) -> None:
        """End the threads after their present task; wait for them at most so long."""
        for _ in self._threads:
            self._bell.put(False)
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
