"""Traces: what a model was shown, as ids and scores."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from db.tables import TraceRow
from db.values import Trace
from pipeline.ops.values import Json


class TraceRepository:
    """The `traces` table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, *, id: UUID, kind: str, body: dict[str, Json]) -> None:  # noqa: A002  # the column's name
        """Store a trace."""
        row = {"id": id, "kind": kind, "body": body, "created_at": datetime.now(UTC)}
        self._connection.execute(insert(TraceRow).values(row))

    def get(self, trace_id: UUID) -> Trace | None:
        """A trace by id."""
        row = self._connection.execute(select(TraceRow.__table__).where(TraceRow.id == trace_id)).one_or_none()
        return None if row is None else Trace(id=row.id, kind=row.kind, body=row.body, created_at=row.created_at)

    def latest(self, limit: int, *, after: UUID | None = None, kinds: Sequence[str] = ()) -> list[Trace]:
        """Traces, newest first; those older than `after`."""
        query = select(TraceRow.__table__).order_by(TraceRow.id.desc()).limit(limit)
        if after is not None:
            query = query.where(TraceRow.id < after)
        if kinds:
            query = query.where(TraceRow.kind.in_(kinds))
        return [
            Trace(id=row.id, kind=row.kind, body=row.body, created_at=row.created_at)
            for row in self._connection.execute(query)
        ]
