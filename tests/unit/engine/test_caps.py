"""Hard caps: what may still be begun, whatever other processes commit while it is worked out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from db.values import Counts
from workers import caps


class Moving:
    """Rows of a job of which one call ends between any two reads, as other processes' calls do."""

    def __init__(self, *, ended: int, flying: int) -> None:
        self.ended, self.flying = ended, flying
        self.jobs: Any = SimpleNamespace(counts=self._counts)
        self.dispatches: Any = SimpleNamespace(in_flight=self._in_flight)

    def _end_one(self) -> None:
        if self.flying:
            self.ended, self.flying = self.ended + 1, self.flying - 1

    def _counts(self, _steps: object) -> dict[int, Counts]:
        found = Counts(calls=self.ended, tokens_in=self.ended * 90, tokens_out=self.ended * 10, cost_micros=self.ended)
        self._end_one()
        return {1: found}

    def _in_flight(self, _steps: object) -> int:
        found = self.flying
        self._end_one()
        return found


@pytest.mark.parametrize("cap", [{"max_calls": 12}, {"max_tokens": 1200}, {"max_cost_micros": 12}])
@pytest.mark.parametrize(("ended", "flying"), [(9, 1), (8, 3), (1, 8), (11, 0), (11, 1)])
def test_a_call_that_ends_while_it_is_counted_is_not_left_out(cap: dict[str, int], ended: int, flying: int) -> None:
    more = caps.allowed(Moving(ended=ended, flying=flying), cap, [1])  # type: ignore[arg-type]
    assert 0 <= more <= 12 - ended - flying


def test_an_unknown_price_lets_few_calls_begin_and_a_cap_that_is_reached_none() -> None:
    assert caps.allowed(Moving(ended=0, flying=0), {"max_cost_micros": 5}, [1]) == caps.UNKNOWN  # type: ignore[arg-type]
    assert caps.allowed(Moving(ended=5, flying=0), {"max_cost_micros": 5}, [1]) == 0  # type: ignore[arg-type]
