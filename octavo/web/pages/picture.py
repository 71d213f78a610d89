"""The map of a job's chunks as an indexed PNG: a pixel a chunk, in reading order."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence

# By MAP_CODES. On white and on black each can be told from its neighbours by its lightness as well.
COLOURS = (
    (0, 0, 0),  # none: transparent
    (159, 204, 185),  # hit
    (84, 163, 129),  # done
    (205, 201, 191),  # blocked
    (186, 181, 170),  # ready
    (148, 160, 178),  # queued
    (29, 92, 168),  # running
    (240, 178, 46),  # retrying
    (120, 120, 120),  # cancelled
    (139, 108, 186),  # waived
    (200, 30, 36),  # hole
)


def columns_for(cells: int) -> int:
    """How wide the picture is: 250 cells for 50,000, fewer for fewer, so that a cell is never too small to see."""
    return max(10, min(250, math.ceil(math.sqrt(cells * 1.25))))


def scale_of(columns: int) -> int:
    """How many pixels of the screen a cell is wide and high: 4 for 50,000 chunks, more for fewer."""
    return max(4, min(20, 1000 // columns))


def picture(cells: int, runs: Sequence[Sequence[int]]) -> bytes:
    """A PNG of cells given as runs [first, cells, code]."""
    width = columns_for(cells)
    height = max(1, math.ceil(cells / width))
    pixels = bytearray(width * height)
    for first, count, code in runs:
        pixels[first : first + count] = bytes([code]) * count
    return _png(bytes(pixels), width)


def strip_picture(codes: Sequence[int]) -> bytes:
    """A PNG of one row: a pixel a stretch of chunks."""
    return _png(bytes(codes or [0]), len(codes) or 1)


def _png(pixels: bytes, width: int) -> bytes:
    """An indexed PNG of rows of pixels, each a number of COLOURS."""
    height = len(pixels) // width
    rows = b"".join(b"\0" + pixels[at * width : (at + 1) * width] for at in range(height))
    palette = b"".join(bytes(colour) for colour in COLOURS)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
        + _part(b"PLTE", palette)
        + _part(b"tRNS", b"\0")
        + _part(b"IDAT", zlib.compress(rows, 6))
        + _part(b"IEND", b"")
    )


def _part(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
