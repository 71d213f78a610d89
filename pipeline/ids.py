"""Time-ordered identifiers."""

from __future__ import annotations

import os
import time
from uuid import UUID


def uuid7() -> UUID:
    """A new UUID version 7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then 74 random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)
