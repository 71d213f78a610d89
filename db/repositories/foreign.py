"""Another program's table of documents, read row by row: nothing in it is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import MetaData, Table, create_engine, exc, make_url, select

from db.errors import translate
from pipeline.errors import UsageError

BATCH = 100  # rows held at once


def rows_of(url: str, table: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """The columns of a table, in the order of the first. `table` may name its schema: `schema.table`.

    Raises UsageError for a URL, table or column that there is not, StorageError when the database does not answer.
    """
    try:
        parsed = make_url(url)
        if parsed.drivername in ("postgresql", "postgres"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        engine = create_engine(parsed)
    except (exc.ArgumentError, exc.NoSuchModuleError, ModuleNotFoundError) as error:
        raise UsageError(f"That is no database's address: {error}", hint="such as sqlite:///books.db") from error
    where = parsed.render_as_string(hide_password=True)
    schema, _, name = table.rpartition(".")
    try:
        with engine.connect() as connection:
            found = Table(name, MetaData(), schema=schema or None, autoload_with=connection)
            missing = [column for column in columns if column not in found.c]
            if missing:
                known = ", ".join(column.name for column in found.c)
                raise UsageError(f"Table {table} has no column {missing[0]!r}", hint=f"it has {known}")
            chosen = [found.c[column] for column in columns]
            query = select(*chosen).order_by(chosen[0]).execution_options(yield_per=BATCH)
            for row in connection.execute(query):
                yield tuple(row)
    except exc.NoSuchTableError as error:
        raise UsageError(f"There is no table {table} in {where}") from error
    except exc.DBAPIError as error:
        raise translate(error, where) from error
    finally:
        engine.dispose()
