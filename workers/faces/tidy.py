"""What the HTTP side leaves behind goes again: it is nobody's work to look for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from workers.runtime import Runtime

REQUESTS = timedelta(hours=24)  # for so long the same request is done once
UPLOADS = timedelta(days=7)  # an upload that never ended may go on for so long
OPERATIONS = timedelta(days=30)
TOKENS = timedelta(days=30)  # after they could no longer be used
UPLOADS_AT_ONCE = 100


def tidy(runtime: Runtime) -> None:
    """Forget old requests, operations, dead tokens and sessions, and uploads that never ended, with their files."""
    now = datetime.now(UTC)
    with runtime.database.read() as rows:
        stale = rows.web.stale_uploads(now - UPLOADS, UPLOADS_AT_ONCE)
    for upload in stale:
        arriving(runtime, str(upload)).unlink(missing_ok=True)
    with runtime.database.write() as rows:
        for upload in stale:
            rows.web.drop_upload(upload)
        rows.web.forget_requests(now - REQUESTS)
        rows.web.forget_operations(now - OPERATIONS)
        rows.web.forget_tokens(now - TOKENS)


def arriving(runtime: Runtime, upload: str) -> Path:
    """Where what has arrived of an upload lies."""
    return runtime.settings.state / "uploads" / "arriving" / f"{upload}.part"
