"""What the HTTP side keeps: tokens, requests that must not be done twice, operations, uploads, events."""

from __future__ import annotations

from datetime import date, datetime
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from db.base import BIG, Base, Big, Hash, Said


class TokenRow(Base):
    """A bearer token, or the session of a browser. What the caller holds is stored hashed only."""

    __tablename__ = "tokens"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[Said]
    kind: Mapped[str]  # token, session
    sha256: Mapped[Hash] = mapped_column(unique=True)
    scope: Mapped[str]  # read, run, admin; each includes those before it
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    used_on: Mapped[date | None]  # day grain
    revoked_at: Mapped[datetime | None]


class IdempotencyRow(Base):
    """A request that was done, by the caller's key: written in the transaction that did it."""

    __tablename__ = "idempotency"

    caller: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request_sha256: Mapped[Hash]
    response: Mapped[bytes]  # canonical JSON
    created_at: Mapped[datetime] = mapped_column(index=True)


class OperationRow(Base):
    """Something asked for that takes a while: bring a book in, begin a job, retry holes."""

    __tablename__ = "operations"
    __table_args__ = (Index("ix_operations_state_id", "state", "id"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    kind: Mapped[str]
    state: Mapped[str]
    request: Mapped[dict[str, object]] = mapped_column(JSON)
    result: Mapped[dict[str, object] | None] = mapped_column(JSON)
    error: Mapped[dict[str, object] | None] = mapped_column(JSON)
    owner: Mapped[str | None]  # the process that does it
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class UploadRow(Base):
    """A book that comes in by HTTP. What has arrived so far is the length of its file."""

    __tablename__ = "uploads"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[Said]
    size: Mapped[Big]  # bytes announced
    pipeline: Mapped[str]  # whose grain it will be cut by
    start: Mapped[bool]  # begin a job of the pipeline when it is in
    operation_id: Mapped[UUID | None]  # set when all of it has arrived
    created_at: Mapped[datetime]


class EventRow(Base):
    """What a viewer of a job is told: ordered, and replayed to one who comes back."""

    __tablename__ = "events"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    sequence: Mapped[int] = mapped_column(BIG, primary_key=True)  # of the job, from 1
    at_ms: Mapped[Big]
    kind: Mapped[str]
    data: Mapped[bytes]  # canonical JSON
