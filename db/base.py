"""The metadata, its naming convention and the column types that behave alike on SQLite and PostgreSQL."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from sqlalchemy import BigInteger, DateTime, Integer, LargeBinary, MetaData, String
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, mapped_column
from sqlalchemy.types import TypeDecorator

_HALF_PAIR = re.compile("[\ud800-\udfff]")

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time. Naive values are refused; SQLite, which keeps no zone, stores UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database: UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive datetime {value!r}: give it a zone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # the interface's
        """From the database: always with the zone UTC."""
        return value if value is None else value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def holdable(text: str) -> str:
    """Text in which NUL and halves of surrogate pairs are replaced, as `Words` stores it."""
    if text.isascii() and "\0" not in text:
        return text
    return _HALF_PAIR.sub("\N{REPLACEMENT CHARACTER}", text.replace("\0", "\N{SYMBOL FOR NULL}"))


class Words(TypeDecorator[str]):
    """Text that came from books, file names and ops, for people to read.

    PostgreSQL refuses NUL and neither database takes half a surrogate pair, so both are shown by a sign that stands for
    them; a book's own text is kept as bytes and is not touched.
    """

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  # the interface's
        """To the database: only what every database can hold."""
        return None if value is None else holdable(value)


# SQLite numbers rows by itself only in a column declared INTEGER.
BIG = BigInteger().with_variant(Integer, "sqlite")

# SQLite then keeps the rows in the order of their key, in one tree: for short rows only, a long one would leave little
# room for keys in a page of that tree.
WITHOUT_ROWID = ({"sqlite_with_rowid": False},)

BigId = Annotated[int, mapped_column(BIG, primary_key=True, autoincrement=True)]
Big = Annotated[int, mapped_column(BIG)]
Hash = Annotated[bytes, mapped_column(LargeBinary(32))]
Said = Annotated[str, mapped_column(Words)]


class Base(DeclarativeBase):
    """Base of every table."""

    metadata = MetaData(naming_convention=NAMING)
    # Whatever a person gives may be looked up in any column of words: none of them trips over half a surrogate pair.
    type_annotation_map: ClassVar[dict[Any, Any]] = {datetime: UtcDateTime, bytes: LargeBinary, str: Words}
