"""A fleet: workers, jobs and what the database says of them, each test's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from db.database import Database
from pipeline.settings import Settings
from pipeline.spec import parse
from pipeline.states import JOB_ENDED, JobState
from tests.distributed.books import COMMAND, OPS, ROOT
from tests.distributed.servers import Postgres, Provider, Redis, free_port, until
from workers import control
from workers.distributed.worker import ring_control
from workers.ingest.find import find
from workers.ingest.ingest import ingest
from workers.outputs.cite import Citation
from workers.outputs.export import canonical_lines
from workers.outputs.job import view
from workers.planning.context import load_context
from workers.planning.jobs import begin_job
from workers.runtime import Runtime
from workers.supervise.flower import service

LEASE_S = 5.0


@dataclass
class Worker:
    """One `octavo worker` of ours."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, number: signal.Signals) -> None:
        """A signal to this process alone."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.process.kill()
        self.process.wait(timeout=20)

    def ended(self, within_s: float = 30) -> int:
        """Its exit code, which comes in time."""
        try:
            return self.process.wait(timeout=within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the worker did not end: {self.said()[-3000:]}") from None

    def said(self) -> str:
        """What it printed."""
        return self.log.read_text(errors="replace")

    def memory_kb(self) -> int:
        """Its resident memory."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


@dataclass
class Fleet:
    """Workers over one database and one broker."""

    folder: Path
    postgres: Postgres
    database_name: str
    redis: Redis
    provider: Provider
    lease_s: float = LEASE_S
    workers: list[Worker] = field(default_factory=list)
    others: list[subprocess.Popen[bytes]] = field(default_factory=list)
    flower: Worker | None = None
    _runtime: Runtime | None = None

    @property
    def url(self) -> str:
        return self.postgres.url(self.database_name)

    @property
    def runtime(self) -> Runtime:
        """This process's view on the fleet's database."""
        if self._runtime is None:
            os.environ["STUB_PORT"] = str(self.provider.port)
            self._runtime = Runtime(
                Settings(
                    state=self.folder / "state", database_url=self.url, redis_url=self.redis.url, ops=(OPS,),
                    tokenizer="characters", lease_s=self.lease_s,
                )
            )  # fmt: skip
        return self._runtime

    @property
    def database(self) -> Database:
        return self.runtime.database

    def environment(self, **more: str) -> dict[str, str]:
        """What every process of the fleet is told."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("OCTAVO_")}
        told = {
            "OCTAVO_STATE": str(self.folder / "state"), "OCTAVO_DATABASE_URL": self.url,
            "OCTAVO_REDIS_URL": self.redis.url, "OCTAVO_OPS": OPS, "OCTAVO_TOKENIZER": "characters",
            "OCTAVO_LEASE_S": str(self.lease_s), "OCTAVO_RECONCILE_S": "0.5", "STUB_PORT": str(self.provider.port),
            "PYTHONPATH": str(ROOT), "NO_COLOR": "1",
        }  # fmt: skip
        return plain | told | more

    # Processes

    def worker(
        self, *arguments: str, slots: int = 8, wait: bool = True, prelude: str = "", **environment: str
    ) -> Worker:
        """Start `octavo worker`; returns once it beats, unless told not to wait. `prelude` is code run before."""
        return self._start(
            ["-c", f"{prelude}\n{COMMAND}", "worker", "--slots", str(slots), *arguments],
            wait=wait, environment=environment,
        )  # fmt: skip

    def celery(self, *arguments: str, wait: bool = True, **environment: str) -> Worker:
        """Start plain `celery -A workers.app worker`."""
        return self._start(
            ["-m", "celery", "-A", "workers.app", "worker", *arguments], wait=wait, environment=environment
        )

    def beat(self, number: int) -> Worker:
        """Start a `celery beat`."""
        schedule = str(self.folder / f"beat-{number}")
        command = ["-m", "celery", "-A", "workers.app", "beat", "--schedule", schedule, "--pidfile=", "--loglevel=INFO"]
        return self._start(command, wait=False, environment={})

    def start_flower(self) -> Worker:
        """Start Flower as `octavo up` does."""
        made = service(self.folder, broker_url=self.redis.url, port=free_port(), needs=(), environ=os.environ)
        told = {name: value for name, value in made.env.items() if value is not None}
        self.flower = self._start(list(made.argv[1:]), wait=False, environment=told)
        self.workers.remove(self.flower)
        return self.flower

    def _start(self, command: Sequence[str], *, wait: bool, environment: dict[str, str]) -> Worker:
        log = self.folder / f"worker-{len(list(self.folder.glob('worker-*.log')))}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, *command], cwd=self.folder, env=self.environment(**environment),
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
        made = Worker(process, log)
        self.workers.append(made)
        if wait:
            self.wait_for(made)
        return made

    def wait_for(self, worker: Worker) -> None:
        """Wait until a worker beats."""

        def beats() -> bool:
            assert worker.process.poll() is None, worker.said()[-3000:]
            return bool(self.ask(f"SELECT 1 FROM processes WHERE pid = {worker.pid}"))

        until(beats, within_s=60, what="the worker beats")

    def cli(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start another command."""
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments],
            cwd=self.folder, env=self.environment(**environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self.others.append(process)
        return process

    def close(self) -> None:
        """End every process that was started here."""
        for worker in [*self.workers, *([self.flower] if self.flower else [])]:
            if worker.process.poll() is None:
                worker.send(signal.SIGCONT)
                os.killpg(worker.pid, signal.SIGKILL)  # its own session: its pool's children end with it
            worker.process.wait(timeout=20)
        for process in self.others:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=20)
        if self._runtime is not None:
            self._runtime.close()

    # Jobs

    def write_book(self, text: str, name: str = "book.md") -> Path:
        """A file with this text."""
        path = self.folder / name
        path.write_text(text)
        return path

    def begin(self, pipeline: str, text: str, name: str = "book.md", *, budget: int | None = None) -> UUID:
        """Begin a job as `octavo run` does, and ring for it."""
        spec = parse(pipeline, name)
        cutting = self.runtime.cutting(spec.grain)
        sources = find([str(self.write_book(text, name))], self.runtime.spool, None)
        documents = [ingest(self.database, source, cutting) for source in sources]
        job, _ = begin_job(
            self.database, spec, documents, ops=self.runtime.ops, models=self.runtime, model="extractive",
            tokenizer="characters", retry_budget=budget,
        )  # fmt: skip
        ring_control(self.runtime.settings)
        return job.id

    def state(self, job: UUID | str) -> JobState:
        """A job's state."""
        return JobState(self.ask(f"SELECT state FROM jobs WHERE id = '{job}'")[0][0])

    def finish(self, job: UUID | str, within_s: float = 60, state: JobState = JobState.DONE) -> None:
        """Wait until a job ends; it must end so."""
        try:
            until(lambda: self.state(job) in JOB_ENDED, within_s=within_s, what=f"job {job} ends")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.picture()}") from None
        assert self.state(job) is state, self.picture()

    def picture(self) -> str:
        """Where things stand, for a failed test."""
        steps = self.ask(
            "SELECT s.position, s.level, s.state, t.state, count(*), max(t.losses), max(t.error_code) FROM steps s "
            "LEFT JOIN tasks t ON t.step_id = s.id GROUP BY 1, 2, 3, 4 ORDER BY 1, 2"
        )
        jobs = self.ask("SELECT state, reason FROM jobs")
        logs = [f"--- {worker.pid} {worker.process.poll()}\n{worker.said()[-2500:]}" for worker in self.workers]
        return "\n".join([*map(str, jobs), *map(str, steps), *logs])

    def export(self, job: UUID | str) -> bytes:
        """The canonical export."""
        context = load_context(self.database, self.runtime.ops, UUID(str(job)))
        with self.database.read() as rows:
            return b"".join(canonical_lines(view(rows, context, style=Citation.canonical, citations=0)))

    # What the database says

    def ask(self, statement: str) -> list[Any]:
        """Rows."""
        return self.postgres.sql(statement, self.database_name)

    def one(self, statement: str) -> Any:
        """One value."""
        return self.ask(statement)[0][0]

    def tasks(self, *states: str) -> int:
        """Tasks in states."""
        return int(self.one(f"SELECT count(*) FROM tasks WHERE state IN {_among(states)}"))

    def attempts(self, *outcomes: str) -> int:
        """Attempts with outcomes."""
        return int(self.one(f"SELECT count(*) FROM attempts WHERE outcome IN {_among(outcomes)}"))

    def pause(self, job: UUID) -> None:
        control.pause(self.database, str(job))

    def resume(self, job: UUID) -> None:
        control.unpause(self.database, str(job))

    def cancel(self, job: UUID) -> None:
        control.cancel(self.database, str(job))

    def supervise(self, job: UUID | str, *, within_s: float, slots: int = 8) -> int:
        """Start a worker whenever none runs, as a supervisor does, until the job ends; gives how many there were."""
        before = len(self.workers)

        def ended() -> bool:
            if all(worker.process.poll() is not None for worker in self.workers):
                self.worker(slots=slots, wait=False)
            return self.state(job) in JOB_ENDED

        until(ended, within_s=within_s, what=f"job {job} ends")
        return len(self.workers) - before

    def done(self, count: int, within_s: float = 30) -> None:
        """Wait until so many tasks are done."""
        until(lambda: self.tasks("done") >= count, within_s=within_s, what=f"{count} tasks are done")

    def check_ended_right(self, job: UUID | str, calm: bytes) -> None:
        """What must hold of a job that was disturbed, whatever happened."""
        assert self.export(job) == calm, "the export differs from the undisturbed run's"
        self.check_nothing_left()
        self.check_calls()

    def check_nothing_left(self) -> None:
        """No lease, no open task, each key's result committed once."""
        left = self.ask("SELECT state, count(*) FROM tasks WHERE state != 'done' GROUP BY 1")
        assert left == [], f"tasks are left: {left}"
        until(
            lambda: self.one("SELECT count(*) FROM key_leases") == 0,
            within_s=self.lease_s + 3, what="no key is held by anybody",
        )  # fmt: skip
        doubled = self.one(
            "SELECT count(*) FROM (SELECT task_id FROM attempts WHERE outcome = 'done' "
            "GROUP BY 1 HAVING count(*) > 1) doubled"
        )
        assert doubled == 0, "a task was committed twice"
        late = self.one(
            "SELECT count(*) FROM attempts a JOIN tasks t ON t.id = a.task_id "
            "WHERE a.outcome = 'done' AND a.epoch != t.epoch"
        )
        assert late == 0, "a process whose lease was lost committed"
        unpaired = self.one(
            "SELECT count(*) FROM tasks t WHERE NOT EXISTS (SELECT 1 FROM results r WHERE r.key = t.key)"
        )
        assert unpaired == 0, "a finished task has no result"

    def check_calls(self) -> None:
        """Provider calls ≤ distinct keys + leases lost + recorded re-asks."""
        lost, again = self.attempts("lost"), self.attempts("retry", "failed")
        calls, keys = self.provider.calls(), self.provider.keys()
        assert calls <= keys + lost + again, f"{calls} calls for {keys} keys, {lost} lost leases, {again} re-asks"


def _among(words: Sequence[str]) -> str:
    return "(" + ", ".join(f"'{word}'" for word in words) + ")"


def now_ms() -> int:
    """The clock that rows are written by."""
    return time.time_ns() // 1_000_000


def said(process: subprocess.Popen[bytes], within_s: float = 60) -> dict[str, Any]:
    """What a command that ended well printed as JSON."""
    out, err = process.communicate(timeout=within_s)
    assert process.returncode == 0, err.decode()[-3000:]
    found: dict[str, Any] = json.loads(out)
    return found
