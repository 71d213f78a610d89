"""Bring a database to this version's tables, and refuse one that is newer."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import exc, inspect

from db.database import Database
from db.engine import READS
from db.errors import DatabaseNewerError, translate
from pipeline.errors import StorageError

_FOLDER = Path(__file__).parent / "migrations"


def alembic_config(database: Database) -> Config:
    """Alembic's settings for a database, without an ini file."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["engine"] = database.engine
    return config


def revision_of(database: Database) -> str | None:
    """The migration a database stands at; None for an empty one."""
    return _standing(database)[0]


def _standing(database: Database) -> tuple[str | None, set[str]]:
    """The migration and the names of all tables, of one moment: another process may be making them just now."""
    try:
        with (
            database.engine.connect() as connection,
            connection.execution_options(**READS.get(connection.dialect.name, {})).begin(),
        ):
            at = MigrationContext.configure(connection).get_current_revision()
            return at, set(inspect(connection).get_table_names())
    except exc.DBAPIError as error:
        raise translate(error, database.where) from error


def head() -> str:
    """The newest migration of this version."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    found = ScriptDirectory.from_config(config).get_current_head()
    assert found is not None
    return found


def check(database: Database) -> str | None:
    """The migration a database stands at. Raises DatabaseNewerError when this version does not know it."""
    at, tables = _standing(database)
    config = alembic_config(database)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if at is not None and at not in known:
        raise DatabaseNewerError(
            f"The database was made by a newer Octavo: {database.where}",
            cause=f"it stands at migration {at}, this version knows up to {head()}",
            hint="upgrade Octavo, or name another state folder with --state",
        )
    if at is None and tables - {"alembic_version"}:
        raise StorageError(
            f"This database is not Octavo's: {database.where}",
            cause="it has tables, but no record of Octavo's migrations",
            hint="name another database",
        )
    return at


def upgrade(database: Database) -> bool:
    """Bring the database to the newest migration; True when something was done."""
    at = check(database)
    if at == head():
        return False
    try:
        command.upgrade(alembic_config(database), "head")
    except exc.DBAPIError as error:
        raise translate(error, database.where) from error
    return True
