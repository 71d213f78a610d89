"""How busy slow calls keep 32 slots, embedded and over Celery; how much a batch in process is worth.

    python -m benchmarks.llm [--chunks 4232] [--rounds 3] [--model FOLDER] [--blas LIBRARY] [--only slots,batch]

Slots: every chunk is one chat completion of a stub that takes 200 ms, through the `openai` SDK; 32 are the profile's
slots (a limit of concurrency counts a call from its permit on, the building of its request too). Ideal is chunks ×
0.2 s / 32, and time counts from the job's begin (planning, commits and all) to its end. Batch: eight prompts of one
length one by one, then together, in one process with the model; needs the model of `make demo-mlx`. The bound of 2
holds with OpenBLAS (`--blas`, else the system's); without it the ratio is told and nothing is required.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.distributed.fleets import SLOTS, Octavo, spec
from benchmarks.distributed.servers import servers
from benchmarks.engine.bounds import Bound
from pipeline import settings
from pipeline.spec import PipelineSpec
from workers.embedded import EmbeddedRunner
from workers.ingest.find import find
from workers.ingest.ingest import ingest
from workers.planning.jobs import begin_job
from workers.runtime import Runtime

MS = 200
PROFILE = """
[models.stub]
provider = "openai"
base_url = "http://127.0.0.1:{port}/v1"
model = "stub"
slots = {slots}
"""
ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / ".octavo-demo" / "SmolLM2-135M-Instruct"


def main() -> int:
    """Run it; gives the exit code."""
    options = _options()
    bounds: list[Bound] = []
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as name, _stub() as port:
        folder = Path(name)
        (folder / "octavo.toml").write_text(PROFILE.format(port=port, slots=SLOTS))
        (folder / "book.md").write_text(_book(options.chunks))
        if "slots" in options.only:
            bounds.append(_bound("embedded", _embedded(folder, options), options))
            bounds.append(_bound("over Celery", _celery(folder, options), options))
    if "batch" in options.only:
        bounds += _batch(options)
    for bound in bounds:
        print(bound.line())
    return 0 if all(bound.met for bound in bounds) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=4232)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", type=Path, default=KEPT)
    parser.add_argument("--blas", default=None)
    parser.add_argument("--only", type=lambda text: text.split(","), default=["slots", "batch"])
    return parser.parse_args()


@contextmanager
def _stub() -> Iterator[int]:
    command = [sys.executable, "-m", "benchmarks.llm.stub", str(MS)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def _book(chunks: int) -> str:
    said = "On day {} keeper {} lit lamp {} of the tower."
    return "\n".join(f"# Chapter {n}\n\n{said.format(n * 7, n, n * 13)}\n" for n in range(chunks))


def _pipeline(salt: str) -> PipelineSpec:
    step = {"name": "ask", "kind": "map", "op": "prompt", "model": "stub", "prompt": f"{salt} {{{{ text }}}}"}
    return PipelineSpec.model_validate({"name": "bench", "grain": {"limit": 200}, "step": [step]})


def _bound(way: str, seconds: list[float], options: argparse.Namespace) -> Bound:
    ideal = options.chunks * MS / 1000 / SLOTS
    shares = [ideal / took for took in seconds]
    told = ", ".join(f"{share:.3f}" for share in shares)
    print(f"  {way}: {options.chunks} calls of {MS} ms in {SLOTS} slots, share of the ideal: {told}", flush=True)
    return Bound(what=f"share of the ideal, {way}", value=statistics.median(shares), bound=0.95)


def _embedded(folder: Path, options: argparse.Namespace) -> list[float]:
    runtime = Runtime(settings.load({"OCTAVO_STATE": str(folder / "state")}, folder, {}))
    try:
        found = find([str(folder / "book.md")], runtime.spool, None)
        cutting = runtime.cutting(_pipeline("").grain)
        documents = [ingest(runtime.database, source, cutting) for source in found]
        took = []
        for number in range(options.rounds + 1):  # the first, which is short of imports and connections, does not count
            began = time.perf_counter()
            job, _ = begin_job(
                runtime.database, _pipeline(str(number)), documents, ops=runtime.ops, models=runtime, model="stub",
                tokenizer=cutting.counter.name,
            )  # fmt: skip
            ended = EmbeddedRunner(runtime, job.id).work()
            assert ended.state == "done", ended
            took.append(time.perf_counter() - began)
        return took[1:]
    finally:
        runtime.close()


def _celery(folder: Path, options: argparse.Namespace) -> list[float]:
    with servers(folder) as found:
        octavo = Octavo(found, folder)
        try:
            documents = octavo.ingest(folder / "book.md", spec("bench_noop", 200).grain.limit)
            with octavo.workers(1):
                runs = [octavo.run(documents, _pipeline(f"c{number}")) for number in range(options.rounds + 1)]
            return [run.seconds for run in runs[1:]]
        finally:
            octavo.close()


def _batch(options: argparse.Namespace) -> list[Bound]:
    if not (options.model / "config.json").is_file():
        print("  batch: no model; make demo-mlx makes one")
        return []
    blas = options.blas or _system_blas()
    environment = dict(os.environ) | ({"LD_PRELOAD": blas} if blas else {})
    command = [sys.executable, "-m", "benchmarks.llm.batch", str(options.model)]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    single, together = (float(word) for word in done.stdout.split()[-2:])
    library = "OpenBLAS" if blas else "the bundled BLAS"
    print(f"  batch of 8 with {library}: {single:.1f} s one by one, {together:.1f} s together")
    if blas is None:
        print("  OpenBLAS is absent (package libopenblas0-pthread): nothing is required of the ratio")
        return []
    return [Bound(what="a batch of 8 beside single calls", value=single / together, bound=2.0)]


def _system_blas() -> str | None:
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    return next((line.rpartition(" => ")[2] for line in listed.splitlines() if "libopenblas" in line), None)


if __name__ == "__main__":
    raise SystemExit(main())
