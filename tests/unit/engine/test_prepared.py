"""Prepared statements: rows fit their parameters, whatever order the dialect writes them in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import bindparam, create_engine, insert, select, update
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.engine import Connection

from db.prepared import IDS, Prepared, among, fixed, ids_for, stored
from db.repositories import leases, results, task_statements
from db.tables import KeyLeaseRow, ResultRow

ROW = ("key", "task_id", "epoch", "owner", "until_ms")
ADD = Prepared(ROW, lambda _: insert(KeyLeaseRow).values({name: bindparam(name) for name in ROW}))
MOVE = Prepared(
    ("task_id", "owner"),
    lambda _: update(KeyLeaseRow).where(KeyLeaseRow.task_id == bindparam("task_id")).values(owner=bindparam("owner")),
)
FIND = Prepared(
    (IDS, "most"),
    lambda dialect: (
        select(KeyLeaseRow.task_id, KeyLeaseRow.owner)
        .where(among(KeyLeaseRow.task_id, dialect))
        .order_by(KeyLeaseRow.task_id)
        .limit(bindparam("most"))
    ),
)


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as made:
        KeyLeaseRow.__table__.create(made)
        yield made
    engine.dispose()


def test_rows_are_written_found_among_ids_and_counted(connection: Connection) -> None:
    assert ADD.many(connection, [(b"%d" % number, number, 1, "a", 5) for number in range(1000)]) == 1000
    assert MOVE.many(connection, [(3, "b"), (4, "b"), (5000, "b")]) == 2
    found = FIND.one(connection, (ids_for(connection, [4, 3, 7, 5000]), 10)).all()
    assert [tuple(row) for row in found] == [(3, "b"), (4, "b"), (7, "a")]
    assert len(FIND.one(connection, (ids_for(connection, [4, 3, 7]), 2)).all()) == 2


def test_no_rows_touch_no_database(connection: Connection) -> None:
    connection.close()
    assert ADD.many(connection, []) == 0


def test_a_moment_is_stored_as_the_column_would_store_it(connection: Connection) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    kind = ResultRow.__table__.c.created_at.type
    assert stored(kind, moment, connection.dialect) == "2026-01-02 03:04:05.000000"


def test_a_fixed_word_is_a_word() -> None:
    with pytest.raises(AssertionError):
        fixed("ready'; --")


@pytest.mark.parametrize("module", [task_statements, leases, results])
def test_every_statement_compiles_for_both_databases(module: object) -> None:
    class Postgres:
        dialect = psycopg.dialect()

    engine = create_engine("sqlite://")
    for name, statement in vars(module).items():
        if isinstance(statement, Prepared):
            for made in (engine, Postgres):
                text, _ = statement._for(made)
                assert text, name
    engine.dispose()
