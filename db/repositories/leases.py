"""Key leases: who computes a key now."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select, update
from sqlalchemy.engine import Connection

from db.dialect import batches, insert_new
from db.tables import KeyLeaseRow


class LeaseRepository:
    """The `key_leases` table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def acquire(
        self, wanted: Sequence[tuple[bytes, int, int]], *, owner: str, now_ms: int, until_ms: int
    ) -> set[int]:
        """Lease keys for tasks, given (key, task id, epoch); gives the ids of the tasks that got theirs.

        A lease that ran out is taken over. Of several tasks that want one key, the first gets it.
        """
        if not wanted:
            return set()
        rows = [
            {"key": key, "task_id": task_id, "epoch": epoch, "owner": owner, "until_ms": until_ms}
            for key, task_id, epoch in {item[0]: item for item in reversed(wanted)}.values()
        ]
        statement = insert_new(self._connection, KeyLeaseRow).returning(KeyLeaseRow.task_id)
        got = set(self._connection.execute(statement, rows).scalars())
        if len(got) < len(rows):
            left = [row for row in rows if row["task_id"] not in got]
            got |= self._take_over(left, now_ms)
        return got

    def _take_over(self, rows: Sequence[dict[str, object]], now_ms: int) -> set[int]:
        got: set[int] = set()
        for row in rows:
            statement = update(KeyLeaseRow).where(KeyLeaseRow.key == row["key"], KeyLeaseRow.until_ms < now_ms)
            if self._connection.execute(statement.values(**row)).rowcount == 1:
                got.add(int(str(row["task_id"])))
        return got

    def release(self, keys: Sequence[bytes], *, owner: str) -> None:
        """Give back keys that `owner` holds."""
        for part in batches(keys):
            self._connection.execute(delete(KeyLeaseRow).where(KeyLeaseRow.key.in_(part), KeyLeaseRow.owner == owner))

    def drop(self, owners: Sequence[str], now_ms: int) -> list[bytes]:
        """Void the leases of dead owners and those that ran out; gives their keys."""
        condition = (KeyLeaseRow.until_ms < now_ms) | KeyLeaseRow.owner.in_(owners)
        keys = list(self._connection.execute(select(KeyLeaseRow.key).where(condition)).scalars())
        if keys:
            self._connection.execute(delete(KeyLeaseRow).where(condition))
        return keys

    def owners(self) -> set[str]:
        """Who holds a lease."""
        return set(self._connection.execute(select(KeyLeaseRow.owner).distinct()).scalars())

    def renew(self, owner: str, keys: Sequence[bytes], until_ms: int) -> None:
        """Hold keys longer."""
        for part in batches(keys):
            statement = update(KeyLeaseRow).where(KeyLeaseRow.key.in_(part), KeyLeaseRow.owner == owner)
            self._connection.execute(statement.values(until_ms=until_ms))
