"""Compact columns of integers: where sections, pages and places stand in a revision; the children of reduce nodes."""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Sequence
from itertools import accumulate
from operator import sub

from pipeline import canonical
from pipeline.read.places import PlaceKind, Places


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


def pack_places(places: Places) -> bytes:
    """Places as their columns, and the words that these count in."""
    columns = pack(places.starts, places.part, places.numbers)
    words = canonical.dumps([places.kind, list(places.parts), list(places.elements)])
    return struct.pack("<I", len(columns)) + columns + zlib.compress(words, 6)


def unpack_places(data: bytes) -> Places:
    """The places that `pack_places` was given."""
    (size,) = struct.unpack_from("<I", data)
    starts, part, numbers = unpack(data[4 : 4 + size], 3)
    kind, parts, elements = canonical.loads(zlib.decompress(data[4 + size :]))
    return Places(
        kind=PlaceKind(kind), parts=tuple(parts), starts=starts, part=part, numbers=numbers, elements=elements
    )
