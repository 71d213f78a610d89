"""What people decided about the entities of documents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Row, Table, exists, func, insert, select, update
from sqlalchemy.engine import Connection

from db.dialect import batches
from db.tables import DecisionRow, JobDocumentRow
from db.values import StoredDecision
from pipeline.ops.values import Json

_TABLE = cast(Table, DecisionRow.__table__)


class DecisionRepository:
    """The `decisions` table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, document_id: UUID, *, kind: str, body: dict[str, Json]) -> int:
        """Store a decision; gives its number."""
        values = {"document_id": document_id, "kind": kind, "body": body, "created_at": datetime.now(UTC)}
        return self._connection.execute(insert(DecisionRow).values(values).returning(DecisionRow.id)).scalar_one()

    def of(self, document_ids: Sequence[UUID], *, undone: bool = False) -> list[StoredDecision]:
        """The decisions about documents in the order in which they were made; those undone only where asked for."""
        found: list[StoredDecision] = []
        for part in batches(document_ids):
            query = select(_TABLE).where(_TABLE.c.document_id.in_(part))
            if not undone:
                query = query.where(_TABLE.c.undone_at.is_(None))
            found += [_decision(row) for row in self._connection.execute(query)]
        return sorted(found, key=lambda item: item.id)

    def mark(self, job_id: UUID) -> tuple[int, int, int]:
        """(how many, the latest, how many undone) of the decisions about a job's documents; it changes with each."""
        theirs = exists().where(JobDocumentRow.document_id == _TABLE.c.document_id, JobDocumentRow.job_id == job_id)
        query = select(func.count(), func.coalesce(func.max(_TABLE.c.id), 0), func.count(_TABLE.c.undone_at))
        row = self._connection.execute(query.where(theirs)).one()
        return int(row[0]), int(row[1]), int(row[2])

    def page(self, document_id: UUID, *, limit: int, before: int | None = None) -> list[StoredDecision]:
        """The decisions about a document, those undone too, newest first."""
        query = select(_TABLE).where(_TABLE.c.document_id == document_id)
        if before is not None:
            query = query.where(_TABLE.c.id < before)
        rows = self._connection.execute(query.order_by(_TABLE.c.id.desc()).limit(limit))
        return [_decision(row) for row in rows]

    def changed_since(self, document_ids: Sequence[UUID], when: datetime) -> bool:
        """Was a decision about one of the documents made or taken back after a time?"""
        later = (_TABLE.c.created_at > when) | (_TABLE.c.undone_at > when)
        return any(
            self._connection.execute(select(exists().where(_TABLE.c.document_id.in_(part), later))).scalar_one()
            for part in batches(document_ids)
        )

    def undo(self, decision_id: int) -> bool:
        """Take a decision back; says whether there was one that held."""
        statement = update(DecisionRow).where(DecisionRow.id == decision_id, DecisionRow.undone_at.is_(None))
        return self._connection.execute(statement.values(undone_at=datetime.now(UTC))).rowcount == 1


def _decision(row: Row[Any]) -> StoredDecision:
    return StoredDecision(
        id=row.id,
        document_id=row.document_id,
        kind=row.kind,
        body=row.body,
        created_at=row.created_at,
        undone_at=row.undone_at,
    )
