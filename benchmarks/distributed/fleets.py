"""Worker processes of both contestants, and one run of each: from the first message, or the job's begin, to the end."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.distributed import plain
from benchmarks.distributed.servers import Servers
from pipeline import settings
from pipeline.spec import PipelineSpec
from pipeline.states import JOB_ENDED, JobState
from workers.clock import now_ms
from workers.distributed.worker import ring_control
from workers.ingest.find import find
from workers.ingest.ingest import Ingested, ingest
from workers.planning.jobs import begin_job
from workers.runtime import Runtime

ROOT = Path(__file__).resolve().parent.parent.parent
SLOTS = 32
LOOK_S = 0.01
JOB_LOOK_S = 0.05  # a look costs a query
MOST_S = 600.0
OPS = "benchmarks.distributed.ops"


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One contestant's run."""

    chunks: int
    seconds: float
    job_id: Any = None

    @property
    def rate(self) -> float:
        """Chunks a second."""
        return self.chunks / self.seconds


class Octavo:
    """Octavo's side: a runtime that begins jobs, and worker processes that do them."""

    def __init__(self, servers: Servers, folder: Path) -> None:
        self._folder = folder
        self._environ = {
            "OCTAVO_STATE": str(folder / "state"), "OCTAVO_DATABASE_URL": servers.database_url,
            "OCTAVO_REDIS_URL": servers.redis_url, "OCTAVO_OPS": OPS, "OCTAVO_TOKENIZER": "characters",
        }  # fmt: skip
        self.runtime = Runtime(settings.load(self._environ, folder, {}))

    def ingest(self, book: Path, limit: int) -> list[Ingested]:
        """Read a book into the database."""
        cutting = self.runtime.cutting(spec("bench_noop", limit).grain)
        found = find([str(book)], self.runtime.spool, io.BytesIO())
        return [ingest(self.runtime.database, source, cutting, encoding="utf-8") for source in found]

    @contextmanager
    def workers(self, processes: int) -> Iterator[list[int]]:
        """Start `octavo worker` so many times; gives their process ids once they serve."""
        command = ["-c", "from octavo.cli.main import main; main()", "worker", "--slots", str(SLOTS)]
        with _processes([sys.executable, *command], self._environ, processes, self._folder) as pids:
            _until(lambda: self._serving() >= set(pids), "the workers serve")
            yield pids

    def _serving(self) -> set[int]:
        with self.runtime.database.read() as rows:
            return {process.pid for process in rows.dispatches.processes(since_ms=now_ms() - 30_000)}

    def run(
        self, documents: Sequence[Ingested], pipeline: PipelineSpec, look: Callable[[Any], None] | None = None
    ) -> Run:
        """Begin a job and wait for its end; `look` is called with the job's id now and then."""
        runtime, began = self.runtime, time.perf_counter()
        job, _ = begin_job(
            runtime.database, pipeline, documents, ops=runtime.ops, models=runtime, model="extractive",
            tokenizer="characters",
        )  # fmt: skip
        ring_control(runtime.settings)

        def ended() -> bool:
            if look is not None:
                look(job.id)
            with runtime.database.read() as rows:
                found = rows.jobs.get(job.id)
            return found is not None and found.state in JOB_ENDED

        _until(ended, "the job ends", JOB_LOOK_S)
        seconds = time.perf_counter() - began
        with runtime.database.read() as rows:
            found = rows.jobs.get(job.id)
            steps = rows.jobs.steps(job.id)
            chunks = sum(rows.tasks.counts([steps[0].id])[steps[0].id].get(state, 0) for state in ("done", "failed"))
        if found is None or found.state is not JobState.DONE:
            raise SystemExit(f"the job ended as {found and found.state}")
        return Run(chunks=chunks, seconds=seconds, job_id=job.id)

    def end(self, job_id: Any) -> None:
        """End a job that was done without workers."""
        with self.runtime.database.write() as rows:
            rows.jobs.move(job_id, to=JobState.DONE, reason=None)

    def close(self) -> None:
        """Let go of the database."""
        self.runtime.close()


def spec(op: str, limit: int, *, reduce: str | None = None, **params: Any) -> PipelineSpec:
    """A pipeline of one map, and a merge after it where `reduce` names one."""
    steps = [{"name": "call", "kind": "map", "op": op, "params": params}]
    if reduce:
        steps.append({"name": "count", "kind": "merge", "op": reduce, "after": "call"})
    return PipelineSpec.model_validate({"name": "bench", "grain": {"limit": limit}, "step": steps})


class Plain:
    """Plain Celery's side."""

    def __init__(self, servers: Servers, folder: Path) -> None:
        self._folder = folder
        self._tally = folder / "tally"
        self._tally.mkdir()
        self._environ = {plain.BROKER: servers.plain_redis_url, plain.TALLY: str(self._tally)}
        plain.app.conf.broker_url = servers.plain_redis_url

    @contextmanager
    def workers(self, processes: int) -> Iterator[list[int]]:
        """Start `celery worker` so many times; gives their process ids once they serve."""
        command = [
            sys.executable, "-m", "celery", "-A", "benchmarks.distributed.plain", "worker", "--pool=threads",
            f"--concurrency={SLOTS}", f"--queues={plain.QUEUE}", "--loglevel=WARNING", "--without-gossip",
            "--without-mingle", "--hostname=plain-NUMBER@%h",
        ]  # fmt: skip
        with _processes(command, self._environ, processes, self._folder) as pids:
            _until(lambda: len(plain.app.control.ping(timeout=0.5)) >= processes, "plain Celery's workers serve")
            yield pids

    def nothing(self, count: int) -> Run:
        """So many no-ops."""
        return self._run(count, lambda: [plain.nothing.apply_async((number,)) for number in range(count)])

    def calls(self, pieces: Sequence[str], ms: int) -> Run:
        """A call for each piece."""
        return self._run(len(pieces), lambda: [plain.ask.apply_async((text, ms)) for text in pieces])

    def _run(self, count: int, publish: Callable[[], object]) -> Run:
        before, began = plain.done(self._tally), time.perf_counter()
        publish()
        _until(lambda: plain.done(self._tally) - before >= count, "plain Celery is through")
        return Run(chunks=count, seconds=time.perf_counter() - began)


@contextmanager
def _processes(command: Sequence[str], environ: dict[str, str], count: int, folder: Path) -> Iterator[list[int]]:
    with ExitStack() as stack:
        started = []
        for number in range(count):
            log = stack.enter_context((folder / "workers.log").open("ab"))
            own = [part.replace("NUMBER", str(number)) for part in command]
            # In the folder, whose octavo.toml may hold model profiles.
            told = {
                **os.environ,
                **environ,
                "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", ""))),
            }
            started.append(subprocess.Popen(own, env=told, cwd=folder, stdout=log, stderr=log))
        try:
            yield [process.pid for process in started]
        finally:
            for process in started:
                process.terminate()
            for process in started:
                try:
                    process.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _until(condition: Callable[[], bool], what: str, look_s: float = LOOK_S) -> None:
    deadline = time.monotonic() + MOST_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {MOST_S:g} s: {what}")
        time.sleep(look_s)
