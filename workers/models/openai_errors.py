"""What an OpenAI-compatible server's errors are called here (the table is in pipeline.models.errors)."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import openai

from pipeline.models.errors import fault
from pipeline.retry import CallError

MOST_WAIT_MS = 24 * 3600 * 1000
_SHOWN = 300  # characters of what a server says
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|size)|maximum context|too many tokens|prompt is too long|"
    r"exceeds? the (?:max|context)|reduce the length|n_ctx|input is too long",
    re.IGNORECASE,
)
_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_FILTERED = re.compile(r"content[_ ](?:filter|policy)|ResponsibleAI", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_RESETS = (("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
           ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"))  # fmt: skip


def named(error: openai.OpenAIError, said: str) -> CallError:
    """The named error of what the SDK raised. `said` is what the server says, without secrets."""
    if isinstance(error, openai.APITimeoutError):
        return fault("timeout", "The server gave no answer in time")
    if isinstance(error, openai.APIStatusError):
        return _by_status(error, said)
    if isinstance(error, openai.APIConnectionError):
        return _connection(error, said)
    return fault("bad_response", f"The server's answer is none of the protocol: {said}")


def _connection(error: openai.APIConnectionError, said: str) -> CallError:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(cause):
            return fault(
                "tls",
                "The server's certificate can not be verified",
                hint="ca_file in the profile names the certificate of a private authority",
            )
        cause = cause.__cause__ or cause.__context__
    return fault("connection", f"The server can not be reached, or broke off: {said}")


def _by_status(error: openai.APIStatusError, said: str) -> CallError:
    status, code = error.status_code, str(error.code or _code_of(error.body))
    if 300 <= status < 400:
        return fault(
            "redirected",
            f"The server answers {status}: it is somewhere else",
            hint="put the address it names into base_url, if you trust it with the key",
        )
    if code in _NO_CREDIT or status == 402:
        return fault("quota", f"The account has no credit left: {said}")
    if status == 429:
        return fault(
            "rate_limited", f"The server says: later ({said})", retry_after_ms=retry_after(error.response.headers)
        )
    if status in (401, 403):
        return fault(
            "auth", f"The server refuses the key ({status}): {said}", hint="look at api_key_env in the profile"
        )
    if status == 404:
        return fault(
            "not_found", f"The server knows no such model or path: {said}", hint="octavo models probe NAME lists"
        )
    if status in (400, 413, 422):
        return _by_words(status, code, said)
    if status in (408, 409, 425, 504):
        return fault("timeout", f"The server answers {status}: {said}")
    if status in (503, 529):
        wait = retry_after(error.response.headers)
        return fault("overloaded", f"The server answers {status}: {said}", retry_after_ms=wait)
    if status >= 500:
        return fault("server_error", f"The server answers {status}: {said}")
    return fault("bad_request", f"The server answers {status}: {said}")


def _by_words(status: int, code: str, said: str) -> CallError:
    if status == 413 or code == "context_length_exceeded" or _TOO_LONG.search(said):
        return fault("context_length", f"The server says that the input is too long: {said}")
    if _FILTERED.search(code) or _FILTERED.search(said):
        return fault("content_filter", f"The provider's filter refuses the input: {said}")
    return fault("bad_request", f"The server does not take the request ({status}): {said}")


def _code_of(body: object) -> str:
    inner = body.get("error", body) if isinstance(body, dict) else None
    return str(inner.get("code") or inner.get("type") or "") if isinstance(inner, dict) else ""


def words_of(error: openai.OpenAIError) -> str:
    """What the server said, in a line."""
    body: Any = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else body
    text = inner.get("message") if isinstance(inner, dict) else inner if isinstance(inner, str) else None
    cause = error.__cause__
    found = str(text or (f"{type(cause).__name__}: {cause}" if cause is not None else error))
    return " ".join(found.split())[:_SHOWN]


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Milliseconds that the headers ask to wait: Retry-After (-Ms), else the resets of what is used up."""
    if (exact := _number(headers.get("retry-after-ms"))) is not None:
        return _bounded(exact)
    if (after := headers.get("retry-after")) is not None:
        seconds = _number(after)
        return _bounded(seconds * 1000 if seconds is not None else _until(after))
    waits = [_duration(headers[reset]) for left, reset in _RESETS if headers.get(left) == "0" and reset in headers]
    found = [wait for wait in waits if wait is not None]
    return _bounded(max(found)) if found else None


def _number(text: str | None) -> float | None:
    try:
        found = float(text) if text is not None else None
    except ValueError:
        return None
    return found if found is not None and 0 <= found < 1e12 else None


def _until(date: str) -> float | None:
    try:
        when = parsedate_to_datetime(date)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - datetime.now(UTC)).total_seconds() * 1000


def _duration(text: str) -> float | None:
    """`6m0s`, `20ms`, `1.5s`; a plain number is seconds."""
    plain = _number(text)
    if plain is not None:
        return plain * 1000
    parts = _DURATION.findall(text)
    return sum(float(amount) * _UNITS[unit] for amount, unit in parts) if parts else None


def _bounded(wait_ms: float | None) -> int | None:
    return None if wait_ms is None else int(min(MOST_WAIT_MS, max(0.0, wait_ms)))
