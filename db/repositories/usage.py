"""What calls used and what the memo saved, added up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import func, insert, select
from sqlalchemy.engine import Connection

from db.tables import AttemptRow, DirectCallRow, ResultRow, StepRow, TaskRow

DAY_MS = 86_400_000


class Used(NamedTuple):
    """Sums over tasks of one step of a job, on one day where `day` is one (days since 1970, UTC)."""

    step_id: int
    day: int | None
    calls: int
    tokens_in: int
    tokens_out: int
    cost_micros: int


class Direct(NamedTuple):
    """Sums over calls outside jobs of one kind, model, document and day (days since 1970, UTC)."""

    kind: str
    model: str
    document_id: UUID | None
    day: int
    calls: int
    tokens_in: int
    tokens_out: int
    cost_micros: int


class UsageRepository:
    """Sums over the `attempts`, `tasks`, `results` and `direct_calls` tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def spent(self, job_id: UUID, *, low: int = 0, high: int | None = None) -> list[Used]:
        """What was used for a job by step and day; of a range of ordinals where it is given."""
        query = (
            select(
                TaskRow.step_id,
                (AttemptRow.ended_ms // DAY_MS).label("day"),
                func.sum(AttemptRow.calls),
                func.sum(AttemptRow.tokens_in),
                func.sum(AttemptRow.tokens_out),
                func.sum(AttemptRow.cost_micros),
            )
            .join(TaskRow, TaskRow.id == AttemptRow.task_id)
            .join(StepRow, StepRow.id == TaskRow.step_id)
            .where(StepRow.job_id == job_id)
            .group_by(TaskRow.step_id, "day")
        )
        found: dict[tuple[int, int], Used] = {}
        for step, at, calls, *sums in self._connection.execute(_between(query, low, high)):
            key = (step, int(at))
            before = found.get(key, Used(step, int(at), 0, 0, 0, 0))
            more = Used(step, int(at), *map(int, (calls, *sums)))
            found[key] = Used(step, int(at), *(a + b for a, b in zip(before[2:], more[2:], strict=True)))
        return list(found.values())

    def saved(self, job_id: UUID, *, low: int = 0, high: int | None = None) -> Iterator[Used]:
        """What the tasks of a job that were hits would have used, by step."""
        query = (
            select(
                TaskRow.step_id,
                func.count(),
                func.sum(ResultRow.tokens_in),
                func.sum(ResultRow.tokens_out),
                func.sum(ResultRow.cost_micros),
            )
            .join(ResultRow, ResultRow.key == TaskRow.key)
            .join(StepRow, StepRow.id == TaskRow.step_id)
            .where(StepRow.job_id == job_id, TaskRow.hit.is_(True))
            .group_by(TaskRow.step_id)
        )
        for step, calls, *sums in self._connection.execute(_between(query, low, high)):
            yield Used(step, None, calls, *map(int, sums))

    def add_direct(
        self,
        *,
        kind: str,
        model: str,
        document_id: UUID | None,
        calls: int,
        tokens_in: int,
        tokens_out: int,
        cost_micros: int,
        error_code: str | None,
        ended_ms: int,
    ) -> None:
        """Keep what a call outside jobs used."""
        row = {
            "kind": kind, "model": model, "document_id": document_id, "calls": calls, "tokens_in": tokens_in,
            "tokens_out": tokens_out, "cost_micros": cost_micros, "error_code": error_code, "ended_ms": ended_ms,
        }  # fmt: skip
        self._connection.execute(insert(DirectCallRow).values(row))

    def direct(self) -> list[Direct]:
        """What calls outside jobs used."""
        calls = DirectCallRow
        query = select(
            calls.kind,
            calls.model,
            calls.document_id,
            (calls.ended_ms // DAY_MS).label("day"),
            *(func.sum(column) for column in (calls.calls, calls.tokens_in, calls.tokens_out, calls.cost_micros)),
        ).group_by(calls.kind, calls.model, calls.document_id, "day")
        found = self._connection.execute(query)
        return [Direct(kind, model, document, *map(int, sums)) for kind, model, document, *sums in found]


def _between(query: Any, low: int, high: int | None) -> Any:
    if high is None:
        return query
    return query.where(TaskRow.ordinal >= low, TaskRow.ordinal < high)
