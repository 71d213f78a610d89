"""DBOS on PostgreSQL: a workflow of one step for each piece, through a queue. `python -m …rival URL BOOK COUNT`.

Prints the seconds it took.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from dbos import DBOS

from benchmarks.distributed import calls
from benchmarks.distributed.fleets import SLOTS
from benchmarks.engine.book import pieces_of


def main() -> None:
    """Run it."""
    url, pieces = sys.argv[1], pieces_of(Path(sys.argv[2]))[: int(sys.argv[3])]
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})

    @DBOS.step()
    def step(text: str) -> str:
        return calls.nothing(text)

    @DBOS.workflow()
    def flow(text: str) -> str:
        return step(text)

    DBOS.launch()
    DBOS.register_queue("pieces", worker_concurrency=SLOTS, polling_interval_sec=0.05)
    began = time.perf_counter()
    handles = [DBOS.enqueue_workflow("pieces", flow, text) for text in pieces]
    for handle in handles:
        handle.get_result()
    print(time.perf_counter() - began)
    DBOS.destroy()


if __name__ == "__main__":
    main()
