"""Logs: one line an event, for people or as JSON, with the job, task, attempt and document that it is about.

What is bound is bound for the thread that works on it, so that any line written meanwhile carries it, those of
libraries too. No text of a book is in a line: of an exception its kind and where it was raised are told, its words not.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from pipeline import canonical
from pipeline.settings import Settings

BOUND: Final = ("job", "task", "attempt", "document")
FRAMES: Final = 8  # of a traceback, the innermost
_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_bound: ContextVar[Mapping[str, object] | None] = ContextVar("octavo_logged", default=None)


@contextmanager
def bound(**keys: object) -> Iterator[None]:
    """While it lasts, every line of this thread carries these keys, with those that were bound before."""
    token = _bound.set({**(_bound.get() or {}), **keys})
    try:
        yield
    finally:
        _bound.reset(token)


def keys_of(record: logging.LogRecord) -> dict[str, Any]:
    """What is bound, and what the line itself brings (`extra=`)."""
    extra = {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
    return {**(_bound.get() or {}), **extra}


def raised(record: logging.LogRecord) -> dict[str, Any]:
    """The kind of the exception that a line is about, and where it was raised."""
    if not record.exc_info or record.exc_info[0] is None:
        return {}
    frames = traceback.extract_tb(record.exc_info[2])[-FRAMES:]
    return {"error": record.exc_info[0].__name__, "raised_at": [f"{f.filename}:{f.lineno} {f.name}" for f in frames]}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `at`, `level`, `logger`, `event`, then the keys."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        for name, value in {**keys_of(record), **raised(record)}.items():
            line[name] = value if isinstance(value, (str, int, float, bool, list, type(None))) else str(value)
        return canonical.dumps(line).decode()


class ConsoleFormatter(logging.Formatter):
    """For people: time, level, event, then the keys as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """The line. Control characters and line breaks in it are shown as escapes."""
        found = {**keys_of(record), **raised(record)}
        keys = "".join(f" {name}={value}" for name, value in found.items())
        time = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        said = f"{time} {record.levelname.lower()} {record.getMessage()}{keys}"
        return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in said)


def set_up(settings: Settings, stream: TextIO | None = None) -> None:
    """Write logs as the settings say, to stderr. Done once, by the process and not by whoever imports this."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else ConsoleFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
