"""What takes long is done in a process of its own, so that the pages stay quick and a fault takes nothing along.

One JSON line on stdin says what: `{"overrides": {…}, "what": …}` with the fields of an operation's request; `what` is
`ingest`, `start`, `plan`, `work`, `sweep`, `stand`, `ask` or `index`. One JSON line on stdout answers: `{"ok": {…}}` or
`{"error": {…}}`; of `work` a line BEGUN comes before it, once the process is ready. When stdin ends, whoever asked is
gone, and the work stops cleanly.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

from pipeline import canonical
from pipeline import settings as settings_module
from pipeline.errors import OctavoError
from pipeline.ops.values import Json
from pipeline.spec import PipelineSpec, builtin
from workers import logs
from workers.embedded import EmbeddedRunner
from workers.evidence.index import refresh
from workers.faces.begin import begin_over, bring_in, plan_over, plan_view
from workers.faces.evidence import ask
from workers.faces.views import stands, swept
from workers.runtime import Runtime

BEGUN = b'"begun"\n'


def main() -> int:
    """Do what stdin says. What libraries print goes to stderr: stdout has the answer alone."""
    out = os.dup(1)
    os.dup2(2, 1)
    asked = canonical.loads(_line())
    settings = settings_module.current(asked["overrides"])
    logs.set_up(settings)
    runtime = Runtime(settings)
    try:
        answer = {"ok": _done(runtime, asked, out)}
    except OctavoError as error:
        answer = {"error": {"message": error.message, "cause": error.cause, "hint": error.hint}}
    finally:
        runtime.close()
    said = canonical.dumps(answer) + b"\n"
    try:
        while said:
            said = said[os.write(out, said) :]
    except BrokenPipeError:
        return 1  # whoever asked is gone; what was committed is kept
    return 0


def _line() -> bytes:
    """The line that says what to do: nothing follows it while the asker lives."""
    said = b""
    while not said.endswith(b"\n"):
        more = os.read(0, 1 << 16)
        if not more:
            raise SystemExit(1)
        said += more
    return said


def _wait_for_the_end_of_stdin() -> None:
    # Not by sys.stdin: a thread that holds its lock while the interpreter ends would abort it.
    while os.read(0, 1 << 16):
        pass


def _done(runtime: Runtime, asked: dict[str, Any], out: int) -> Json:
    what = asked["what"]
    if what == "work":
        return _work(runtime, UUID(asked["job"]), out)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    if what == "ingest":
        return bring_in(runtime, Path(asked["path"]), spec_of(asked["pipeline"]), start=asked["start"])
    if what == "sweep":
        return swept(runtime, asked["view"])
    if what == "stand":
        return stands(runtime, asked["view"])
    if what == "plan" and "view" in asked:
        return plan_view(runtime, asked["view"])
    if what == "plan":
        return plan_over(runtime, spec_of(asked["pipeline"]), [UUID(document) for document in asked["documents"]])
    if what == "ask":
        return ask(runtime, asked)
    if what == "index":
        return {"chunks": refresh(runtime.database)}
    job, joined = begin_over(runtime, spec_of(asked["pipeline"]), [UUID(document) for document in asked["documents"]])
    return {"job": str(job.id), "joined": joined}


def spec_of(pipeline: Json) -> PipelineSpec:
    """A built-in pipeline by name, or one as it was written out; never a file of this machine. Raises PipelineError."""
    if isinstance(pipeline, str):
        return builtin(pipeline)
    return PipelineSpec.model_validate(pipeline)


def _work(runtime: Runtime, job_id: UUID, out: int) -> Json:
    runner = EmbeddedRunner(runtime, job_id)
    with contextlib.suppress(BrokenPipeError):
        os.write(out, BEGUN)
    threading.Thread(target=_stop_with_stdin, args=(runner,), daemon=True).start()
    return {"state": str(runner.work().state)}


def _stop_with_stdin(runner: EmbeddedRunner) -> None:
    _wait_for_the_end_of_stdin()
    runner.stop()


def _end_with_stdin() -> None:
    # An ingest or a beginning is all or nothing in the database: it can be cut short anywhere.
    _wait_for_the_end_of_stdin()
    os._exit(1)


if __name__ == "__main__":
    raise SystemExit(main())
