"""The tender of a worker process: plans, tops up windows, takes back what is lost. Every worker has one.

Whatever two tenders do at once is decided by compare-and-set and SKIP LOCKED in the database (DESIGN §6).
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from uuid import UUID

from db.database import Database
from db.values import Step
from pipeline.errors import NotFoundError, OctavoError, PipelineError, StorageError
from pipeline.states import JOB_ENDED, JobState, StepState
from workers.clock import now_ms
from workers.distributed.bells import Bells, Listener
from workers.distributed.dispatcher import Dispatcher, Standing
from workers.load import Loader
from workers.planning.maps import FIRST_BATCH, QUICK_BATCH, plan_batch, unblock
from workers.reconcile import reconcile
from workers.transitions import advance

log = logging.getLogger(__name__)

SHORTEST_S = 0.1  # between two rounds: bells are sent in batches, and a window outlasts a round
# While a window is still being opened, something was planned and is to be rung for, or the last tasks of a step are
# under way: what comes after them waits for nothing else.
HURRY_S = 0.01
UNBLOCK = 1000
# Between two batches of a plan whose job has calls enough: calls that wait for the interpreter while a thousand tasks
# are written are answered late, all together, for rounds to come.
PLAN_EVERY_S = 0.4
STALE_LEASES = 20  # lease times after which a process that is gone is forgotten
LATE_S = 3.0  # a step whose planner made no headway for so long is planned by anyone


class Tender:
    """A thread that tends all running jobs."""

    def __init__(
        self,
        database: Database,
        loader: Loader,
        dispatcher: Dispatcher,
        bells: Bells,
        listener: Listener,
        *,
        owner: str,
        reconcile_s: float,
        lease_s: float,
        failed: Callable[[], bool] = lambda: False,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._loader = loader
        self._dispatcher = dispatcher
        self._bells = bells
        self._listener = listener
        self._owner = owner
        self._reconcile_s = reconcile_s
        self._lease_s = lease_s
        self._failed = failed
        self._tick = tick  # what else is looked at whenever leases are: schedules
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._reconciled = 0.0
        self._hurried = False
        self._planned_at: dict[UUID, float] = {}  # when this process last wrote tasks of a job
        self._put_off = False  # a batch of a plan was left for later
        self._asked = False  # a message rang here: what is to be planned now is planned by this process
        self._told: set[UUID] = set()  # jobs whose rows say, by this process, what is wrong with them
        self._mine: set[UUID] = set()  # jobs that this process plans
        self._elsewhere: dict[UUID, tuple[int, float]] = {}  # those that another does: how far, and since when
        self._thread = threading.Thread(target=self._serve, name="octavo-tend", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Look soon."""
        self._wake.set()

    def ask(self) -> None:
        """A job has begun or changed: look at once, and plan what is to be planned."""
        self._asked = True
        self._wake.set()

    def close(self) -> None:
        """End after the present round."""
        self._ending.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        while not self._ending.is_set():
            self._wake.clear()
            try:
                moved = self.round()
            except OctavoError as error:
                log.warning("round failed: %s (%s)", error.message, error.cause)
                moved = False
            except Exception:
                # Redis away, a message refused: the next round tries again, and says so again.
                log.exception("round failed")
                moved = False
            self._ending.wait(HURRY_S if self._hurried else SHORTEST_S)
            if not moved:
                self._wake.wait(min(PLAN_EVERY_S, self._reconcile_s) if self._put_off else self._reconcile_s)

    def round(self) -> bool:
        """Plan, unblock, ring; now and then reconcile. Says whether anything moved."""
        self._hurried = self._put_off = False
        now = time.monotonic()
        if now - self._reconciled >= self._reconcile_s:
            self._reconciled = now
            self._reconcile()
        asked, self._asked = self._asked, False
        looked = self._dispatcher.look()
        moved = False
        for job, standing in looked.jobs.items():
            moved |= self._try(job, standing, asked=asked)
        rung = self._dispatcher.top_up(None if moved else looked)
        ending = not any(standing.ready for standing in looked.jobs.values())
        self._hurried = moved or self._dispatcher.hurried or ending
        return moved or rung > 0

    def _try(self, job: UUID, standing: Standing, *, asked: bool) -> bool:
        """Tend a job. What is wrong with one is said in its row, and the others go on."""
        try:
            moved = self._tend(job, standing, asked=asked)
        except (PipelineError, NotFoundError) as error:
            # A user's op can not be planned with: no try changes that. A job run anew finds the outputs in the memo.
            with self._database.write() as rows:
                rows.jobs.move(job, to=JobState.FAILED, reason=error.message, unless=JOB_ENDED)
            return True
        except StorageError:
            raise
        except Exception as error:
            log.exception("job %s can not be tended", job)
            self._tell(job, f"it can not be planned, and is tried again: {type(error).__name__}: {error}"[:500])
            return False
        if job in self._told:
            self._tell(job, None)
        return moved

    def _tell(self, job: UUID, reason: str | None) -> None:
        (self._told.add if reason else self._told.discard)(job)
        with self._database.write() as rows:
            rows.jobs.tell(job, reason)

    def _tend(self, job: UUID, standing: Standing, *, asked: bool) -> bool:
        trouble = self._loader.trouble(job)
        if isinstance(trouble, NotFoundError):
            raise trouble
        if trouble is not None:
            return False  # a worker that knows its ops does it; `octavo status` says when there is none
        context = self._loader.context(job)
        steps = standing.steps
        moved = False
        for step in steps:
            plan = context.plan_of(step)
            if plan.kind == "map" and plan.source is not None and step.state is not StepState.COMPLETE:
                before = next(item for item in steps if item.position == plan.source and item.level == 0)
                moved |= unblock(self._database, context, step, before, UNBLOCK) > 0
        planning = [step for step in steps if step.state is StepState.PLANNING]
        if not planning:
            self._mine.discard(job)
            self._elsewhere.pop(job, None)
            self._planned_at.pop(job, None)
        elif not self._plans(job, planning, asked=asked):
            return moved
        maps = [step for step in planning if context.plan_of(step).kind == "map"]
        if maps:
            if self._may_wait(job, standing):
                self._put_off = True
                return moved
            # A batch a round: the first tasks are rung for, and other jobs tended, while the later ones are written.
            size = QUICK_BATCH if maps[0].planned else FIRST_BATCH
            if not plan_batch(self._database, context, maps[0].id, size):
                self._mine.discard(job)  # it is whole, or another process was faster and goes on
                self._elsewhere[job] = (_planned(planning), time.monotonic())
            return True
        # To the end at once: who completes a step plans the next.
        while standing.idle and advance(self._database, context):
            moved = True
        return moved

    def _may_wait(self, job: UUID, standing: Standing) -> bool:
        """May the next batch of the job's plan wait?"""
        now = time.monotonic()
        busy = standing.ready and self._dispatcher.pace.outlasts(job)
        if busy and now - self._planned_at.get(job, 0.0) < PLAN_EVERY_S:
            return True
        self._planned_at[job] = now
        return False

    def _plans(self, job: UUID, planning: Sequence[Step], *, asked: bool) -> bool:
        """Is it this process that plans the job? One is enough; any other does when that one makes no headway."""
        if job not in self._mine:
            now, planned = time.monotonic(), _planned(planning)
            at, since = self._elsewhere.setdefault(job, (-1, now))
            late = planned == at and now - since > LATE_S
            if not (asked or late or (at < 0 and self._chosen(job))):
                self._elsewhere[job] = (planned, since if planned == at else now)
                return False
            self._mine.add(job)
            self._elsewhere.pop(job)
        return True

    def _chosen(self, job: UUID) -> bool:
        with self._database.read() as rows:
            alive = rows.dispatches.processes(since_ms=now_ms() - int(self._lease_s * 1000))
        owners = [process.owner for process in alive] or [self._owner]
        return max(owners, key=lambda owner: hashlib.sha256(job.bytes + owner.encode()).digest()) == self._owner

    def _reconcile(self) -> None:
        reconcile(self._database, dead=lambda _owners: (), patience=0)
        self._tick()
        for ring in self._listener.lost():
            self._bells.send(ring)
        with self._database.read() as rows:
            running = {job for job, _ in rows.dispatches.running()}
        self._loader.keep(running)
        self._mine &= running
        self._elsewhere = {job: found for job, found in self._elsewhere.items() if job in running}
        with self._database.write() as rows:
            rows.dispatches.forget(before_ms=now_ms() - int(self._lease_s * 1000 * STALE_LEASES))


def _planned(planning: Sequence[Step]) -> int:
    """How far the planning of a job's steps has come."""
    return sum(step.planned for step in planning)
