"""What the HTTP side keeps: tokens, done requests, operations, uploads, events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.engine import Connection

from db.dialect import insert_new
from db.listed import Event, Operation, Token, Upload
from db.repositories.notes import NOTE, add_note
from db.tables import EventRow, IdempotencyRow, OperationRow, TokenRow, UploadRow
from pipeline.ops.values import Json

_TOKEN = [column for column in TokenRow.__table__.c if column.name != "sha256"]
EVENTS_KEPT = 1000  # of a job


class WebRepository:
    """The `tokens`, `idempotency`, `operations`, `uploads` and `events` tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # Tokens

    def add_token(
        self,
        *,
        id: UUID,  # noqa: A002  # the column's name
        name: str,
        kind: str,
        sha256: bytes,
        scope: str,
        expires_at: datetime | None,
    ) -> None:
        """Store a token by its hash."""
        self._connection.execute(
            insert(TokenRow).values(
                id=id,
                name=name,
                kind=kind,
                sha256=sha256,
                scope=scope,
                created_at=datetime.now(UTC),
                expires_at=expires_at,
            )
        )

    def token(self, sha256: bytes, now: datetime) -> Token | None:
        """The token with this hash, if it may still be used."""
        query = select(*_TOKEN).where(
            TokenRow.sha256 == sha256,
            TokenRow.revoked_at.is_(None),
            TokenRow.expires_at.is_(None) | (TokenRow.expires_at > now),
        )
        return next((Token(**row._mapping) for row in self._connection.execute(query)), None)

    def tokens(self, *, kind: str, limit: int) -> list[Token]:
        """Tokens, newest first, those that were revoked or have expired left out."""
        query = select(*_TOKEN).where(
            TokenRow.kind == kind,
            TokenRow.revoked_at.is_(None),
            TokenRow.expires_at.is_(None) | (TokenRow.expires_at > datetime.now(UTC)),
        )
        rows = self._connection.execute(query.order_by(TokenRow.id.desc()).limit(limit))
        return [Token(**row._mapping) for row in rows]

    def use_token(self, token_id: UUID) -> None:
        """Note that a token was used today."""
        today = datetime.now(UTC).date()
        self._connection.execute(update(TokenRow).where(TokenRow.id == token_id).values(used_on=today))

    def revoke(self, token_id: UUID) -> bool:
        """A token may be used no more; says whether it could be."""
        statement = update(TokenRow).where(TokenRow.id == token_id, TokenRow.revoked_at.is_(None))
        return self._connection.execute(statement.values(revoked_at=datetime.now(UTC))).rowcount == 1

    # Requests that were done

    def done_request(self, caller: str, key: str, since: datetime) -> tuple[bytes, bytes] | None:
        """(hash of the request, response) of what a caller asked for under a key."""
        query = select(IdempotencyRow.request_sha256, IdempotencyRow.response).where(
            IdempotencyRow.caller == caller, IdempotencyRow.key == key, IdempotencyRow.created_at > since
        )
        return next(((row[0], row[1]) for row in self._connection.execute(query)), None)

    def claim_request(self, caller: str, key: str, *, request_sha256: bytes, since: datetime) -> bool:
        """Take a key for a request; False when it was taken since a time. Who takes it at the same moment waits."""
        mine = (IdempotencyRow.caller == caller) & (IdempotencyRow.key == key)
        self._connection.execute(delete(IdempotencyRow).where(mine, IdempotencyRow.created_at <= since))
        row = {"caller": caller, "key": key, "request_sha256": request_sha256, "response": b"null"}
        claim = insert_new(self._connection, IdempotencyRow).values(**row, created_at=datetime.now(UTC))
        return self._connection.execute(claim.returning(IdempotencyRow.key)).scalar_one_or_none() is not None

    def remember_request(self, caller: str, key: str, *, response: bytes) -> None:
        """Note what a request was answered, in the transaction that did it."""
        statement = update(IdempotencyRow).where(IdempotencyRow.caller == caller, IdempotencyRow.key == key)
        self._connection.execute(statement.values(response=response))

    def forget_requests(self, before: datetime) -> None:
        """Forget requests of before a time."""
        self._connection.execute(delete(IdempotencyRow).where(IdempotencyRow.created_at < before))

    # Operations

    def add_operation(
        self,
        *,
        id: UUID,  # noqa: A002  # the column's name
        kind: str,
        request: dict[str, Json],
        state: str,
        result: dict[str, Json] | None = None,
    ) -> None:
        """Store an operation; one that is done at once with its result."""
        now = datetime.now(UTC)
        self._connection.execute(
            insert(OperationRow).values(
                id=id,
                kind=kind,
                state=state,
                request=request,
                result=result,
                created_at=now,
                finished_at=now if result is not None else None,
            )
        )

    def operation(self, operation_id: UUID) -> Operation | None:
        """An operation by id."""
        query = select(OperationRow.__table__).where(OperationRow.id == operation_id)
        return next((Operation(**row._mapping) for row in self._connection.execute(query)), None)

    def operations(self, *, limit: int, after: UUID | None = None, states: Sequence[str] = ()) -> list[Operation]:
        """Operations, newest first."""
        query = select(OperationRow.__table__)
        if after is not None:
            query = query.where(OperationRow.id < after)
        if states:
            query = query.where(OperationRow.state.in_(states))
        rows = self._connection.execute(query.order_by(OperationRow.id.desc()).limit(limit))
        return [Operation(**row._mapping) for row in rows]

    def take_operation(self, operation_id: UUID, owner: str) -> bool:
        """Begin an operation that waits; says whether it still did."""
        statement = update(OperationRow).where(OperationRow.id == operation_id, OperationRow.state == "waiting")
        return self._connection.execute(statement.values(state="running", owner=owner)).rowcount == 1

    def untake_operations(self, owners_alive: Sequence[str]) -> None:
        """Operations whose process is gone wait again: each can be begun twice without harm."""
        statement = update(OperationRow).where(
            OperationRow.state == "running", OperationRow.owner.not_in(list(owners_alive) or [""])
        )
        self._connection.execute(statement.values(state="waiting", owner=None))

    def end_operation(
        self, operation_id: UUID, *, result: dict[str, Json] | None, error: dict[str, Json] | None
    ) -> None:
        """An operation has ended."""
        statement = update(OperationRow).where(OperationRow.id == operation_id)
        state = "failed" if error is not None else "done"
        self._connection.execute(
            statement.values(state=state, result=result, error=error, finished_at=datetime.now(UTC))
        )

    def forget_operations(self, before: datetime) -> None:
        """Forget operations that ended before a time."""
        self._connection.execute(delete(OperationRow).where(OperationRow.finished_at < before))

    def forget_tokens(self, before: datetime) -> None:
        """Forget tokens and sessions that could no longer be used at a time."""
        ended = (TokenRow.expires_at < before) | (TokenRow.revoked_at < before)
        self._connection.execute(delete(TokenRow).where(ended))

    # Uploads

    def add_upload(self, *, id: UUID, name: str, size: int, pipeline: str, start: bool) -> None:  # noqa: A002
        """Announce a book."""
        self._connection.execute(
            insert(UploadRow).values(
                id=id, name=name, size=size, pipeline=pipeline, start=start, created_at=datetime.now(UTC)
            )
        )

    def upload(self, upload_id: UUID) -> Upload | None:
        """An upload by id."""
        query = select(UploadRow.__table__).where(UploadRow.id == upload_id)
        return next((Upload(**row._mapping) for row in self._connection.execute(query)), None)

    def end_upload(self, upload_id: UUID, operation_id: UUID) -> bool:
        """All of an upload has arrived; says whether that was not noted before."""
        statement = update(UploadRow).where(UploadRow.id == upload_id, UploadRow.operation_id.is_(None))
        return self._connection.execute(statement.values(operation_id=operation_id)).rowcount == 1

    def stale_uploads(self, before: datetime, limit: int) -> list[UUID]:
        """Uploads that never ended, of before a time."""
        query = select(UploadRow.id).where(UploadRow.created_at < before, UploadRow.operation_id.is_(None))
        return list(self._connection.execute(query.limit(limit)).scalars())

    def drop_upload(self, upload_id: UUID) -> None:
        """Forget an upload."""
        self._connection.execute(delete(UploadRow).where(UploadRow.id == upload_id))

    # Events

    def note(self, job_id: UUID, says: str) -> None:
        """Note that something happened to a job."""
        add_note(self._connection, job_id, {"state": None, "says": says})

    def last_event(self, job_id: UUID, *, notes: bool | None = None) -> Event | None:
        """The latest event of a job, of those that `events` gives."""
        found = self.events(job_id, limit=1, newest=True, notes=notes)
        return found[0] if found else None

    def events(
        self,
        job_id: UUID,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int,
        newest: bool = False,
        notes: bool | None = None,
    ) -> list[Event]:
        """Events of a job after a sequence number, oldest first; `newest`: the last ones, newest first.

        `notes`: only those that say what happened (True), only those that say where it stands (False), or all.
        """
        order: Any = EventRow.sequence.desc() if newest else EventRow.sequence
        query = select(EventRow.__table__).where(EventRow.job_id == job_id, EventRow.sequence > after)
        if before is not None:
            query = query.where(EventRow.sequence < before)
        if notes is not None:
            query = query.where(EventRow.kind == NOTE if notes else EventRow.kind != NOTE)
        return [Event(**row._mapping) for row in self._connection.execute(query.order_by(order).limit(limit))]

    def first_event(self, job_id: UUID) -> int | None:
        """The lowest sequence number that is kept of a job, notes apart: they are kept for longer."""
        query = select(func.min(EventRow.sequence)).where(EventRow.job_id == job_id, EventRow.kind != NOTE)
        return self._connection.execute(query).scalar_one_or_none()

    def add_event(self, event: Event) -> bool:
        """Store an event; False when another process stored one of that number first. The oldest are let go."""
        row = {
            "job_id": event.job_id,
            "sequence": event.sequence,
            "at_ms": event.at_ms,
            "kind": event.kind,
            "data": event.data,
        }
        # What was inserted is asked for: a driver does not always count rows where some may be left alone.
        stored = insert_new(self._connection, EventRow).values(row).returning(EventRow.sequence)
        if self._connection.execute(stored).scalar_one_or_none() is None:
            return False
        old = delete(EventRow).where(
            EventRow.job_id == event.job_id,
            EventRow.sequence <= event.sequence - EVENTS_KEPT,
            EventRow.kind != NOTE,
        )
        self._connection.execute(old)
        return True
