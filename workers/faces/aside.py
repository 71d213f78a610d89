"""What takes longer than a page may: computed in a thread beside it, and kept. The page says that it is being done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Generic, TypeVar

WAIT_S = 0.1  # a page waits so long, then says that it is being done
GOOD_S = 10.0  # an answer is good for so long, or for so many times as long as it took
GOOD_SHARE = 20
KEPT = 50

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Aside(Generic[K, V]):
    """Answers by key, each computed in a thread of this object's own. Safe to call from many threads.

    `for_ever`: what was computed once does not change.
    """

    def __init__(self, name: str, compute: Callable[[K], V], *, for_ever: bool = False, kept: int = KEPT) -> None:
        self._compute = compute
        self._for_ever = for_ever
        self._most = kept
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"octavo-{name}")
        self._kept: dict[K, tuple[V, float]] = {}  # with the time until which it is good
        self._at: dict[K, Future[None]] = {}
        self._turn = threading.Lock()

    def of(self, key: K, *, wait_s: float = WAIT_S) -> V | None:
        """The answer, also one that is no longer good while a new one is made; None: it is being made.

        Raises what computing it raised.
        """
        with self._turn:
            kept = self._kept.get(key)
            if kept is not None and time.monotonic() < kept[1]:
                return kept[0]
            doing = self._at.get(key)
            if doing is None or doing.done():
                doing = self._at[key] = self._pool.submit(self._do, key)
        wait_for([doing], wait_s)
        if doing.done():
            doing.result()
        with self._turn:
            kept = self._kept.get(key)
        return kept[0] if kept else None

    def _do(self, key: K) -> None:
        began = time.monotonic()
        try:
            answer = self._compute(key)
        except BaseException:
            with self._turn:
                self._at.pop(key, None)
            raise
        now = time.monotonic()
        until = float("inf") if self._for_ever else now + max(GOOD_S, GOOD_SHARE * (now - began))
        with self._turn:  # in one turn: who asks between the two would have it computed again
            self._at.pop(key, None)
            self._kept.pop(key, None)
            self._kept[key] = (answer, until)
            while len(self._kept) > self._most:
                self._kept.pop(next(iter(self._kept)))

    def forget(self) -> None:
        """Keep nothing of what was computed."""
        with self._turn:
            self._kept.clear()

    def close(self) -> None:
        """End; what is being computed is waited for."""
        self._pool.shutdown(wait=True, cancel_futures=True)
