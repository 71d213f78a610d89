"""A copy of an SQLite database of one moment, made while others work on it; and the way back."""

from __future__ import annotations

import os
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
    part = to.with_name(to.name + ".part")
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise UsageError(f"{path} is no backup of an SQLite database", hint="octavo db backup writes one")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, part)
        on_disk(part)
        part.replace(to)
    except OSError as error:
        raise StorageError(f"The backup can not be brought back: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def on_disk(path: Path) -> None:
    """Wait until a file's bytes are on the disk: a backup that a power cut empties is none."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
