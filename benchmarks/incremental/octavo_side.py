"""One run of Octavo in a process of its own: `python -m benchmarks.incremental.octavo_side TEXT FOLDER LOG PROMPT`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.incremental.rival import IN_FLIGHT, op_for
from octavo import map_op
from pipeline.ops.decorators import MARK
from pipeline.ops.registry import Registry
from pipeline.settings import Settings
from pipeline.spec import parse
from workers.embedded import EmbeddedRunner
from workers.ingest.find import find
from workers.ingest.ingest import ingest
from workers.planning.jobs import begin_job
from workers.runtime import Runtime

PIPELINE = """
name = "marked"
[[step]]
name = "marked"
kind = "map"
op = "marked"
params = {{ prompt = "{prompt}" }}
"""


def main() -> None:
    """Ingest the text and run the op over its chunks: reading, splitting and aligning are in the seconds."""
    text, folder, log, prompt = sys.argv[1:]
    op = op_for(Path(log), prompt)

    @map_op(version=1)
    def marked(text: str, prompt: str = "") -> str:
        return prompt + op(text)

    made = Runtime(Settings(state=Path(folder) / "state", op_slots=IN_FLIGHT))
    made.ops = Registry([getattr(marked, MARK)])
    began = time.perf_counter()
    spec = parse(PIPELINE.format(prompt=prompt), "bench")
    cutting = made.cutting(spec.grain)
    documents = [ingest(made.database, item, cutting) for item in find([text], Path(folder) / "spool", None)]
    job, _ = begin_job(
        made.database, spec, documents, ops=made.ops, models=made, model="extractive", tokenizer=cutting.counter.name
    )
    EmbeddedRunner(made, job.id).work()
    print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)
    made.close()


if __name__ == "__main__":
    main()
