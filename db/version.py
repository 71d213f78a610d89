"""Does a database stand at this version's tables? Asked by every command, so without Alembic's second of imports."""

from __future__ import annotations

from sqlalchemy import exc, text

from db.database import Database

HEAD = "0012"  # the newest migration; a test compares it with the migrations there are


def is_current(database: Database) -> bool:
    """True only when it is sure: whatever is odd is left to db.migrate, which says what it is."""
    try:
        with database.engine.connect() as connection, connection.begin():
            return connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == [HEAD]
    except exc.DBAPIError:
        return False
