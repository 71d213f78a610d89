"""Octavo as a program uses it: ingest, begin a job, work on it in this process; SQLite with its usual durability."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.engine import calls
from benchmarks.engine.book import LIMIT
from benchmarks.engine.memory import resident_mb
from benchmarks.engine.rivals import IN_FLIGHT, Clock
from pipeline import settings
from pipeline.spec import PipelineSpec
from pipeline.states import JobState
from workers.embedded import Beat, EmbeddedRunner
from workers.ingest.find import find
from workers.ingest.ingest import ingest
from workers.planning.jobs import begin_job
from workers.progress import progress
from workers.runtime import Runtime

ENVIRON = {"OCTAVO_OPS": "benchmarks.engine.ops", "OCTAVO_TOKENIZER": "characters"}


@dataclass(slots=True)
class Trail:
    """Memory and time as a run goes on: (tasks done, seconds since the first beat, resident MB)."""

    clock: Clock = field(default_factory=Clock)
    points: list[tuple[int, float, float]] = field(default_factory=list)

    def beat(self, beat: Beat) -> None:
        """Take a point."""
        self.points.append((beat.progress.total("done"), self.clock.read()["wall"], resident_mb()))


def spec(kind: str, prompt: str) -> PipelineSpec:
    """A pipeline of one map."""
    step = {"name": "call", "kind": "map", "op": f"bench_{kind}", "params": {"prompt": prompt}}
    return PipelineSpec.model_validate({"name": "bench", "grain": {"limit": LIMIT}, "step": [step]})


def run(book: Path, state: Path, kind: str, *, prompt: str = "A", trail: Trail | None = None) -> dict[str, float]:
    """One run, as `octavo run` does it: `{wall, cpu}` of the job, `ingest` and `whole` seconds, chunks, hits, calls."""
    environ = ENVIRON | {"OCTAVO_OP_SLOTS": str(IN_FLIGHT)}
    before = calls.calls_so_far() if kind == "http" else 0
    whole = Clock()
    runtime = Runtime(settings.load(environ, state, {"state": state}))
    try:
        pipeline = spec(kind, prompt)
        found = find([str(book)], runtime.spool, io.BytesIO())
        cutting = runtime.cutting(pipeline.grain)
        documents = [ingest(runtime.database, source, cutting, encoding="utf-8") for source in found]
        ingested = whole.read()["wall"]
        clock = Clock()
        job, _ = begin_job(
            runtime.database,
            pipeline,
            documents,
            ops=runtime.ops,
            models=runtime,
            model=runtime.settings.model,
            tokenizer=cutting.counter.name,
        )
        job = EmbeddedRunner(runtime, job.id, on_beat=trail.beat if trail else None).work()
        taken = clock.read()
        with runtime.database.read() as rows:
            standing = progress(rows, job)
    finally:
        runtime.close()
    if job.state is not JobState.DONE:
        raise SystemExit(f"the job ended as {job.state}: {job.reason}")
    taken |= {"ingest": ingested, "whole": whole.read()["wall"], "resident": resident_mb()}
    taken |= {"chunks": standing.total("tasks"), "hits": standing.total("hits"), "calls": standing.count("calls")}
    if kind == "http":
        taken["asked"] = calls.calls_so_far() - before
    return taken
