"""The contestants that are not Octavo. Each does the same call to the same pieces, 32 in flight."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

IN_FLIGHT = 32

Call = Callable[[str], str]


class Clock:
    """Wall and processor seconds of this process since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        """`{wall, cpu}` in seconds."""
        return {"wall": time.perf_counter() - self._wall, "cpu": time.process_time() - self._cpu}


def floor(call: Call, pieces: Sequence[str], _folder: Path) -> dict[str, float]:
    """A thread pool that keeps nothing."""
    clock = Clock()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        for _ in pool.map(call, pieces):
            pass
    return clock.read()


def diskcache(call: Call, pieces: Sequence[str], folder: Path) -> dict[str, float]:
    """A thread pool over diskcache: the fifty lines that many write."""
    from diskcache import Cache

    cache = Cache(str(folder / "diskcache"))

    def once(text: str) -> str:
        key = hashlib.sha256(text.encode()).hexdigest()
        found = cache.get(key)
        if found is None:
            found = call(text)
            cache.set(key, found)
        return str(found)

    clock = Clock()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        for _ in pool.map(once, pieces):
            pass
    return clock.read()


def dbos(call: Call, pieces: Sequence[str], folder: Path) -> dict[str, float]:
    """DBOS on SQLite: a workflow of one step for each piece, through a queue."""
    from dbos import DBOS

    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder / 'dbos.db'}", "log_level": "ERROR"})

    @DBOS.step()
    def step(text: str) -> str:
        return call(text)

    @DBOS.workflow()
    def flow(text: str) -> str:
        return step(text)

    DBOS.launch()
    DBOS.register_queue("pieces", worker_concurrency=IN_FLIGHT, polling_interval_sec=0.05)
    clock = Clock()
    handles = [DBOS.enqueue_workflow("pieces", flow, text) for text in pieces]
    for handle in handles:
        handle.get_result()
    found = clock.read()
    DBOS.destroy()
    return found


RIVALS: dict[str, Callable[[Call, Sequence[str], Path], dict[str, float]]] = {
    "floor": floor,
    "diskcache": diskcache,
    "dbos": dbos,
}
