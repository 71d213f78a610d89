"""Attempts: how each try of a task ended."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.engine import Connection

from db.base import holdable
from db.dialect import batches
from db.repositories import task_statements as statements
from db.tables import AttemptRow, TaskRow
from db.values import NewAttempt


class AttemptRepository:
    """The `attempts` table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, attempts: Sequence[NewAttempt]) -> None:
        """Store how tries ended."""
        rows = [item if item.message is None else item._replace(message=holdable(item.message)) for item in attempts]
        statements.ADD_ATTEMPT.many(self._connection, rows)

    def latest_fault(self, step_ids: Sequence[int]) -> str | None:
        """`code: message` of the latest try of the steps that failed and said why."""
        query = (
            select(AttemptRow.error_code, AttemptRow.message)
            .join(TaskRow, TaskRow.id == AttemptRow.task_id)
            .where(TaskRow.step_id.in_(step_ids), AttemptRow.message.is_not(None))
            .order_by(AttemptRow.id.desc())
            .limit(1)
        )
        found = self._connection.execute(query).one_or_none()
        return f"{found.error_code}: {found.message}" if found else None

    def of(self, task_ids: Sequence[int]) -> list[NewAttempt]:
        """The tries of tasks, in order."""
        columns = [AttemptRow.__table__.c[name] for name in NewAttempt._fields]
        found: list[NewAttempt] = []
        for part in batches(task_ids):
            query = select(*columns).where(AttemptRow.task_id.in_(part)).order_by(AttemptRow.task_id, AttemptRow.id)
            found.extend(NewAttempt(*row) for row in self._connection.execute(query))
        return found
