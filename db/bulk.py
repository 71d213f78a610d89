"""Many rows in one statement.

PostgreSQL takes them as one JSON parameter (json_to_recordset, "JSON Functions and Operators" of its manual): the
driver else binds, sends and has executed every row by itself, which costs more than the row. SQLite has no such cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import (
    JSON,
    ColumnElement,
    FromClause,
    LargeBinary,
    String,
    bindparam,
    cast,
    column,
    func,
    insert,
    literal_column,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from db.prepared import Prepared, Row, fixed

ROWS = "rows"
MOST_BYTES = 16_000_000  # in one parameter, where they take twice the room; more are sent row by row


ONE: ColumnElement[int] = literal_column("1")

Given = Mapping[str, ColumnElement[Any]]
Derive = Callable[[Given, FromClause], tuple[dict[str, Any], FromClause]]


class Inserts:
    """An INSERT of rows given as tuples in the order of `names`; with `skip`, one whose primary key is there stays.

    `derive` is given a row's values and where they come from; it gives the columns that the database itself works out,
    and what they are read from.
    """

    def __init__(
        self,
        table: type[Any],
        names: Sequence[str],
        *,
        skip: bool,
        derive: Derive | None = None,
    ) -> None:
        self._names = tuple(names)
        self._columns = [table.__table__.c[name] for name in names]
        self._bytes = [at for at, found in enumerate(self._columns) if isinstance(found.type, LargeBinary)]
        self._table = table
        self._skip = skip
        self._derive = derive
        self._each = Prepared(names, self._from_parameters)
        self._whole = Prepared((ROWS,), self._from_json)

    def many(self, connection: Connection, rows: Sequence[Row]) -> int:
        """Insert the rows; gives how many were new."""
        if not rows:
            return 0
        if connection.dialect.name != "postgresql" or self._size(rows) > MOST_BYTES:
            return self._each.many(connection, rows)
        return self._whole.one(connection, (self._json(rows),)).rowcount

    def _size(self, rows: Sequence[Row]) -> int:
        return sum(len(row[at] or b"") for row in rows for at in self._bytes)

    def _json(self, rows: Sequence[Row]) -> str:
        names, at_bytes = self._names, self._bytes
        found = []
        for row in rows:
            values = list(row)
            for at in at_bytes:
                if values[at] is not None:
                    values[at] = values[at].hex()
            found.append(dict(zip(names, values, strict=True)))
        return orjson.dumps(found).decode()

    def _insert(self, dialect: str) -> Any:
        if not self._skip:
            return insert(self._table)
        made: Any = postgresql.insert(self._table) if dialect == "postgresql" else sqlite.insert(self._table)
        return made.on_conflict_do_nothing()

    def _from_parameters(self, dialect: str) -> Any:
        if self._derive is None:
            return self._insert(dialect).inline().values({name: bindparam(name) for name in self._names})
        # PostgreSQL takes a parameter of a SELECT for text if it is not told.
        typed = [bindparam(found.name, type_=found.type) for found in self._columns]
        values = [cast(value, value.type) if dialect == "postgresql" else value for value in typed]
        return self._selected(dialect, dict(zip(self._names, values, strict=True)), select(ONE).subquery("one"))

    def _from_json(self, dialect: str) -> Any:
        wanted = [
            column(found.name, String if isinstance(found.type, LargeBinary) else found.type) for found in self._columns
        ]
        given = func.json_to_recordset(cast(bindparam(ROWS, type_=String), JSON))
        rows = given.table_valued(*wanted, name="given").render_derived(name="given", with_types=True)
        values = [
            func.decode(rows.c[found.name], fixed("hex")) if isinstance(found.type, LargeBinary) else rows.c[found.name]
            for found in self._columns
        ]
        return self._selected(dialect, dict(zip(self._names, values, strict=True)), rows)

    def _selected(self, dialect: str, values: Given, source: FromClause) -> Any:
        derived, source = self._derive(values, source) if self._derive else ({}, source)
        everything = dict(values) | derived
        return self._insert(dialect).from_select(
            list(everything), select(*everything.values()).select_from(source), include_defaults=False
        )
