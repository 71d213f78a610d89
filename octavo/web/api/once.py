"""Requests that spend are done once, however often they are sent: by the caller's key, in the same transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Header, Request

from db.database import Repositories
from octavo.web.problems import ProblemError
from octavo.web.state import Web
from pipeline import canonical
from pipeline.ops.values import Json
from workers.faces.tokens import Caller

KEPT = timedelta(hours=24)

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="A new word for each thing asked for; the same again for the same thing sent again. Needed.",
    ),
]


def once(
    web: Web,
    caller: Caller,
    request: Request,
    key: str | None,
    body: Any,
    do: Callable[[Repositories], dict[str, Json]],
) -> dict[str, Json]:
    """Do it and remember the answer, in one transaction; or give the answer of the time it was done.

    Raises ProblemError: 400 without a key, 422 when the key was used for something else.
    """
    if key is None:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST,
            "no-idempotency-key",
            "The header Idempotency-Key is missing",
            hint="send a new random word, and the same word again when you send the same request again",
        )
    asked = canonical.digest([request.method, request.url.path, body])
    since = datetime.now(UTC) - KEPT
    with web.runtime.database.write() as rows:
        if not rows.web.claim_request(caller.id, key, request_sha256=asked, since=since):
            return _known(rows, caller, key, asked, since)
        answer = do(rows)
        rows.web.remember_request(caller.id, key, response=canonical.dumps(answer))
    return answer


def _known(rows: Repositories, caller: Caller, key: str, asked: bytes, since: datetime) -> dict[str, Json]:
    """The answer of the time it was done."""
    known = rows.web.done_request(caller.id, key, since)
    if known is None:  # who had the key let it go again just now
        raise ProblemError(
            HTTPStatus.CONFLICT, "in-flight", "A request with this key was being done", hint="send it again"
        )
    if known[0] != asked:
        raise ProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY, "other-request", "This Idempotency-Key was used for another request"
        )
    answer: dict[str, Json] = canonical.loads(known[1])
    return answer
