"""What takes long is done in a process of its own, so that the pages stay quick and a fault takes nothing along.

One JSON line on stdin says what: `{"overrides": {…}, "what": "ingest" | "start" | "work", …}`. One JSON line on stdout
answers: `{"ok": {…}}` or `{"error": {…}}`. When stdin ends, whoever asked is gone, and the work stops cleanly.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

from pipeline import canonical
from pipeline import settings as settings_module
from pipeline.errors import OctavoError
from pipeline.ops.values import Json
from pipeline.spec import PipelineSpec, load
from workers import logs
from workers.embedded import EmbeddedRunner
from workers.faces.begin import begin_over, bring_in
from workers.runtime import Runtime


def main() -> int:
    """Do what stdin says."""
    asked = canonical.loads(sys.stdin.buffer.readline())
    settings = settings_module.current(asked["overrides"])
    logs.set_up(settings)
    runtime = Runtime(settings)
    try:
        answer = {"ok": _done(runtime, asked)}
    except OctavoError as error:
        answer = {"error": {"message": error.message, "cause": error.cause, "hint": error.hint}}
    finally:
        runtime.close()
    sys.stdout.buffer.write(canonical.dumps(answer) + b"\n")
    sys.stdout.buffer.flush()
    return 0


def _done(runtime: Runtime, asked: dict[str, Any]) -> Json:
    if asked["what"] == "work":
        return _work(runtime, UUID(asked["job"]))
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    spec = spec_of(asked["pipeline"])
    if asked["what"] == "ingest":
        return bring_in(runtime, Path(asked["path"]), spec, start=asked["start"])
    job, joined = begin_over(runtime, spec, [UUID(document) for document in asked["documents"]])
    return {"job": str(job.id), "joined": joined}


def spec_of(pipeline: Json) -> PipelineSpec:
    """A pipeline by name, or as it was written out. Raises PipelineError."""
    if isinstance(pipeline, str):
        return load(pipeline)
    return PipelineSpec.model_validate(pipeline)


def _work(runtime: Runtime, job_id: UUID) -> Json:
    runner = EmbeddedRunner(runtime, job_id)
    threading.Thread(target=_stop_with_stdin, args=(runner,), daemon=True).start()
    return {"state": str(runner.work().state)}


def _stop_with_stdin(runner: EmbeddedRunner) -> None:
    sys.stdin.buffer.read()
    runner.stop()


def _end_with_stdin() -> None:
    # An ingest or a beginning is all or nothing in the database: it can be cut short anywhere.
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    raise SystemExit(main())
