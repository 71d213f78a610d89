"""A copy of an SQLite database of one moment, made while others work on it; and the way back."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from db.database import Database
from pipeline.errors import StorageError, UsageError

MAGIC = b"SQLite format 3\0"


def copy_to(database: Database, path: Path) -> None:
    """Write a copy of one moment to a file that is not there. Nobody waits for it. Raises StorageError."""
    raw = database.engine.raw_connection()
    try:
        # Outside of a transaction: the statement reads one state of the database by itself.
        raw.driver_connection.execute("VACUUM INTO ?", (str(path),))  # type: ignore[union-attr]
    except sqlite3.Error as error:
        raise StorageError(f"The backup can not be written to {path}: {error}") from error
    finally:
        raw.close()


def copy_from(path: Path, to: Path) -> None:
    """Put a copy in the place of a database that is not there yet. Raises UsageError, StorageError."""
    if to.exists():
        raise UsageError(f"There is a database at {to} already", hint="name another --state, or move that one away")
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise UsageError(f"{path} is no backup of an SQLite database", hint="octavo db backup writes one")
        to.parent.mkdir(parents=True, exist_ok=True)
        part = to.with_name(to.name + ".part")
        shutil.copyfile(path, part)
        part.replace(to)
    except OSError as error:
        raise StorageError(f"The backup can not be brought back: {error.strerror}") from error
