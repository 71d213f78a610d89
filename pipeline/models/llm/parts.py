"""Cuts a text that is too long for the window into parts, at the best place there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pipeline.ops.values import OpOutput

_MARKS = ("\n\n", "\n", "。", ". ", "！", "？", "! ", "? ", " ")
_NEAR = 0.5  # a cut is looked for in the last half of what fits


def cut(text: str, fits: Callable[[str], bool]) -> list[str] | None:
    """Parts of a text that fit, which joined are the text; None when not even a single character does."""
    parts: list[str] = []
    rest = text
    while rest:
        if fits(rest):
            parts.append(rest)
            return parts
        most = _most(rest, fits)
        if most == 0:
            return None
        at = _place(rest, most)
        parts.append(rest[:at])
        rest = rest[at:]
    return parts or [""]


def halves(text: str) -> list[str] | None:
    """Two parts of a text that a server found too long; None when it can not be cut."""
    if len(text) < 2:
        return None
    at = _place(text, (len(text) + 1) // 2)
    return [text[:at], text[at:]]


def _most(text: str, fits: Callable[[str], bool]) -> int:
    """How many characters fit: to within a hundredth, for every look counts tokens."""
    low, high = 0, len(text)
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(text[:middle]) else (low, middle)
    return low


def _place(text: str, most: int) -> int:
    for mark in _MARKS:
        at = text.rfind(mark, int(most * _NEAR), most)
        if at > 0:
            return at + len(mark)
    return most


def moved(output: OpOutput, by: int) -> OpOutput:
    """An output of a part, its spans moved to where the part stands in the chunk."""
    spans = tuple(replace(span, start=span.start + by, end=span.end + by) for span in output.spans)
    return replace(output, spans=spans)


def starts(parts: Sequence[str]) -> list[int]:
    """Where each part begins."""
    found = [0]
    for part in parts[:-1]:
        found.append(found[-1] + len(part))
    return found
