"""What happened to a job, in a few words each: beside the events that say where it stands, and kept for longer."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import delete, func, literal, select
from sqlalchemy.engine import Connection

from db.dialect import insert_new
from db.tables import EventRow
from pipeline import canonical
from pipeline.ops.values import Json

NOTE = "note"  # the kind of such an event
NOTES_KEPT = 200  # of a job
TRIES = 20  # for a number: another process may take one at the same moment


def add_note(connection: Connection, job_id: UUID, said: dict[str, Json]) -> None:
    """Note that something happened to a job, under the next number of its events."""
    last = select(func.coalesce(func.max(EventRow.sequence), 0) + 1).where(EventRow.job_id == job_id)
    data = canonical.dumps(said)
    for _ in range(TRIES):
        values = {
            "job_id": job_id,
            "sequence": connection.execute(last).scalar_one(),
            "at_ms": int(datetime.now(UTC).timestamp() * 1000),
            "kind": NOTE,
            "data": data,
        }
        stored = insert_new(connection, EventRow).values(values).returning(EventRow.sequence)
        if connection.execute(stored).scalar_one_or_none() is not None:
            break
    mine = (EventRow.job_id == job_id) & (EventRow.kind == literal(NOTE))
    oldest = select(EventRow.sequence).where(mine).order_by(EventRow.sequence.desc()).offset(NOTES_KEPT).limit(1)
    connection.execute(delete(EventRow).where(mine, EventRow.sequence <= oldest.scalar_subquery()))
