"""Many rows in one statement.

PostgreSQL takes them as one JSON parameter (json_to_recordset, "JSON Functions and Operators" of its manual): the
driver else binds, sends and has executed every row by itself, which costs more than the row. SQLite has no such cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import JSON, LargeBinary, String, bindparam, cast, column, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from db.prepared import Prepared, Row, fixed

ROWS = "rows"
MOST_BYTES = 16_000_000  # in one parameter, where they take twice the room; more are sent row by row


class Inserts:
    """An INSERT of rows given as tuples in the order of `names`; with `skip`, one whose primary key is there stays."""

    def __init__(self, table: type[Any], names: Sequence[str], *, skip: bool) -> None:
        self._names = tuple(names)
        self._columns = [table.__table__.c[name] for name in names]
        self._bytes = [at for at, found in enumerate(self._columns) if isinstance(found.type, LargeBinary)]
        self._table = table
        self._skip = skip
        self._each = Prepared(names, lambda dialect: self._insert(dialect).inline().values(self._parameters()))
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

    def _parameters(self) -> dict[str, Any]:
        return {name: bindparam(name) for name in self._names}

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
        return self._insert(dialect).from_select(list(self._names), select(*values))
