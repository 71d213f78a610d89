"""Chosen entities, version by version."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from db.dialect import insert_new
from db.tables import EntitySetRow
from pipeline.ops.values import Json


class EntitySetRepository:
    """The `entity_sets` table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def latest(self, scope: bytes) -> tuple[int, dict[str, Json]] | None:
        """(id, body) of a scope's newest version."""
        query = select(EntitySetRow.id, EntitySetRow.body).where(EntitySetRow.scope == scope)
        row = self._connection.execute(query.order_by(EntitySetRow.version.desc()).limit(1)).one_or_none()
        return None if row is None else (row[0], row[1])

    def get(self, set_id: int) -> dict[str, Json]:
        """A version by id."""
        return self._connection.execute(select(EntitySetRow.body).where(EntitySetRow.id == set_id)).scalar_one()

    def add(self, scope: bytes, body: dict[str, Json]) -> int:
        """A new version, unless the newest is this already; gives its id. Two writers of one version: one wins."""
        newest = self.latest(scope)
        if newest is not None and newest[1] == body:
            return newest[0]
        query = select(func.coalesce(func.max(EntitySetRow.version), 0)).where(EntitySetRow.scope == scope)
        version = self._connection.execute(query).scalar_one() + 1
        row = {"scope": scope, "version": version, "body": body, "created_at": datetime.now(UTC)}
        self._connection.execute(insert_new(self._connection, EntitySetRow), row)
        found = select(EntitySetRow.id).where(EntitySetRow.scope == scope, EntitySetRow.version == version)
        return int(self._connection.execute(found).scalar_one())
