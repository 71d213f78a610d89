"""Cursors: where a list goes on. Opaque, signed, and good only for the list and filters that they were made for."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from http import HTTPStatus
from typing import Any

from starlette.requests import Request

from octavo.web.problems import ProblemError
from pipeline import canonical

VERSION = 1
_MAC_BYTES = 16
_LONGEST = 1024
_NO_FILTER = ("cursor", "limit", "count")


class Cursors:
    """Makes and reads cursors with one secret."""

    def __init__(self, secret: str) -> None:
        self._secret = hashlib.sha256(b"octavo cursor" + secret.encode()).digest()

    def make(self, request: Request, key: list[Any]) -> str:
        """A cursor that goes on after `key` in the list of this request."""
        data = canonical.dumps([VERSION, _list_of(request), key])
        return base64.urlsafe_b64encode(self._mac(data) + data).rstrip(b"=").decode()

    def read(self, request: Request, text: str | None) -> list[Any] | None:
        """The key after which the list goes on; None: from its start. Raises ProblemError (400)."""
        if text is None:
            return None
        if len(text) > _LONGEST:
            raise _wrong("is no cursor")
        try:
            raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        except (binascii.Error, ValueError) as error:
            raise _wrong("is no cursor") from error
        mac, data = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(data)):
            raise _wrong("is no cursor of this server")
        version, made_for, key = canonical.loads(data)
        if version != VERSION or made_for != _list_of(request):
            raise _wrong("was made for another list, or for other filters")
        return list(key)

    def _mac(self, data: bytes) -> bytes:
        return hmac.new(self._secret, data, hashlib.sha256).digest()[:_MAC_BYTES]


def _list_of(request: Request) -> str:
    """The list and its filters: path and query without what only says which part of it."""
    query = sorted((name, value) for name, value in request.query_params.multi_items() if name not in _NO_FILTER)
    return canonical.digest([request.url.path, [list(pair) for pair in query]]).hex()[:16]


def _wrong(says: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.BAD_REQUEST, "bad-cursor", f"The cursor {says}", hint="leave it out to begin from the start"
    )
