"""The few statements that SQLite and PostgreSQL write differently, and batches that fit both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from db.base import Base

T = TypeVar("T")

BATCH = 500  # values in one IN list


def insert_new(connection: Connection, table: type[Base]) -> Any:
    """An INSERT that leaves a row alone whose primary key is there already."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def upsert(dialect: str, table: type[Base], keys: Sequence[str], *, add: Sequence[str]) -> Any:
    """An INSERT that adds the columns `add` to those of a row whose `keys` are there already."""
    insert: Any = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    columns = table.__table__.c
    return insert.on_conflict_do_update(
        index_elements=list(keys), set_={name: columns[name] + insert.excluded[name] for name in add}
    )


def batches(values: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Consecutive parts of at most `size` values."""
    for at in range(0, len(values), size):
        yield values[at : at + size]
