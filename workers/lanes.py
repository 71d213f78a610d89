"""Lanes: one pool of slots a model, so that a slow model starves no other."""

from __future__ import annotations

import contextvars
import queue
import threading
import time

from workers.app import app
from workers.execute import Work
from workers.tasks import Engine, engine, run_task

WINDOW_MOST = 512
QUICK_S = 0.1  # a window that lasts less than this is too small: claims would cost more than calls


class Lane:
    """The threads of one model's slots and the tasks in flight for them."""

    def __init__(self, name: str, slots: int, window: int) -> None:
        self.name = name
        self.slots = slots
        self.window = window
        self._inbox: queue.SimpleQueue[tuple[int, int] | None] = queue.SimpleQueue()
        self._held: dict[int, Work] = {}
        self._filled_at = 0.0
        self._threads: list[threading.Thread] = []

    def start(self, serve: Engine) -> None:
        """Start the threads; each runs task bodies for `serve`."""
        app.finalize()  # Celery would bind its tasks on first use, and two threads at once may see one half bound
        for number in range(self.slots):
            context = contextvars.copy_context()
            context.run(engine.set, serve)
            thread = threading.Thread(target=context.run, args=(self._serve,), name=f"octavo-{self.name}-{number}")
            thread.daemon = True
            thread.start()
            self._threads.append(thread)

    def _serve(self) -> None:
        while (item := self._inbox.get()) is not None:
            # The id is for people and logs; Celery would take a random one from the system for every task.
            run_task.apply(args=item, task_id=f"{item[0]}.{item[1]}", throw=True)

    @property
    def room(self) -> int:
        """How many more tasks may be in flight: none until half the window is free, so that claims come in batches."""
        free = self.window - len(self._held)
        return free if free * 2 >= self.window else 0

    @property
    def in_flight(self) -> int:
        """Tasks taken and not committed."""
        return len(self._held)

    def put(self, works: list[Work]) -> None:
        """Take tasks in."""
        now = time.monotonic()
        if self._filled_at and now - self._filled_at < QUICK_S and len(works) * 2 >= self.window:
            self.window = min(WINDOW_MOST, self.window * 2)
        self._filled_at = now
        for work in works:
            self._held[work.claim.id] = work
        for work in works:
            self._inbox.put((work.claim.id, work.claim.epoch))

    def get(self, task_id: int, epoch: int) -> Work | None:
        """The work of a task that is in flight under this epoch."""
        work = self._held.get(task_id)
        return work if work is not None and work.claim.epoch == epoch else None

    def ended(self, work: Work) -> None:
        """A task was committed."""
        self._held.pop(work.claim.id, None)

    def held(self) -> list[Work]:
        """The tasks in flight."""
        return list(self._held.values())

    def drain(self) -> list[Work]:
        """Take back what no thread has begun."""
        back: list[Work] = []
        while True:
            try:
                item = self._inbox.get_nowait()
            except queue.Empty:
                return back
            if item is not None and (work := self._held.pop(item[0], None)):
                back.append(work)

    def stop(self, timeout_s: float) -> None:
        """End the threads after their present task; wait for them at most so long."""
        for _ in self._threads:
            self._inbox.put(None)
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
