"""Canonical JSON: one value, one sequence of bytes."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from pipeline.errors import OctavoError
from pipeline.ops.values import Json


class NotJsonError(OctavoError):
    """A value can not be written as JSON."""


def dumps(value: Json) -> bytes:
    """UTF-8, keys sorted, no white space, shortest floats. Raises NotJsonError for NaN-free JSON's outsiders."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError) as error:
        raise NotJsonError(f"A value can not be written as JSON: {error}") from error


def loads(data: bytes | str) -> Any:
    """The value of JSON bytes."""
    return orjson.loads(data)


def sha256(data: bytes) -> bytes:
    """SHA-256, 32 bytes."""
    return hashlib.sha256(data).digest()


def digest(value: Json) -> bytes:
    """SHA-256 of the canonical JSON of a value."""
    return sha256(dumps(value))
