"""What failed tries were billed and what the memo saved. It takes a look at every task: it is added up beside pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from db.database import Database
from db.listed import Beside
from workers.faces.aside import WAIT_S, Aside

Days = tuple[date, date]
Sums = dict[tuple[date, str], Beside]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepSums:
    """Of a step: (calls, tokens, millionths of the currency) that the memo saved, and that failed tries used."""

    saved: tuple[int, int, int]
    wasted: tuple[int, int, int]


class Costs:
    """Adds up in threads of its own, and keeps what it found. Safe to call from many threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._days: Aside[Days, Sums] = Aside("costs", self._of_days)
        self._steps: Aside[tuple[int, ...], StepSums] = Aside("step-costs", self._of_steps)

    def of(self, low: date, high: date, *, wait_s: float = WAIT_S) -> Sums | None:
        """By day and pipeline, of jobs that began on a day from `low` to `high`; None: it is being added up."""
        return self._days.of((low, high), wait_s=wait_s)

    def of_steps(self, step_ids: Sequence[int], *, wait_s: float = WAIT_S) -> StepSums | None:
        """Of the levels of a step; None: it is being added up."""
        return self._steps.of(tuple(step_ids), wait_s=wait_s)

    def _of_days(self, days: Days) -> Sums:
        with self._database.read() as rows:
            return rows.lists.beside_paid(*days)

    def _of_steps(self, step_ids: tuple[int, ...]) -> StepSums:
        with self._database.read() as rows:
            return StepSums(saved=rows.task_lists.saved(step_ids), wasted=rows.task_lists.wasted(step_ids))

    def forget(self) -> None:
        """Add up anew when it is asked for next."""
        self._days.forget()
        self._steps.forget()

    def close(self) -> None:
        """End; a sum that is under way is waited for."""
        self._days.close()
        self._steps.close()
