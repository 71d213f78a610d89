"""The dispatcher: rings for ready tasks, a bounded window for each job, fair between jobs (DESIGN §6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from db.database import Database, Repositories
from db.repositories.dispatches import Bell
from db.values import Step
from pipeline.ops.kinds import MapOp
from pipeline.states import StepState
from workers import caps, failpoints
from workers.clock import now_ms
from workers.load import Loader
from workers.planning.context import JobContext
from workers.planning.plan import StepPlan

LEAST_WINDOW = 4  # so that a job of few slots among many still keeps a worker busy
QUICK_S, SLOW_S = 0.5, 3.0  # between two top-ups: the window is too small, or larger than it need be
MOST_SCALE = 32
MOST_BATCHED = 4096  # tasks in flight of an op that takes several in a message: a second's work, and not much memory
QUICK_SCALE = (
    4  # a window that is opened so far is one of tasks that end within some 20 ms: each message rings for more
)
MOST_TOGETHER = 8
MOST_IN_MESSAGE = 15  # (id, number) pairs: a message stays under 1 KB


@dataclass(frozen=True, slots=True)
class Ring:
    """Bells of one job, to be sent after the commit."""

    context: JobContext
    steps: Mapping[int, Step]
    bells: Sequence[Bell]
    together: int = 1  # tasks of a map in one message, though its op does not ask for it: they end so soon


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a running job stands."""

    priority: int
    steps: Sequence[Step]
    ready: bool  # a task of it could be rung for
    idle: bool  # none of a step that is planned whole: it may be complete


@dataclass(frozen=True, slots=True)
class Looked:
    """What one look found: the window of all jobs together, and each of them."""

    window: int
    jobs: Mapping[UUID, Standing]


def share(window: int, priorities: Mapping[UUID, int]) -> dict[UUID, int]:
    """How many tasks each job may have in flight: the window by weight, at least a few each.

    A priority step doubles a job's weight; the others still get their part, so a low one waits but never starves.
    """
    weights = {job: 2.0 ** max(-6, min(6, priority)) for job, priority in priorities.items()}
    whole = sum(weights.values())
    return {job: max(LEAST_WINDOW, int(window * weight / whole)) for job, weight in weights.items()}


class Pace:
    """How far a job's window is opened: doubled while its tasks end as fast as they are rung for, else halved.

    Two tasks for each slot keep slots of slow calls busy; of calls that end within milliseconds a slot needs more, for
    a round of claim, commit and top-up takes longer than they do.
    """

    def __init__(self) -> None:
        self._scale: dict[UUID, int] = {}
        self._rung_at: dict[UUID, float] = {}
        self._rung: dict[UUID, int] = {}  # in flight when bells were last sent
        self._full: set[UUID] = set()  # those whose window was full at the last look

    def keep(self, jobs: Collection[UUID]) -> None:
        """Forget all jobs but these."""
        for kept in (self._scale, self._rung_at, self._rung):
            for job in [job for job in kept if job not in jobs]:
                del kept[job]
        self._full &= set(jobs)

    def filled(self, job: UUID, *, full: bool) -> None:
        """A look found the job's window full, or filled it; or there were too few tasks for it."""
        (self._full.add if full else self._full.discard)(job)

    def outlasts(self, job: UUID) -> bool:
        """Are the job's calls slow, and its window full of them? Then what else is to be done for it has time."""
        return job in self._full and self.scale(job) < QUICK_SCALE

    def scale(self, job: UUID) -> int:
        """The factor on the job's share."""
        return self._scale.get(job, 1)

    def together(self, job: UUID) -> int:
        """How many of the job's tasks one message may ring for: it costs a worker as much as a claim and a commit."""
        return max(1, min(MOST_TOGETHER, self.scale(job) // QUICK_SCALE))

    def rung(self, job: UUID, *, before: int, after: int) -> bool:
        """Bells were sent: `before` tasks were in flight, now `after`. Says whether the window was opened further.

        Measured is what has ended since the last bells, not how much of the window was free: a window that was just
        opened, or is filled as its tasks are planned, is free too.
        """
        now = time.monotonic()
        since = now - self._rung_at.get(job, 0.0)
        drained = before * 2 <= self._rung.get(job, 0)
        self._rung_at[job], self._rung[job] = now, after
        if drained and since < QUICK_S:
            narrower, self._scale[job] = self.scale(job), min(MOST_SCALE, self.scale(job) * 2)
            return self._scale[job] > narrower
        if since > SLOW_S:
            self._scale[job] = max(1, self.scale(job) // 2)
        return False


class Dispatcher:
    """Tops up the windows of running jobs. Several processes may do so at once: a job is topped up by one at a time."""

    def __init__(
        self, database: Database, loader: Loader, window: Callable[[Repositories], int], send: Callable[[Ring], None]
    ) -> None:
        self._database = database
        self._loader = loader
        self._window = window
        self._send = send
        self.pace = Pace()
        self.hurried = False  # a window was opened further at the last top-up, and may soon be dry again

    def look(self) -> Looked:
        """Where all running jobs stand."""
        now = now_ms()
        with self._database.read() as rows:
            jobs = {}
            for job, priority in rows.dispatches.running():
                steps = rows.jobs.steps(job)
                open_ = [step.id for step in steps if step.state is not StepState.COMPLETE]
                whole = [step.id for step in steps if step.state is StepState.RUNNING]
                ready = bool(open_) and rows.dispatches.waiting(open_, now_ms=now)
                part = ready and whole != open_
                busy = bool(whole) and rows.dispatches.waiting(whole, now_ms=now) if part else ready
                jobs[job] = Standing(priority, steps, ready, not busy)
            self.pace.keep(jobs)
            return Looked(self._window(rows), jobs)

    def top_up(self, looked: Looked | None = None) -> int:
        """Ring for what fits into the windows; gives how many."""
        found = looked or self.look()
        self.hurried = False
        busy = {job: standing.priority for job, standing in found.jobs.items() if standing.ready}
        busy = {job: priority for job, priority in busy.items() if self._loader.trouble(job) is None}
        rung = 0
        # The jobs share one window, however far a fast one has opened it: else a new one would wait behind it.
        scale = max((self.pace.scale(job) for job in busy), default=1)
        for job, most in share(found.window * scale, busy).items():
            ring = self._ring(job, most)
            if ring is not None:
                self._send(ring)
                failpoints.reached("send.after")
                rung += len(ring.bells)
        return rung

    def _ring(self, job: UUID, most: int) -> Ring | None:
        context = self._loader.context(job)
        with self._database.write() as rows:
            held = rows.dispatches.hold_job(job)
            if held is None:
                return None
            every = rows.jobs.steps(job)
            steps = {step.id: step for step in every if step.state is not StepState.COMPLETE}
            # The window counts messages: the tasks of a batch take one slot after another.
            tasks = most * min((per_message(context.plan_of(step)) for step in steps.values()), default=1)
            most = max(most, min(tasks, MOST_BATCHED))
            in_flight = rows.dispatches.in_flight(list(steps))
            room = most - in_flight
            if room <= 0 or room * 4 < most:  # a top-up for every task would cost more than the tasks
                self.pace.filled(job, full=True)
                return None
            if held:  # caps
                asking = [step.id for step in every if context.plan_of(step).model]
                left = caps.allowed(rows, held, asking)
                if left == 0 and caps.stop_if_reached(rows, job, held, asking):
                    return None
                if left < room:
                    # What asks no model goes on; of the calls, as many as the caps leave.
                    steps = {i: step for i, step in steps.items() if left or i not in asking}
                    room = left or room
            bells = rows.dispatches.dispatch(list(steps), limit=room, now_ms=now_ms())
            self.pace.filled(job, full=len(bells) == room)
            if not bells and in_flight == 0:
                # What lost two leases rings only when nothing else of its job is in flight.
                bells = rows.dispatches.dispatch(list(steps), limit=1, now_ms=now_ms(), suspects=True)
            if bells:
                failpoints.reached("dispatch.before")
        if not bells:
            return None
        failpoints.reached("dispatch.after")
        self.hurried |= self.pace.rung(job, before=in_flight, after=in_flight + len(bells))
        return Ring(context, steps, bells, self.pace.together(job))


def per_message(plan: StepPlan, together: int = 1) -> int:
    """How many tasks of a step one message rings for at most; `together` is what their pace allows."""
    return min(MOST_IN_MESSAGE, max(plan.op.batch, together)) if isinstance(plan.op, MapOp) else 1
