"""The splitter: long units of text into pieces of at most so many tokens, as spans, each token counted exactly.

Units come in batches of about BATCH characters. A batch is worked on in rounds; each round hands over texts and takes
their counts, which another thread makes meanwhile for the next batch, so that both cores are busy and memory stays
flat. What a unit's pieces are depends on that unit alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from pipeline.errors import UsageError
from pipeline.split.grain import Grain, Piece, TokenCounter, Unit
from pipeline.split.rounds import Cutter

SPLITTER_VERSION = 4  # a new one makes the pieces of unchanged texts stale
BATCH = 524_288  # characters worked on together
AHEAD = 3  # batches under way at once

Work = Generator[Sequence[str], list[int], list[list[Piece]]]


class Splitter:
    """Cuts units as a grain says. Raises UsageError for a grain that leaves no room for text."""

    def __init__(self, grain: Grain, counter: TokenCounter) -> None:
        if grain.limit < 1:
            raise UsageError(f"Grain {grain.name}: the limit is {grain.limit} tokens; it must be at least 1.")
        if not 0 <= grain.overlap < grain.limit:
            message = f"Grain {grain.name}: an overlap of {grain.overlap} tokens leaves no room in {grain.limit}."
            raise UsageError(message, hint="Make the overlap smaller than the limit.")
        self._cutter = Cutter(grain.limit, grain.overlap, counter)
        self._counter = counter

    def split(self, unit: Unit) -> list[Piece]:
        """The pieces of one unit, in order; none for an empty text."""
        return next(self.split_many([unit]))

    def split_many(self, units: Iterable[Unit]) -> Iterator[list[Piece]]:
        """The pieces of each unit, in order."""
        waiting: deque[tuple[Work, Future[list[int]]]] = deque()
        with ThreadPoolExecutor(1, thread_name_prefix="count") as pool:
            batches = _batches(units)
            while True:
                while len(waiting) < AHEAD and (batch := next(batches, None)) is not None:
                    work = self._cutter.cut(batch)
                    waiting.append((work, pool.submit(self._counter.count_batch, next(work))))
                if not waiting:
                    return
                work, counts = waiting.popleft()
                try:
                    texts = work.send(counts.result())
                except StopIteration as finished:
                    yield from finished.value
                else:
                    waiting.appendleft((work, pool.submit(self._counter.count_batch, texts)))


def _batches(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    batch: list[Unit] = []
    size = 0
    for unit in units:
        batch.append(unit)
        size += len(unit.text) + 64
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
