"""Compact columns of integers: where sections and pages stand in a revision, and the children of reduce nodes."""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Sequence
from itertools import accumulate
from operator import sub


def pack(*columns: Sequence[int]) -> bytes:
    """Columns of equal length as differences of 64-bit little-endian integers, deflated."""
    flat = array("q")
    for column in columns:
        flat.extend(column[:1])
        flat.extend(map(sub, column[1:], column))
    if sys.byteorder == "big":
        flat.byteswap()
    return zlib.compress(flat.tobytes(), 6)


def unpack(data: bytes, columns: int) -> list[list[int]]:
    """The columns that `pack` was given."""
    flat = array("q")
    flat.frombytes(zlib.decompress(data))
    if sys.byteorder == "big":
        flat.byteswap()
    count = len(flat) // columns
    return [list(accumulate(flat[at * count : (at + 1) * count])) for at in range(columns)]
