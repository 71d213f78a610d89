"""The memo and what is derived from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, select, update
from sqlalchemy.engine import Connection

from db.bulk import Inserts
from db.dialect import batches
from db.packing import packed, unpacked
from db.prepared import IDS, Prepared, among, ids_for, stored
from db.repositories.task_statements import DONE
from db.tables import PartitionRow, PartRow, ResultRow, TaskRow
from db.values import NewPartition, NewResult, Pace
from pipeline.states import TaskState

_RESULT = tuple(ResultRow.__table__.c.keys())


_ADD = Inserts(ResultRow, _RESULT, skip=True)
_ADD_PARTITION = Inserts(PartitionRow, ("output_sha256", "scheme", "parts"), skip=True)
_ADD_PART = Inserts(PartRow, ("scheme", "shard", "output_sha256", "items"), skip=True)
_SAMPLE = 1000
_key = attrgetter("key")


def _parts(dialect: str) -> Any:
    return (
        select(TaskRow.ordinal, PartRow.items)
        .join(ResultRow, ResultRow.key == TaskRow.key)
        .join(
            PartRow,
            (PartRow.scheme == bindparam("scheme"))
            & (PartRow.shard == bindparam("shard"))
            & (PartRow.output_sha256 == ResultRow.output_sha256),
        )
        .where(TaskRow.step_id == bindparam("step_id"), among(TaskRow.ordinal, dialect), TaskRow.state == DONE)
    )


_PARTS = Prepared(("scheme", "shard", "step_id", IDS), _parts)


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

    def hashes(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Output hashes by key."""
        return {key: sha for key, (sha, _) in self.sizes(keys).items()}

    def sizes(self, keys: Sequence[bytes]) -> dict[bytes, tuple[bytes, int]]:
        """(output hash, bytes of the output) by key."""
        found: dict[bytes, tuple[bytes, int]] = {}
        for part in batches(keys):
            query = select(ResultRow.key, ResultRow.output_sha256, ResultRow.output_size).where(ResultRow.key.in_(part))
            found.update((key, (sha, size)) for key, sha, size in self._connection.execute(query))
        return found

    def outputs_and_spans(self, keys: Sequence[bytes]) -> dict[bytes, tuple[bytes, bytes]]:
        """(output, spans) by key."""
        found: dict[bytes, tuple[bytes, bytes]] = {}
        for part in batches(keys):
            query = select(ResultRow.key, ResultRow.output, ResultRow.spans).where(ResultRow.key.in_(part))
            found.update((key, (unpacked(output), spans)) for key, output, spans in self._connection.execute(query))
        return found

    def use(self, step_id: int) -> None:
        """Note that a step's results were used today; written only where the day is new."""
        today = datetime.now(UTC).date()
        keys = select(TaskRow.key).where(TaskRow.step_id == step_id, TaskRow.hit.is_(True))
        statement = update(ResultRow).where(ResultRow.key.in_(keys), ResultRow.last_used < today)
        self._connection.execute(statement.values(last_used=today))

    def pace(self, op: str, model: str) -> Pace | None:
        """How fast a model answered an op and how much it wrote, on average over some of its results."""
        columns = (ResultRow.latency_ms, ResultRow.tokens_in, ResultRow.tokens_out)
        part = select(*columns).where(ResultRow.op == op, ResultRow.model == model).limit(_SAMPLE).subquery()
        row = self._connection.execute(select(*(func.avg(column) for column in part.c))).one()
        if row[0] is None:
            return None
        return Pace(seconds=float(row[0]) / 1000, tokens_in=float(row[1]), tokens_out=float(row[2]))

    def points(self, op: str) -> bool | None:
        """Do results of an op name places within their chunks? None: there is none yet."""
        part = select(ResultRow.spans).where(ResultRow.op == op).limit(_SAMPLE).subquery()
        row = self._connection.execute(select(func.count(), func.max(func.length(part.c.spans)))).one()
        return None if not row[0] else int(row[1] or 0) > len(b"[]")

    def count(self) -> int:
        """How many results there are."""
        return self._connection.execute(select(func.count()).select_from(ResultRow)).scalar_one()

    def unpartitioned(self, step_id: int, scheme: str) -> list[tuple[bytes, bytes]]:
        """(output hash, a key) of the outputs of a step's finished tasks that have no partition of this scheme."""
        query = (
            select(ResultRow.output_sha256, ResultRow.key)
            .select_from(TaskRow)
            .join(ResultRow, ResultRow.key == TaskRow.key)
            .join(PartitionRow, _partition_of(scheme), isouter=True)
            .where(TaskRow.step_id == step_id, TaskRow.state == TaskState.DONE, PartitionRow.scheme.is_(None))
        )
        found: dict[bytes, bytes] = {}
        for sha, key in self._connection.execute(query):
            found.setdefault(sha, key)
        return list(found.items())

    def partitions_of(self, step_id: int, scheme: str) -> Iterator[tuple[int, bytes]]:
        """(ordinal, stored partition) of a step's finished tasks, in order."""
        query = (
            select(TaskRow.ordinal, PartitionRow.parts)
            .join(ResultRow, ResultRow.key == TaskRow.key)
            .join(PartitionRow, _partition_of(scheme))
            .where(TaskRow.step_id == step_id, TaskRow.state == TaskState.DONE)
            .order_by(TaskRow.ordinal)
        )
        for row in self._connection.execute(query.execution_options(yield_per=5000)):
            yield row[0], row[1]

    def partition_bytes(self, step_id: int, scheme: str) -> int:
        """The bytes of what `partitions_of` gives."""
        query = (
            select(func.coalesce(func.sum(func.length(PartitionRow.parts)), 0))
            .select_from(TaskRow)
            .join(ResultRow, ResultRow.key == TaskRow.key)
            .join(PartitionRow, _partition_of(scheme))
            .where(TaskRow.step_id == step_id, TaskRow.state == TaskState.DONE)
        )
        return int(self._connection.execute(query).scalar_one())

    def partitions_by_output(self, hashes: Sequence[bytes], scheme: str) -> dict[bytes, bytes]:
        """Stored partitions by output hash, of those that have one."""
        found: dict[bytes, bytes] = {}
        for part in batches(hashes):
            query = select(PartitionRow.output_sha256, PartitionRow.parts)
            query = query.where(PartitionRow.scheme == scheme, PartitionRow.output_sha256.in_(part))
            found.update((sha, parts) for sha, parts in self._connection.execute(query))
        return found

    def add_partitions(self, partitions: Sequence[NewPartition]) -> None:
        """Store partitions of outputs, and their parts; those that are there stay."""
        # In the order of their keys: two transactions that insert the same ones crosswise would wait for each other.
        whole = sorted((item.output_sha256, item.scheme, item.parts) for item in partitions)
        parts = sorted(
            (item.scheme, shard, item.output_sha256, packed(items))
            for item in partitions
            for shard, items in item.items
        )
        _ADD_PARTITION.many(self._connection, whole)
        _ADD_PART.many(self._connection, parts)

    def parts(self, step_id: int, scheme: str, shard: int, ordinals: Sequence[int]) -> dict[int, bytes]:
        """The items of one shard in the outputs of a step's finished tasks, by the tasks' ordinals."""
        given = (scheme, shard, step_id, ids_for(self._connection, ordinals))
        rows = _PARTS.one(self._connection, given).all()
        return {ordinal: unpacked(items) for ordinal, items in rows}


def _partition_of(scheme: str) -> ColumnElement[bool]:
    return (PartitionRow.output_sha256 == ResultRow.output_sha256) & (PartitionRow.scheme == scheme)
