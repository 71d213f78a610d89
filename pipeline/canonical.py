"""Canonical JSON: one value, one sequence of bytes."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import orjson

from pipeline.errors import OctavoError
from pipeline.ops.values import Json


class NotJsonError(OctavoError):
    """A value can not be written as JSON."""


def dumps(value: Json) -> bytes:
    """UTF-8, keys sorted, no white space, shortest floats. Raises NotJsonError for what JSON does not have."""
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError) as error:
        raise NotJsonError(f"A value can not be written as JSON: {error}") from error
    # The writer makes null of NaN and of the infinities: three values would share one key.
    if b"null" in data and _is_unsayable(value):
        raise NotJsonError("A value can not be written as JSON: it holds NaN or an infinite number")
    return data


def _is_unsayable(value: Json) -> bool:
    """Is there a float in it that is no number? The writer has bounded its depth by now."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_is_unsayable, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_is_unsayable, value))


def loads(data: bytes | str) -> Any:
    """The value of JSON bytes."""
    return orjson.loads(data)


def sha256(data: bytes) -> bytes:
    """SHA-256, 32 bytes."""
    return hashlib.sha256(data).digest()


def digest(value: Json) -> bytes:
    """SHA-256 of the canonical JSON of a value."""
    return sha256(dumps(value))
