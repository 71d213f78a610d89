"""Key leases: who computes a key now."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import LargeBinary, any_, bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from db.bulk import Inserts
from db.dialect import batches
from db.prepared import Prepared
from db.tables import KeyLeaseRow

_LEASE = ("key", "task_id", "epoch", "owner", "until_ms")


_ACQUIRE = Inserts(KeyLeaseRow, _LEASE, skip=True)
_RELEASE = Prepared(
    ("key", "owner"),
    lambda _: delete(KeyLeaseRow).where(KeyLeaseRow.key == bindparam("key"), KeyLeaseRow.owner == bindparam("owner")),
)
_RELEASE_ALL = Prepared(
    ("keys", "owner"),
    lambda _: delete(KeyLeaseRow).where(
        KeyLeaseRow.key == any_(bindparam("keys", type_=ARRAY(LargeBinary))), KeyLeaseRow.owner == bindparam("owner")
    ),
)


class LeaseRepository:
    """The `key_leases` table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def acquire(self, wanted: Sequence[tuple[bytes, int, int]], *, owner: str, now_ms: int, until_ms: int) -> set[int]:
        """Lease keys for tasks, given (key, task id, epoch); gives the ids of the tasks that got theirs.

        A lease that ran out is taken over. Of several tasks that want one key, the first gets it.
        """
        if not wanted:
            return set()
        # In the order of the keys: two transactions that insert the same keys crosswise would wait for each other.
        first = sorted({item[0]: item for item in reversed(wanted)}.values())
        rows = [(key, task_id, epoch, owner, until_ms) for key, task_id, epoch in first]
        if _ACQUIRE.many(self._connection, rows) == len(rows):
            return {row[1] for row in rows}
        got = self._held(rows, owner)
        return got | self._take_over([row for row in rows if row[1] not in got], now_ms)

    def _held(self, rows: Sequence[tuple[bytes, int, int, str, int]], owner: str) -> set[int]:
        epochs = {task_id: epoch for _, task_id, epoch, _, _ in rows}
        got: set[int] = set()
        for part in batches([row[0] for row in rows]):
            query = select(KeyLeaseRow.task_id, KeyLeaseRow.epoch).where(
                KeyLeaseRow.key.in_(part), KeyLeaseRow.owner == owner
            )
            got.update(row[0] for row in self._connection.execute(query) if epochs.get(row[0]) == row[1])
        return got

    def _take_over(self, rows: Sequence[tuple[bytes, int, int, str, int]], now_ms: int) -> set[int]:
        """Those of the rows whose key had a lease that ran out. Waits for nobody: others may wait for what we hold."""
        by_key = {row[0]: row for row in rows}
        got: set[int] = set()
        for part in batches(list(by_key)):
            query = select(KeyLeaseRow.key).where(KeyLeaseRow.key.in_(part), KeyLeaseRow.until_ms < now_ms)
            if self._connection.dialect.name == "postgresql":
                query = query.with_for_update(skip_locked=True)
            for key in self._connection.execute(query).scalars().all():
                statement = update(KeyLeaseRow).where(KeyLeaseRow.key == key)
                self._connection.execute(statement.values(dict(zip(_LEASE, by_key[key], strict=True))))
                got.add(by_key[key][1])
        return got

    def held(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys that somebody holds, and does not give back before this transaction has ended.

        Who lets a task wait for one of them is seen by who gives it back: that one waits for this transaction, and
        looks for waiting tasks afterwards. A key that is being given back just now is none of them: this waits for
        nobody.
        """
        found: set[bytes] = set()
        for part in batches(keys):
            query = select(KeyLeaseRow.key).where(KeyLeaseRow.key.in_(part))
            if self._connection.dialect.name == "postgresql":
                query = query.with_for_update(key_share=True, read=True, skip_locked=True)
            found.update(self._connection.execute(query).scalars())
        return found

    def release(self, keys: Sequence[bytes], *, owner: str) -> None:
        """Give back keys that `owner` holds. Tasks that wait for them are looked for after that, not before."""
        if not keys:
            return
        if self._connection.dialect.name == "postgresql":
            _RELEASE_ALL.one(self._connection, (list(keys), owner))
        else:
            _RELEASE.many(self._connection, [(key, owner) for key in keys])

    def give_up(self, held: Sequence[tuple[bytes, int, int]], *, owner: str) -> None:
        """Give back keys that `owner` holds for (key, task id, epoch): not those it leased anew for another try."""
        for key, task_id, epoch in held:
            self._connection.execute(
                delete(KeyLeaseRow).where(
                    KeyLeaseRow.key == key,
                    KeyLeaseRow.owner == owner,
                    KeyLeaseRow.task_id == task_id,
                    KeyLeaseRow.epoch == epoch,
                )
            )

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
