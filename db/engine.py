"""Engines for SQLite and PostgreSQL that behave alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine import Connection

SQLITE_BUSY_MS = 60_000
POSTGRES_OPTIONS = "-c idle_in_transaction_session_timeout=60000 -c lock_timeout=30000 -c timezone=UTC"

WRITES = {"octavo_writes": True}
# On SQLite a read transaction sees one state of the database by itself.
READS: dict[str, dict[str, Any]] = {"postgresql": {"isolation_level": "REPEATABLE READ"}}


def sqlite_url(path: Path) -> str:
    """The URL of an embedded database file."""
    return f"sqlite:///{path}"


def make_engine(url: str) -> Engine:
    """An engine for a database URL. Opens no connection."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite_engine(url)
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    return create_engine(parsed, pool_size=8, max_overflow=8, connect_args={"options": POSTGRES_OPTIONS})


def _sqlite_engine(url: str) -> Engine:
    engine = create_engine(url, pool_size=8, max_overflow=32, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _on_sqlite_connect)
    event.listen(engine, "begin", _on_sqlite_begin)
    return engine


def _on_sqlite_connect(connection: Any, _record: Any) -> None:
    # The driver's own transactions begin late, at the first write, and then can not wait for a lock they come to
    # need: so they are switched off here and begun by hand, for writers as IMMEDIATE.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA cache_size = -32000")
    cursor.close()


def _on_sqlite_begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("octavo_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
