"""Statements of the hot path: compiled once for each dialect, then run with plain tuples at the driver's own speed.

Building a statement and typing its parameters costs more than SQLite needs to run it, and an engine does both for every
few finished calls. Only types that both drivers take as they are may be used so: integers, strings, booleans and bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import orjson
from sqlalchemy import BigInteger, ColumnElement, any_, bindparam, func, literal_column, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection, CursorResult, Dialect
from sqlalchemy.types import TypeEngine

IDS = "ids"  # the parameter that `among` takes

Row = tuple[Any, ...]


def fixed(word: str) -> ColumnElement[str]:
    """A word of ours written into the statement itself, so that it is no parameter and partial indexes are used."""
    assert word.isidentifier()
    return literal_column(f"'{word}'")


def among(column: Any, dialect: str) -> ColumnElement[bool]:
    """Is the column one of any number of integers, given as one parameter (`ids_for`)? The text stays the same."""
    if dialect == "postgresql":
        found: ColumnElement[bool] = column == any_(bindparam(IDS, type_=ARRAY(BigInteger)))
        return found
    each = func.json_each(bindparam(IDS)).table_valued("value")
    chosen: ColumnElement[bool] = column.in_(select(each.c.value))
    return chosen


def ids_for(connection: Connection, ids: Sequence[int]) -> Any:
    """The value of the parameter that `among` takes."""
    return list(ids) if connection.dialect.name == "postgresql" else orjson.dumps(ids).decode()


def stored(kind: TypeEngine[Any], value: Any, dialect: Dialect) -> Any:
    """A value of another type as the driver takes it: worked out once for all rows of a statement."""
    process = kind.dialect_impl(dialect).bind_processor(dialect)
    return process(value) if process else value


class Prepared:
    """A statement and the names of its parameters, in the order in which rows give them.

    `build` makes the statement for a dialect's name; its parameters are bound by name.
    """

    def __init__(self, names: Sequence[str], build: Callable[[str], Any]) -> None:
        self._names = tuple(names)
        self._build = build
        self._made: dict[str, tuple[str, Callable[[Row], Any] | None]] = {}

    def one(self, connection: Connection, row: Row) -> CursorResult[*tuple[Any, ...]]:
        """Run it once."""
        text, arrange = self._for(connection)
        return connection.exec_driver_sql(text, arrange(row) if arrange else row)

    def rows(self, connection: Connection, row: Row) -> list[Row]:
        """Run it once; gives the driver's own tuples, which cost a third of SQLAlchemy's rows."""
        found = self.one(connection, row)
        assert found.cursor is not None
        rows = found.cursor.fetchall()
        found.close()
        return list(rows)

    def many(self, connection: Connection, rows: Sequence[Row]) -> int:
        """Run it for every row; gives how many rows of the table it changed."""
        if not rows:
            return 0
        text, arrange = self._for(connection)
        return connection.exec_driver_sql(text, [arrange(row) for row in rows] if arrange else list(rows)).rowcount

    def _for(self, connection: Connection) -> tuple[str, Callable[[Row], Any] | None]:
        made = self._made.get(connection.dialect.name)
        if made is None:
            made = self._made[connection.dialect.name] = self._make(connection)
        return made

    def _make(self, connection: Connection) -> tuple[str, Callable[[Row], Any] | None]:
        compiled = self._build(connection.dialect.name).compile(dialect=connection.dialect)
        # What the compiler adds of itself, such as an offset of 0, keeps its value.
        added = {name: value for name, value in compiled.params.items() if name not in self._names}
        names, more = (*self._names, *added), tuple(added.values())
        if not compiled.positional:
            return str(compiled), lambda row: dict(zip(names, row + more, strict=True))
        order = [names.index(name) for name in compiled.positiontup]
        if order == list(range(len(self._names))):
            return str(compiled), None
        pick = itemgetter(*order)  # of two or more: one alone is in order
        return str(compiled), lambda row: pick(row + more)
