"""What failed tries were billed and what the memo saved. It takes a look at every task: it is added up beside pages."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from datetime import date

from db.database import Database
from db.listed import Beside

WAIT_S = 0.1  # a page waits so long, then says that it is being added up
GOOD_S = 10.0  # a sum is good for so long, or for so many times as long as it took
GOOD_SHARE = 20
KEPT = 50

Days = tuple[date, date]
Sums = dict[tuple[date, str], Beside]


@dataclass(frozen=True, slots=True)
class _Kept:
    sums: Sums
    until: float


class Costs:
    """Adds up in a thread of its own, and keeps what it found. Safe to call from many threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="octavo-costs")
        self._kept: dict[Days, _Kept] = {}
        self._adding: dict[Days, Future[None]] = {}
        self._turn = threading.Lock()

    def of(self, low: date, high: date, *, wait_s: float = WAIT_S) -> Sums | None:
        """By day and pipeline, of jobs that began on a day from `low` to `high`; None: it is being added up."""
        days = (low, high)
        with self._turn:
            kept = self._kept.get(days)
            if kept is not None and time.monotonic() < kept.until:
                return kept.sums
            adding = self._adding.get(days)
            if adding is None or adding.done():
                adding = self._adding[days] = self._pool.submit(self._add_up, days)
        wait_for([adding], wait_s)
        with self._turn:
            kept = self._kept.get(days)
        return kept.sums if kept else None

    def _add_up(self, days: Days) -> None:
        began = time.monotonic()
        with self._database.read() as rows:
            sums = rows.lists.beside_paid(*days)
        took = time.monotonic() - began
        with self._turn:
            self._adding.pop(days, None)
            self._kept.pop(days, None)
            self._kept[days] = _Kept(sums, time.monotonic() + max(GOOD_S, GOOD_SHARE * took))
            while len(self._kept) > KEPT:
                self._kept.pop(next(iter(self._kept)))

    def close(self) -> None:
        """End; a sum that is under way is waited for."""
        self._pool.shutdown(wait=True, cancel_futures=True)
