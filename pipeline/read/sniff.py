"""Encodings that show in a file's first bytes: byte order marks, and UTF-16/32 without one by its NUL pattern."""

from __future__ import annotations

import codecs

# UTF-32 before UTF-16: the mark of UTF-32-LE begins with that of UTF-16-LE.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 1 << 16


def sniff(head: bytes) -> str | None:
    """The encoding that the first bytes of a file show, or None when they show none."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[:_SAMPLE]
    if b"\0" not in sample:
        return None
    return _utf32(sample) or _utf16(sample)


def _utf32(sample: bytes) -> str | None:
    """Every character below U+110000 leaves the outer byte NUL and the next one at 0x10 or less."""
    size = len(sample) // 4 * 4
    for encoding, outer, inner, low in (("utf-32-le", 3, 2, 0), ("utf-32-be", 0, 1, 3)):
        plain = size >= 8 and not any(sample[outer:size:4]) and all(byte <= 0x10 for byte in sample[inner:size:4])
        if plain and sum(1 for byte in sample[low:size:4] if byte) > size // 8:
            return encoding
    return None


def _utf16(sample: bytes) -> str | None:
    size = len(sample) // 2 * 2
    even, odd = sample[0:size:2].count(0), sample[1:size:2].count(0)
    units = size // 2
    for encoding, high, low in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if units >= 4 and high * 2 >= units and low * 50 <= units and _ascii_pairs(sample) * 4 < units:
            return encoding
    return None


def _ascii_pairs(sample: bytes) -> int:
    """Units of two visible ASCII characters: many of them are eight-bit text that holds NULs."""
    return sum(0x20 < one < 0x7F and 0x20 < two < 0x7F for one, two in zip(sample[::2], sample[1::2], strict=False))
