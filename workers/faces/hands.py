"""The hands of the web process: operations that take long, and in the embedded mode the jobs themselves."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from db.listed import Operation
from pipeline import canonical
from pipeline.errors import OctavoError
from pipeline.ops.values import Json
from pipeline.states import JobState
from workers.faces.child import BEGUN
from workers.faces.tidy import tidy
from workers.runtime import Runtime

log = logging.getLogger(__name__)

OPERATIONS_AT_ONCE = 2
JOBS_AT_ONCE = 2
LOOK_S = 2.0
TIDY_S = 3600.0  # between looks for what may be forgotten
BACK_OFF_S = (2.0, 4.0, 8.0, 8.0)  # before a job's process that died is started again
STOP_S = 10.0  # what a child gets to end its calls when this process ends; nothing committed is lost by a kill
LASTED_S = 60.0  # a process that lived so long begins with the first wait again


class ChildError(OctavoError):
    """The process that did it died."""


class Hands:
    """Does waiting operations, and works on jobs where no workers serve them. `close` ends the children."""

    def __init__(self, runtime: Runtime, overrides: Mapping[str, Any]) -> None:
        self._runtime = runtime
        self._overrides = {name: _plain(value) for name, value in overrides.items() if value is not None}
        self._ending = threading.Event()
        self._wake = threading.Event()
        self._operations = ThreadPoolExecutor(OPERATIONS_AT_ONCE, thread_name_prefix="octavo-operation")
        self._jobs = ThreadPoolExecutor(JOBS_AT_ONCE, thread_name_prefix="octavo-job")
        self._at: dict[UUID, str] = {}  # job → what is being done about it
        self._children: dict[UUID, subprocess.Popen[bytes]] = {}
        self._turn = threading.Lock()
        self.noted: Callable[[], None] = lambda: None  # called when what `note` says has changed
        self._thread = threading.Thread(target=self._serve, name="octavo-hands", daemon=True)

    def start(self) -> None:
        """Begin to look for operations."""
        self._thread.start()

    def wake(self) -> None:
        """Look at once: an operation waits."""
        self._wake.set()

    def note(self, job_id: UUID) -> str | None:
        """Why a job that this process works on does not move just now, if it is so."""
        return self._at.get(job_id) or None

    def pid(self, job_id: UUID) -> int | None:
        """The process that works on a job here."""
        child = self._children.get(job_id)
        return child.pid if child is not None and child.poll() is None else None

    def work(self, job_id: UUID) -> None:
        """See that somebody works on a running job: workers are told, in the embedded mode a process is started."""
        if self._runtime.settings.distributed:
            from workers.distributed.worker import ring_control

            ring_control(self._runtime.settings)
            return
        with self._turn:
            if job_id in self._at or self._ending.is_set():
                return
            self._at[job_id] = "it waits for its turn: this server works on two jobs at once"
        self._jobs.submit(self._work, job_id)

    def _work(self, job_id: UUID) -> None:
        deaths = 0
        self._at[job_id] = ""
        try:
            while not self._ending.is_set():
                began = time.monotonic()
                try:
                    self.ask({"what": "work", "job": str(job_id)}, job_id)
                except ChildError as error:
                    deaths = 1 if time.monotonic() - began > LASTED_S else deaths + 1
                    if deaths > len(BACK_OFF_S):
                        log.error("a job's process died too often", extra={"job": str(job_id)})
                        return
                    log.warning("a job's process died: %s", error.cause, extra={"job": str(job_id)})
                    self._died(job_id, error, BACK_OFF_S[deaths - 1])
                    continue
                if not self._still_runs(job_id):
                    return
        except OctavoError as error:
            log.warning("a job can not be worked on: %s", error.message, extra={"job": str(job_id)})
            self._stop_job(job_id, error)
        finally:
            self._at.pop(job_id, None)

    def _died(self, job_id: UUID, error: ChildError, wait_s: float) -> None:
        """Say so until another process is at work, and keep that it happened."""
        self._at[job_id] = f"its process died: another is started in {wait_s:g} s"
        self.noted()
        with self._runtime.database.write() as rows:
            rows.web.note(job_id, f"its process died ({error.cause}): another was started")
        self._ending.wait(wait_s)
        self._at[job_id] = "its process died: another is being started"
        self.noted()

    def _begun(self, job_id: UUID | None) -> None:
        if job_id is not None and job_id in self._at:
            self._at[job_id] = ""
            self.noted()

    def _still_runs(self, job_id: UUID) -> bool:
        with self._runtime.database.read() as rows:
            job = rows.jobs.get(job_id)
        return job is not None and job.state is JobState.RUNNING

    def _stop_job(self, job_id: UUID, error: OctavoError) -> None:
        with self._runtime.database.write() as rows:
            rows.jobs.move(job_id, to=JobState.PAUSED, reason=error.message, unless=tuple(JobState)[2:])

    def _serve(self) -> None:
        tidied = float("-inf")
        while not self._ending.is_set():
            self._wake.clear()
            try:
                self._look()
                if time.monotonic() - tidied > TIDY_S:
                    tidied = time.monotonic()
                    tidy(self._runtime)
            except OctavoError as error:
                log.warning("operations can not be looked for: %s", error.message)
            self._wake.wait(LOOK_S)

    def _look(self) -> None:
        lock = self._runtime.lock
        with self._runtime.database.read() as rows:
            waiting = rows.web.operations(limit=50, states=("waiting",))
            running = rows.web.operations(limit=200, states=("running",))
        dead = set(lock.dead({item.owner for item in running if item.owner}))
        if dead:
            alive = {item.owner for item in running if item.owner} - dead
            with self._runtime.database.write() as rows:
                rows.web.untake_operations(sorted(alive))
        for item in reversed(waiting):  # the oldest first
            with self._runtime.database.write() as rows:
                taken = rows.web.take_operation(item.id, lock.owner)
            if taken:
                self._operations.submit(self._operate, item)

    def _operate(self, item: Operation) -> None:
        result: dict[str, Json] | None = None
        error: dict[str, Json] | None = None
        try:
            result = self.ask({"what": item.kind, **item.request})
        except OctavoError as failure:
            error = {"message": failure.message, "cause": failure.cause, "hint": failure.hint}
        if self._ending.is_set() and error is not None:
            return  # it was cut short by the end of this process: the next one takes it up
        if result and result.get("job"):
            self.work(UUID(result["job"]))
        try:
            with self._runtime.database.write() as rows:
                rows.web.end_operation(item.id, result=result, error=error)
        except OctavoError as failure:
            log.warning("an operation's end was not noted: %s", failure.message)

    def ask(self, what: dict[str, Json], job_id: UUID | None = None) -> dict[str, Json]:
        """Let a child do it. Raises ChildError when it dies, OctavoError with what it says when it can not."""
        child = subprocess.Popen(  # this very program
            [sys.executable, "-m", "workers.faces.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        key = job_id or UUID(int=child.pid)
        self._children[key] = child
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(canonical.dumps({"overrides": self._overrides, **what}) + b"\n")
            child.stdin.flush()
            line = child.stdout.readline()
            if line == BEGUN:
                self._begun(job_id)
                line = child.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            if child.stdin is not None:
                child.stdin.close()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
            self._children.pop(key, None)
        if not line:
            raise ChildError(cause=f"exit status {child.returncode}", hint="ask again: what was committed is kept")
        answer = canonical.loads(line)
        if "error" in answer:
            error = answer["error"]
            raise OctavoError(error["message"], cause=error["cause"], hint=error["hint"])
        found: dict[str, Json] = answer["ok"]
        return found

    def close(self) -> None:
        """End: the children are told by the end of their stdin, and stop cleanly."""
        self._ending.set()
        self._wake.set()
        for child in list(self._children.values()):
            if child.stdin is not None:
                try:
                    child.stdin.close()
                except OSError:
                    continue
        self._end_slow()
        self._jobs.shutdown(wait=True, cancel_futures=True)
        self._operations.shutdown(wait=True, cancel_futures=True)
        if self._thread.is_alive():
            self._thread.join()

    def _end_slow(self) -> None:
        """A call may take minutes: a child that is still at one is killed, and its task is done again."""
        until = time.monotonic() + STOP_S
        for child in list(self._children.values()):
            try:
                child.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else str(value)
