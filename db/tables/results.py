"""The memo."""

from __future__ import annotations

from datetime import date, datetime

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from db.base import BIG, WITHOUT_ROWID, Base, Big, Hash


class ResultRow(Base):
    """The memoized output of a key: global, content-addressed, shared by all documents and jobs."""

    __tablename__ = "results"

    key: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    op: Mapped[str]
    output: Mapped[bytes]  # canonical JSON, without positions, as db.packing stores it
    output_size: Mapped[Big]  # bytes of the JSON
    output_sha256: Mapped[Hash]
    spans: Mapped[bytes]  # the sidecar: where the items of a leaf stand in their chunk
    tokens_in: Mapped[Big]
    tokens_out: Mapped[Big]
    cost_micros: Mapped[Big]  # millionths of the profile's currency
    latency_ms: Mapped[Big]
    model: Mapped[str]
    created_at: Mapped[datetime]
    last_used: Mapped[date]  # day grain


class PartitionRow(Base):
    """Which merge shards an output has parts in, with each part's hash: kept so that a plan reads no outputs."""

    __tablename__ = "partitions"

    output_sha256: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    scheme: Mapped[str] = mapped_column(primary_key=True)  # merge op, its version and the number of shards
    parts: Mapped[bytes]


class PartRow(Base):
    """The items of one output that belong to one merge shard. A shard reads its own rows, which lie side by side, so
    a merge reads every item once, however many shards there are."""

    __tablename__ = "parts"
    __table_args__ = WITHOUT_ROWID

    scheme: Mapped[str] = mapped_column(primary_key=True)
    shard: Mapped[int] = mapped_column(primary_key=True)
    output_sha256: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    items: Mapped[bytes]  # canonical JSON: [[index in the output, item], …], as db.packing stores it


class KeyLeaseRow(Base):
    """Who computes a key now. Others that want it wait."""

    __tablename__ = "key_leases"
    __table_args__ = WITHOUT_ROWID

    key: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    task_id: Mapped[int] = mapped_column(BIG)
    epoch: Mapped[int]
    owner: Mapped[str]
    until_ms: Mapped[Big]
