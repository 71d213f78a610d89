"""Driver errors, translated to sentences a person can act on."""

from __future__ import annotations

from sqlalchemy import exc

from pipeline.errors import StorageError


class DatabaseUnreachableError(StorageError):
    """The database does not answer."""


class DatabaseFullError(StorageError):
    """The disk that holds the state is full."""


class DatabaseReadOnlyError(StorageError):
    """The state can not be written."""


class DatabaseCorruptError(StorageError):
    """The database file is damaged."""


class DatabaseBusyError(StorageError):
    """Another process held the database too long."""


class DatabaseNewerError(StorageError):
    """The database was made by a newer Octavo."""


_SIGNS: tuple[tuple[tuple[str, ...], type[StorageError], str], ...] = (
    (
        ("disk is full", "no space left", "file too large", "disk quota"),
        DatabaseFullError,
        "free some space and run the same command again: what was committed is kept",
    ),
    (
        ("readonly", "read-only", "permission denied", "unable to open database file"),
        DatabaseReadOnlyError,
        "give yourself write access to the state folder, or name another with --state",
    ),
    (
        ("malformed", "not a database", "corrupt", "file is encrypted"),
        DatabaseCorruptError,
        "restore it from a backup, or name another state folder with --state",
    ),
    (
        ("database is locked", "database table is locked", "lock timeout", "deadlock detected", "could not serialize"),
        DatabaseBusyError,
        "run the command again",
    ),
    (
        ("connection refused", "could not connect", "server closed", "connection is closed", "terminating connection"),
        DatabaseUnreachableError,
        "see that the server runs and that the URL is right",
    ),
)


def translate(error: exc.DBAPIError, where: str) -> StorageError:
    """The project's error for a driver error. `where` names the database without a password."""
    cause = str(error.orig).strip().splitlines()[0] if error.orig else str(error)
    for signs, kind, hint in _SIGNS:
        if any(sign in cause.lower() for sign in signs):
            return kind(f"{(kind.__doc__ or '').rstrip('.')}: {where}", cause=cause, hint=hint)
    if "disk i/o error" in cause.lower():
        return DatabaseFullError(
            f"The state could not be written: {where}",
            cause=cause,
            hint="see that the disk has space and is sound, then run the same command again",
        )
    return StorageError(f"The database refused: {where}", cause=cause)
