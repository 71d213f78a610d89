"""The engine of a worker process: claims, calls and commits for the slots that Celery gives it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from db.repositories.dispatches import Process
from pipeline.errors import OctavoError
from pipeline.retry import CallError, ErrorClass
from workers import clock, failpoints, wire
from workers.clock import now_ms
from workers.commit import Committer
from workers.distributed.claimer import Claimer
from workers.distributed.meter import Meter
from workers.distributed.queues import QUEUES
from workers.distributed.tender import Tender
from workers.execute import Done, Executor, Failed, Returned, Work
from workers.load import Loader
from workers.metrics import Metrics
from workers.runtime import Runtime
from workers.wire import Wire

log = logging.getLogger(__name__)

BEGUN_MS = 50  # a wait for a slot that is too short to be noted
AGAIN_MS = 1_000  # until a task whose inputs could not be read is tried again
NOT_LOADED = "not_loaded"


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Who a worker process is."""

    owner: str  # the nonce on its leases
    host: str
    pid: int
    queues: str
    slots: int


class Quiet:
    """Lets many work at once, or one alone. While one waits to be alone no other comes in, so that its turn comes."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._many = 0
        self._one = False
        self._waiting = 0

    @property
    def wanted(self) -> bool:
        """Does somebody wait to be alone?"""
        return self._waiting > 0

    def enter(self, *, alone: bool) -> None:
        """Come in when that may be."""
        with self._condition:
            if alone:
                self._waiting += 1
                self._condition.wait_for(lambda: not self._one and not self._many)
                self._waiting -= 1
                self._one = True
            else:
                self._condition.wait_for(lambda: not self._one and not self._waiting)
                self._many += 1

    def leave(self, *, alone: bool) -> None:
        """Go out."""
        with self._condition:
            if alone:
                self._one = False
            else:
                self._many -= 1
            self._condition.notify_all()


class WorkerEngine:
    """Runs what messages ring for. One a process, made after any fork. `took` is told of each message a slot takes."""

    def __init__(
        self,
        runtime: Runtime,
        identity: Identity,
        tender: Tender,
        loader: Loader,
        broker: Any,
        took: Callable[[], None] = lambda: None,
    ) -> None:
        self._runtime = runtime
        self._database = runtime.database
        self._identity = identity
        self._started = now_ms()
        self._lease_ms = int(runtime.settings.lease_s * 1000)
        self._held: dict[tuple[int, int], tuple[Work, threading.Event]] = {}
        self._slots = threading.BoundedSemaphore(identity.slots)
        self._wire = Wire(self._slots, self._on_wire)
        self._ahead = threading.BoundedSemaphore(identity.slots + wire.ahead(identity.slots))
        self._at = threading.local()  # the work that a thread is at
        self._quiet = Quiet()
        self._ending = threading.Event()
        self._took = took
        metrics = Metrics()
        self.meter = Meter(metrics, held=self._flying, fault=self.fault, redis=broker, queues=QUEUES)
        self._committer = Committer(
            self._database, identity.owner, self._ended, lambda: len(self._held), metrics.checkpoint
        )
        self._gate = runtime.gate(identity.owner)
        self._executor = Executor(runtime, self._submit, self._gate)
        self._loader = loader
        self._beat_now = threading.Event()
        loader.learned = self._beat_now.set  # its row says what it knows
        self._claimer = Claimer(self._database, loader, identity.owner, self._lease_ms)
        self._tender = tender
        self._beats = threading.Thread(target=self._beat_on, name="octavo-beat", daemon=True)
        self._beats.start()

    def run(self, rung: Sequence[tuple[int, int]]) -> None:
        """Run tasks given as (id, dispatch); returns when their outcomes are handed over for commit.

        A slot does not wait for the commit: what is not committed when the process dies is a lease lost, as it was
        before. More tasks may be brought here than there are slots: those claim while the slots are busy.
        """
        self._took()
        failpoints.reached("bell")
        try:
            suspects = self._many(rung)
        except OctavoError as error:
            log.warning("not claimed: %s (%s)", error.message, error.cause)
            return  # the bells will be rung again
        for item in suspects:
            self._alone(item)
        failpoints.reached("answered")

    def tend(self) -> None:
        """Look at once at what is to be planned and dispatched."""
        self._tender.ask()

    def fault(self) -> str | None:
        """What is broken in this engine so that it serves no more, if anything."""
        if self._committer.failure is not None:
            return f"results can not be committed: {self._committer.failure.message}"
        if not self._beats.is_alive() and not self._ending.is_set():
            return "its heartbeat has ended"
        return None

    def _many(self, rung: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        self._quiet.enter(alone=False)
        try:
            grant = self._claimer.take(rung)
            self._work(grant.works)
        finally:
            self._quiet.leave(alone=False)
        return grant.suspects

    def _alone(self, item: tuple[int, int]) -> None:
        self._quiet.enter(alone=True)
        try:
            # Alone until it is committed, and not before all else is: a death tells of this task and of no other.
            self._wait_for_commit()
            self._work(self._claimer.alone([item]))
            self._wait_for_commit()
        finally:
            self._quiet.leave(alone=True)

    def _wait_for_commit(self) -> None:
        for _, committed in list(self._held.values()):
            committed.wait()

    def _flying(self) -> list[Work]:
        return [work for work, _ in list(self._held.values())]

    def _submit(self, outcome: Done | Failed | Returned) -> None:
        self.meter.saw(outcome)
        self._committer.submit(outcome)

    def _work(self, works: Sequence[Work]) -> None:
        self.meter.claimed(works)
        for work in works:
            self._held[work.claim.id, work.claim.epoch] = (work, threading.Event())
        for work in works:
            if self._executor.on_wire(work):
                with self._ahead:
                    wire.here.set(self._wire)
                    self._run(self._begun(work))
            else:
                with self._slots:
                    wire.here.set(None)
                    self._run(self._begun(work))

    def _run(self, work: Work) -> None:
        started = now_ms()
        self._at.work = work
        try:
            whole = self._loader.whole(work)
        except OctavoError as error:
            log.warning("not loaded: %s (%s)", error.message, error.cause)
            self._submit(Returned(work, now_ms() + AGAIN_MS, NOT_LOADED, False, started, now_ms()))
        except Exception as error:  # whatever it is, the task must not be held for ever
            log.exception("a task's inputs could not be loaded")
            told = CallError(ErrorClass.TRANSIENT, NOT_LOADED, f"{type(error).__name__}: {error}"[:500])
            self._submit(Failed(work, told, started, now_ms()))
        else:
            self._executor.run(whole)

    def _begun(self, work: Work) -> Work:
        """The work as it begins: it may have waited for a slot, and its deadline counts from now."""
        now = now_ms()
        if now - work.begun_ms < BEGUN_MS:
            return work
        begun = replace(work, begun_ms=now)
        key = (work.claim.id, work.claim.epoch)
        self._held[key] = (begun, self._held[key][1])
        return begun

    def _on_wire(self) -> None:
        """This thread's call has its turn on the wire."""
        self._begun(self._at.work)

    def _ended(self, works: Sequence[Work]) -> None:
        for work in works:
            found = self._held.pop((work.claim.id, work.claim.epoch), None)
            if found is not None:
                found[1].set()
        self._tender.wake()

    def _beat_on(self) -> None:
        while True:
            try:
                self._beat()
            except OctavoError as error:
                log.warning("no beat: %s (%s)", error.message, error.cause)
            self._beat_now.wait(self._lease_ms / 3000)
            self._beat_now.clear()
            if self._ending.is_set():
                return

    def _beat(self) -> None:
        """Say that the process lives and hold its leases, but no call past its deadline."""
        clock.follow(self._database.clock_ms())
        now = now_ms()
        held = [work for work, _ in list(self._held.values()) if now - work.begun_ms < work.plan.timeout_s * 1000]
        me = self._identity
        process = Process(
            owner=me.owner,
            host=me.host,
            pid=me.pid,
            queues=me.queues,
            slots=me.slots,
            ops="\n".join(self._loader.marks()),
            started_ms=self._started,
            beat_ms=now,
        )
        self._gate.renew()
        with self._database.write() as rows:
            rows.dispatches.beat(process)
            rows.tasks.renew(me.owner, [work.claim.id for work in held], now + self._lease_ms)
            rows.leases.renew(me.owner, [work.claim.key for work in held], now + self._lease_ms)
        self.meter.beat()

    def close(self) -> None:
        """Commit what is in hand and leave. Celery has let the running tasks end before."""
        self._claimer.close()
        self._committer.close()
        self._tender.close()
        self._ending.set()
        self._beat_now.set()
        self._beats.join()
        try:
            with self._database.write() as rows:
                rows.dispatches.leave(self._identity.owner)
        except OctavoError as error:
            log.warning("not signed off: %s (%s)", error.message, error.cause)
