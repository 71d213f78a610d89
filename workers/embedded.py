"""The embedded runner: the dispatcher, its lanes and the committer in one process, over the same task bodies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from db.database import Repositories
from db.errors import DatabaseBusyError, DatabaseUnreachableError
from db.values import Job, Step
from pipeline.retry import CallError, ErrorClass
from pipeline.states import JOB_ENDED, JobState, StepState
from workers import caps
from workers.claim import claim
from workers.clock import now_ms
from workers.commit import AGAIN_S, PATIENCE_S, Committer
from workers.execute import Done, Executor, Failed, Returned, Work, returned
from workers.lanes import WINDOW_MOST, Lane
from workers.load import Loader
from workers.planning.context import JobContext
from workers.planning.maps import BATCH_CHUNKS, FIRST_BATCH, QUICK_BATCH, plan_batch, unblock
from workers.planning.plan import LOCAL, StepPlan
from workers.progress import JobProgress, progress
from workers.reconcile import reconcile
from workers.runtime import Runtime
from workers.transitions import advance

IDLE_S = 0.05
TICK_S = 0.25
UNBLOCK = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Beat:
    """What a runner tells while it works."""

    progress: JobProgress


class EmbeddedRunner:
    """Works on one job until it ends, is paused, or `stop` is called. Several processes may work on one job."""

    def __init__(self, runtime: Runtime, job_id: UUID, on_beat: Callable[[Beat], None] | None = None) -> None:
        self._runtime = runtime
        self._database = runtime.database
        self._owner = runtime.lock.owner
        self._job_id = job_id
        self._on_beat = on_beat
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._loader = Loader(runtime.database, runtime.ops)
        self._lease_ms = int(runtime.settings.lease_s * 1000)
        self._lanes: dict[str, Lane] = {}
        self._unplanned: list[int] = []  # map steps that this process may have to plan
        self._planned = False  # has it begun to?
        self._more = False  # did the last claim get as many tasks as it asked for?
        self._committer = Committer(runtime.database, self._owner, self._ended, lambda: self._in_flight)
        self._gate = runtime.gate(self._owner)
        self._executor = Executor(runtime, self._submit, self._gate)
        self._capped = False
        self._stopped: CallError | None = None  # what a person must mend before any call can succeed
        self._last_tick = self._last_beat = self._last_reconcile = self._beats_from = 0.0
        self._reached = time.monotonic()

    def stop(self) -> None:
        """Begin nothing new; `run` returns when what is running is committed."""
        self._stop.set()
        self._wake.set()

    def run(self, rung: Sequence[tuple[int, int]]) -> None:
        """Run tasks that this process holds, given as (id, epoch) (workers.current.Engine)."""
        for task_id, epoch in rung:
            found = (lane.begin(task_id, epoch) for lane in self._lanes.values())
            work = next((item for item in found if item is not None), None)
            if work is not None and self._stopped is None:
                self._executor.run(work)
            elif work is not None:
                self._committer.submit(returned(work, now_ms(), 0, "stopped", called=False))

    def _submit(self, outcome: Done | Failed | Returned) -> None:
        if isinstance(outcome, Failed) and outcome.error.kind is ErrorClass.STOP:
            self._stopped = outcome.error
        self._committer.submit(outcome)

    def tend(self) -> None:
        """Look soon at what is to be done."""
        self._wake.set()

    def work(self) -> Job:
        """Work until the job ends, pauses or is stopped; gives the job as it then is."""
        context = self._loader.context(self._job_id)
        self._capped = bool(context.job.caps)
        self._open_lanes(context)
        with self._database.read() as rows:
            steps = rows.jobs.steps(self._job_id)
        self._unplanned = [step.id for step in steps if context.plan_of(step).kind == "map"]
        try:
            while not self._stop.is_set():
                self._wake.clear()
                if self._committer.failure or self._patiently(context):
                    break
        finally:
            self._shut()
        if self._committer.failure:
            raise self._committer.failure
        with self._database.read() as rows:
            found = rows.jobs.get(self._job_id)
        assert found is not None
        return found

    def _patiently(self, context: JobContext) -> bool:
        """One round. A database that went away is tried again for a while, as the committer does."""
        try:
            ended = self._round(context)
        except (DatabaseBusyError, DatabaseUnreachableError):
            if time.monotonic() - self._reached > PATIENCE_S:
                raise
            self._stop.wait(AGAIN_S)
            return False
        self._reached = time.monotonic()
        return ended

    def _round(self, context: JobContext) -> bool:
        """Look, claim, plan; says whether the job has ended or is paused."""
        job = self._tick()
        if self._stopped is not None:
            return True  # what was in flight is committed, and with it that the job is paused
        if job is not None and (job.state in JOB_ENDED or job.state is JobState.PAUSED):
            return True
        moved = self._fill(context)
        moved |= self._plan(context)
        if not moved and not self._advance(context):
            self._wake.wait(IDLE_S)
        return False

    def _open_lanes(self, context: JobContext) -> None:
        for plan in context.plans:
            if plan.lane not in self._lanes:
                model = self._runtime.model(plan.model) if plan.model else None
                slots = model.slots if model else self._runtime.settings.op_slots
                window = max(2, int(slots * self._runtime.settings.window_per_slot))
                self._lanes[plan.lane] = Lane(plan.lane, slots, window, on_wire=model is not None and model.on_wire)
                self._lanes[plan.lane].start(self)
        self._lanes.setdefault(LOCAL, Lane(LOCAL, 0, 0))

    def _ended(self, works: Sequence[Work]) -> None:
        for work in works:
            self._lanes[work.plan.lane].ended(work)
        self._wake.set()

    @property
    def _in_flight(self) -> int:
        return sum(lane.in_flight for lane in self._lanes.values())

    def _fill(self, context: JobContext) -> bool:
        """Top up every lane; says whether anything moved."""
        if self._in_flight and not context.chained and not any(lane.room for lane in self._lanes.values()):
            return False
        with self._database.read() as rows:
            steps = [step for step in rows.jobs.steps(self._job_id) if step.state is not StepState.COMPLETE]
        moved = self._unblock(context, steps)
        for lane in self._lanes.values():
            room = lane.room
            ids = [step.id for step in steps if context.plan_of(step).lane == lane.name]
            if room and ids:
                moved |= self._claim(lane, ids, room)
        if not moved and self._in_flight == 0 and steps:
            moved = self._claim_suspect(context, steps)
        return moved

    def _claim(self, lane: Lane, step_ids: list[int], limit: int, *, suspects: bool = False) -> bool:
        taken = claim(
            self._database,
            step_ids,
            limit=limit,
            owner=self._owner,
            lease_ms=self._lease_ms,
            suspects=suspects,
            within=self._left if self._capped and lane.name != LOCAL else None,
        )
        self._more = len(taken.claims) + taken.moved >= limit
        if taken.claims:
            lane.put(self._loader.load(taken.claims))
        return bool(taken.claims) or taken.moved > 0

    def _left(self, rows: Repositories) -> int:
        """How many calls the job's caps leave, as they now stand; a job that is at one is paused here."""
        job = rows.jobs.get(self._job_id)
        if job is None or not job.caps:
            return WINDOW_MOST
        context = self._loader.context(self._job_id)
        ids = [step.id for step in rows.jobs.steps(self._job_id) if context.plan_of(step).model]
        left = caps.allowed(rows, job.caps, ids)
        if left == 0 and caps.stop_if_reached(rows, self._job_id, job.caps, ids):
            self._last_tick = 0.0
        return left

    def _claim_suspect(self, context: JobContext, steps: list[Step]) -> bool:
        """A task that lost two leases runs alone: nothing else is in flight in this process."""
        return any(self._claim(self._lanes[context.plan_of(step).lane], [step.id], 1, suspects=True) for step in steps)

    def _unblock(self, context: JobContext, steps: list[Step]) -> bool:
        moved = False
        for step in steps:
            plan: StepPlan = context.plan_of(step)
            if plan.kind == "map" and plan.source is not None:
                with self._database.read() as rows:
                    before = next(
                        s for s in rows.jobs.steps(self._job_id) if s.position == plan.source and s.level == 0
                    )
                moved |= unblock(self._database, context, step, before, UNBLOCK) > 0
        return moved

    def _plan(self, context: JobContext) -> bool:
        """Plan a batch of a map while no lane could run dry of it; says whether anything moved.

        The first tasks run while the later ones are written.
        """
        dry = any(lane.in_flight and not lane.stocked for lane in self._lanes.values())
        if not self._unplanned or (dry and self._more):
            return False
        most = QUICK_BATCH if self._in_flight else BATCH_CHUNKS if self._planned else FIRST_BATCH
        self._planned = True
        if not plan_batch(self._database, context, self._unplanned[0], most):
            self._unplanned.pop(0)
        return True

    def _advance(self, context: JobContext) -> bool:
        moved = self._in_flight == 0 and advance(self._database, context)
        if moved:
            self._last_tick = 0.0  # the job may have ended: look at once
        return moved

    def _tick(self) -> Job | None:
        """Now and then: the job's row, leases, progress."""
        now = time.monotonic()
        settings = self._runtime.settings
        if now - self._last_reconcile >= settings.reconcile_s or not self._last_reconcile:
            self._last_reconcile = now
            if reconcile(self._database, dead=self._runtime.lock.dead):
                self._wake.set()
        if now - self._last_beat >= settings.lease_s / 3:
            self._last_beat = now
            self._renew()
        if now - self._last_tick < TICK_S:
            return None
        self._last_tick = now
        self._give_up_hung()
        with self._database.read() as rows:
            job = rows.jobs.get(self._job_id)
        if job is not None and self._on_beat and now >= self._beats_from:
            began = time.monotonic()
            with self._database.read() as rows:
                standing = progress(rows, job, self._runtime.settings)
            self._on_beat(Beat(progress=standing))
            # Counting a million tasks takes a while: telling of the work is never a tenth of it.
            self._beats_from = now + 10 * (time.monotonic() - began)
        return job

    def _give_up_hung(self) -> None:
        """A call past its deadline is a failed attempt; what it may still answer has an old epoch, changing nothing."""
        now = now_ms()
        for work in [work for lane in self._lanes.values() for work in lane.give_up_hung()]:
            limit = work.plan.timeout_s
            error = CallError(ErrorClass.TRANSIENT, "timeout", f"The call took longer than {limit:g} s")
            self._committer.submit(Failed(work, error, now - int(limit * 1000), now))

    def _renew(self) -> None:
        """Hold what is in flight longer."""
        self._gate.renew()
        now = now_ms()
        held = [work for lane in self._lanes.values() for work in lane.held()]
        if held:
            with self._database.write() as rows:
                rows.tasks.renew(self._owner, [work.claim.id for work in held], now + self._lease_ms)
                rows.leases.renew(self._owner, [work.claim.key for work in held], now + self._lease_ms)

    def _shut(self) -> None:
        """Give back what was not begun, let what runs end, commit it."""
        back = [work for lane in self._lanes.values() for work in lane.drain()]
        for lane in self._lanes.values():
            lane.stop(self._runtime.settings.lease_s)
        self._committer.close()
        if back and not self._committer.failure:
            with self._database.write() as rows:
                rows.tasks.give_back([work.claim.id for work in back])
                keys = [work.claim.key for work in back]
                rows.leases.release(keys, owner=self._owner)
                rows.tasks.free_waiting(keys)
