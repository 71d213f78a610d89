"""The memo and what is derived from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter

from sqlalchemy import func, select, update
from sqlalchemy.engine import Connection

from db.bulk import Inserts
from db.dialect import batches
from db.packing import packed, unpacked
from db.prepared import stored
from db.tables import PartitionRow, PartRow, ResultRow, TaskRow
from db.values import NewResult, Pace

_RESULT = tuple(ResultRow.__table__.c.keys())


_ADD = Inserts(ResultRow, _RESULT, skip=True)
_ADD_PARTITION = Inserts(PartitionRow, ("output_sha256", "scheme", "parts"), skip=True)
_ADD_PART = Inserts(PartRow, ("scheme", "shard", "output_sha256", "items"), skip=True)
_SAMPLE = 1000
_key = attrgetter("key")


class ResultRepository:
    """The `results` and `partitions` tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, results: Sequence[NewResult]) -> None:
        """Store results; a key that has one keeps it, and the loser adopts the stored one."""
        if not results:
            return
        now = datetime.now(UTC)
        columns, dialect = ResultRow.__table__.c, self._connection.dialect
        created = stored(columns.created_at.type, now, dialect)
        used = stored(columns.last_used.type, now.date(), dialect)
        rows = [
            (
                result.key,
                result.op,
                packed(result.output),
                len(result.output),
                result.output_sha256,
                result.spans,
                result.tokens_in,
                result.tokens_out,
                result.cost_micros,
                result.latency_ms,
                result.model,
                created,
                used,
            )
            for result in sorted(results, key=_key)  # crosswise inserts of two transactions would wait for each other
        ]
        _ADD.many(self._connection, rows)

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys that have a result."""
        found: set[bytes] = set()
        for part in batches(keys):
            found.update(self._connection.execute(select(ResultRow.key).where(ResultRow.key.in_(part))).scalars())
        return found

    def outputs(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Outputs by key, as canonical JSON bytes."""
        found: dict[bytes, bytes] = {}
        for part in batches(keys):
            query = select(ResultRow.key, ResultRow.output).where(ResultRow.key.in_(part))
            found.update((key, unpacked(output)) for key, output in self._connection.execute(query))
        return found

    def outputs_and_spans(self, keys: Sequence[bytes]) -> dict[bytes, tuple[bytes, bytes]]:
        """(output, spans) by key."""
        found: dict[bytes, tuple[bytes, bytes]] = {}
        for part in batches(keys):
            query = select(ResultRow.key, ResultRow.output, ResultRow.spans).where(ResultRow.key.in_(part))
            found.update((key, (unpacked(output), spans)) for key, output, spans in self._connection.execute(query))
        return found

    def hashes(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Output hashes by key."""
        found: dict[bytes, bytes] = {}
        for part in batches(keys):
            query = select(ResultRow.key, ResultRow.output_sha256).where(ResultRow.key.in_(part))
            found.update(self._connection.execute(query).all())
        return found

    def use(self, step_id: int) -> None:
        """Note that a step's results were used today; written only where the day is new."""
        today = datetime.now(UTC).date()
        keys = select(TaskRow.key).where(TaskRow.step_id == step_id, TaskRow.hit.is_(True))
        statement = update(ResultRow).where(ResultRow.key.in_(keys), ResultRow.last_used < today)
        self._connection.execute(statement.values(last_used=today))

    def pace(self, op: str, model: str) -> Pace | None:
        """How fast a model answered an op and how much it wrote, on average over some of its results."""
        some = select(ResultRow.latency_ms, ResultRow.tokens_out).where(ResultRow.op == op, ResultRow.model == model)
        part = some.limit(_SAMPLE).subquery()
        row = self._connection.execute(select(func.avg(part.c.latency_ms), func.avg(part.c.tokens_out))).one()
        return None if row[0] is None else Pace(seconds=float(row[0]) / 1000, tokens_out=float(row[1]))

    def count(self) -> int:
        """How many results there are."""
        return self._connection.execute(select(func.count()).select_from(ResultRow)).scalar_one()

    def partitions(self, scheme: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The stored partitions of outputs, by output hash."""
        found: dict[bytes, bytes] = {}
        for part in batches(hashes):
            query = select(PartitionRow.output_sha256, PartitionRow.parts).where(
                PartitionRow.scheme == scheme, PartitionRow.output_sha256.in_(part)
            )
            found.update(self._connection.execute(query).all())
        return found

    def add_partitions(
        self, scheme: str, partitions: Mapping[bytes, bytes], parts: Sequence[tuple[int, bytes, bytes]]
    ) -> None:
        """Store partitions of outputs, and their parts as (shard, output hash, items)."""
        _ADD_PARTITION.many(self._connection, [(sha, scheme, data) for sha, data in partitions.items()])
        _ADD_PART.many(self._connection, [(scheme, shard, sha, packed(items)) for shard, sha, items in parts])

    def parts(self, scheme: str, shard: int, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The items of one shard, by output hash."""
        found: dict[bytes, bytes] = {}
        for part in batches(hashes):
            query = select(PartRow.output_sha256, PartRow.items).where(
                PartRow.scheme == scheme, PartRow.shard == shard, PartRow.output_sha256.in_(part)
            )
            found.update((sha, unpacked(items)) for sha, items in self._connection.execute(query))
        return found
