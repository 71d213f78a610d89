"""Exit codes, as documented in docs/cli.md."""

from __future__ import annotations

from enum import IntEnum

from pipeline.errors import NotFoundError, OctavoError, UsageError


class Exit(IntEnum):
    """What the process tells its caller."""

    OK = 0
    ERROR = 1
    USAGE = 2  # a wrong option, setting, pipeline or model
    HOLES = 3  # finished, but some chunks failed
    CAPPED = 4  # stopped at --max-cost, --max-tokens or --max-calls
    NOT_FOUND = 5  # no such job, document or chunk
    INTERRUPTED = 130  # Ctrl-C: what is committed is kept


class Interrupted(KeyboardInterrupt):
    """The person pressed Ctrl-C and was told what is kept and how to go on."""


def code_of(error: OctavoError) -> Exit:
    """The exit code of an error."""
    if isinstance(error, NotFoundError):
        return Exit.NOT_FOUND
    return Exit.USAGE if isinstance(error, UsageError) else Exit.ERROR
