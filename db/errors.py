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


class CollectedError(StorageError):
    """What an ingest was about to use was collected as garbage meanwhile; it begins again."""


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
        (
            "connection refused",
            "could not connect",
            "server closed",
            "connection is closed",
            "terminating connection",
            "connection failed",
            "connection is lost",
            "consuming input failed",
        ),
        DatabaseUnreachableError,
        "see that the server runs and that the URL is right",
    ),
)


# PostgreSQL's own classes of errors (its manual, appendix A), the longest prefix first.
_CODES: tuple[tuple[str, type[StorageError]], ...] = (
    ("40001", DatabaseBusyError),  # serialization_failure
    ("40P01", DatabaseBusyError),  # deadlock_detected
    ("55P03", DatabaseBusyError),  # lock_not_available
    ("57014", DatabaseBusyError),  # query_canceled: a time limit of a statement
    ("53100", DatabaseFullError),  # disk_full
    ("25006", DatabaseReadOnlyError),  # read_only_sql_transaction
    ("25P03", DatabaseUnreachableError),  # idle_in_transaction_session_timeout: the connection is gone
    ("53300", DatabaseUnreachableError),  # too_many_connections
    ("57P", DatabaseUnreachableError),  # it shuts down, has crashed, or starts
    ("08", DatabaseUnreachableError),  # connection_exception
)


def translate(error: exc.DBAPIError, where: str) -> StorageError:
    """The project's error for a driver error. `where` names the database without a password."""
    cause = next(iter(str(error.orig).strip().splitlines()), str(error))
    kind = _kind(error, cause.lower())
    if kind is not None:
        hint = next(hint for _, known, hint in _SIGNS if known is kind)
        return kind(f"{(kind.__doc__ or '').rstrip('.')}: {where}", cause=cause, hint=hint)
    if "disk i/o error" in cause.lower():
        return DatabaseFullError(
            f"The state could not be written: {where}",
            cause=cause,
            hint="see that the disk has space and is sound, then run the same command again",
        )
    return StorageError(f"The database refused: {where}", cause=cause)


def _kind(error: exc.DBAPIError, cause: str) -> type[StorageError] | None:
    code = getattr(error.orig, "sqlstate", None) or ""
    if code:
        return next((kind for prefix, kind in _CODES if code.startswith(prefix)), None)
    known = next((kind for signs, kind, _ in _SIGNS if any(sign in cause for sign in signs)), None)
    if known is None and isinstance(error, exc.OperationalError) and hasattr(error.orig, "sqlstate"):
        return DatabaseUnreachableError  # PostgreSQL's driver had no word of the server's: there was none to speak
    return known
