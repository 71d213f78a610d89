"""The demo: one sample book through two pipelines, then the same again, which must cost nothing.

Run by `make demo`. Ends with one sentence of verdict, and with exit code 1 when the second run called an op.
"""

# ruff: noqa: T201  # a demo starts the command a person would type, and prints

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

OCTAVO = Path(sys.executable).with_name("octavo")
SAMPLES = Path(__file__).resolve().parent
BOOK = "the-lamp-at-grey-skerry.txt"
PIPELINES = ("summary", "glossary")


def show(pipeline: str, state: Path) -> None:
    """Run a pipeline as a person would and let its output be seen."""
    print(f"\n$ octavo run samples/{BOOK} --pipeline {pipeline}\n", flush=True)
    command = [OCTAVO, "run", SAMPLES / BOOK, "--pipeline", pipeline, "--state", state]
    subprocess.run(command, check=True, stderr=subprocess.STDOUT)


def again(pipeline: str, state: Path) -> dict[str, Any]:
    """Run a pipeline for its figures."""
    command = [OCTAVO, "run", SAMPLES / BOOK, "--pipeline", pipeline, "--state", state, "--json"]
    done = subprocess.run(command, check=True, capture_output=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    print(
        f"{pipeline}: {figures['tasks']} tasks, {figures['hits']} hits, "
        f"{figures['calls']} op calls, {figures['seconds']:.1f} s",
        flush=True,
    )
    return figures


def main() -> int:
    """Run everything in a state folder of its own."""
    with tempfile.TemporaryDirectory(prefix="octavo-demo-") as folder:
        state = Path(folder) / "state"
        try:
            for pipeline in PIPELINES:
                show(pipeline, state)
            print("\n$ both again\n", flush=True)
            figures = [again(pipeline, state) for pipeline in PIPELINES]
        except subprocess.CalledProcessError as error:
            print(f"\nThe demo failed: {' '.join(map(str, error.cmd[:2]))} ended with exit code {error.returncode}.")
            return 1
    tasks, hits, calls = (sum(each[name] for each in figures) for name in ("tasks", "hits", "calls"))
    if calls or hits != tasks:
        print(f"\nThe demo failed: the second run cost something: {hits} of {tasks} tasks hit, {calls} op calls.")
        return 1
    print(f"\nThe second run found all {tasks} tasks in the memo and made 0 op calls.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
