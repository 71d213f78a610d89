"""Stored JSON, deflated where that pays. JSON never begins with an x, a deflated stream (RFC 1950) always does."""

from __future__ import annotations

import zlib

LEAST = 512  # bytes below which deflating saves nothing worth its time
_MARK = b"x"


def packed(data: bytes) -> bytes:
    """JSON bytes as they are stored."""
    if len(data) < LEAST:
        return data
    small = zlib.compress(data, 1)
    return small if len(small) < len(data) else data


def unpacked(data: bytes) -> bytes:
    """The JSON bytes that were stored."""
    return zlib.decompress(data) if data[:1] == _MARK else data
