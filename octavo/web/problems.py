"""Errors as problem details (RFC 9457), whoever raised them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse

from db.errors import DatabaseBusyError, DatabaseFullError, DatabaseUnreachableError
from pipeline.errors import NotFoundError, OctavoError, ReadError, StorageError, UsageError
from workers.control import NotPossibleError
from workers.faces.hands import ChildError
from workers.faces.holes import CountChangedError

MEDIA_TYPE = "application/problem+json"

_STATUSES: tuple[tuple[type[OctavoError], HTTPStatus], ...] = (
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (CountChangedError, HTTPStatus.CONFLICT),
    (NotPossibleError, HTTPStatus.CONFLICT),
    (UsageError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (ReadError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (DatabaseBusyError, HTTPStatus.SERVICE_UNAVAILABLE),
    (DatabaseUnreachableError, HTTPStatus.SERVICE_UNAVAILABLE),
    (DatabaseFullError, HTTPStatus.INSUFFICIENT_STORAGE),
    (StorageError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (ChildError, HTTPStatus.INTERNAL_SERVER_ERROR),
)
AGAIN_S = 5


class FieldFault(BaseModel):
    """One thing that is wrong in a request."""

    at: str = Field(description="Where: `query`, `body` or `path`, then the names that lead to it.")
    says: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"type": "urn:octavo:not-found", "title": "Not Found", "status": 404, "detail": "There is no job 7"}
            ]
        }
    )

    type: str = Field(description="`urn:octavo:` and a word that stays the same.")
    title: str
    status: int
    detail: str
    cause: str | None = None
    hint: str | None = Field(default=None, description="What to do about it.")
    errors: list[FieldFault] | None = None


class ProblemError(Exception):
    """A request that is answered with a problem."""

    def __init__(
        self,
        status: HTTPStatus,
        kind: str,
        detail: str,
        *,
        hint: str | None = None,
        cause: str | None = None,
        errors: list[FieldFault] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}
        self.problem = Problem(
            type=f"urn:octavo:{kind}",
            title=status.phrase,
            status=status.value,
            detail=detail,
            cause=cause,
            hint=hint,
            errors=errors,
        )


def of_error(error: OctavoError) -> ProblemError:
    """The problem that an error of the project's own is."""
    status = next((found for kind, found in _STATUSES if isinstance(error, kind)), HTTPStatus.UNPROCESSABLE_ENTITY)
    waits = status is HTTPStatus.SERVICE_UNAVAILABLE
    return ProblemError(
        status,
        _word(status),
        error.message,
        cause=error.cause,
        hint=error.hint,
        headers={"Retry-After": str(AGAIN_S)} if waits else None,
    )


def of_status(status: int, detail: str | None = None) -> ProblemError:
    """The problem of a bare status."""
    known = HTTPStatus(status)
    return ProblemError(known, _word(known), detail or known.description or known.phrase)


def of_fields(errors: list[dict[str, Any]]) -> ProblemError:
    """The problem of a request whose parameters or body are not right."""
    faults = [FieldFault(at=".".join(str(part) for part in item["loc"]), says=str(item["msg"])) for item in errors[:20]]
    first = faults[0] if faults else FieldFault(at="request", says="is not right")
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    return ProblemError(status, "invalid-request", f"{first.at}: {first.says}", errors=faults)


def _word(status: HTTPStatus) -> str:
    return status.phrase.lower().replace(" ", "-")


def response(error: ProblemError) -> JSONResponse:
    """A problem as it is sent."""
    return JSONResponse(
        error.problem.model_dump(exclude_none=True), error.status.value, headers=error.headers, media_type=MEDIA_TYPE
    )
