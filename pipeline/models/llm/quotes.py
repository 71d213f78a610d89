"""Checks the quotes of an answer against the text and finds their exact places."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property

from pipeline.models.llm.fence import JOINER

_ALIKE = str.maketrans({
    "‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "「": '"', "」": '"',
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "−": "-",
})  # fmt: skip
_EDGES = " \t\n\"'“”‘’«»「」…."
LEAST = 2  # characters without edges: less is no quote, it stands everywhere


@dataclass(frozen=True, slots=True)
class Place:
    """Where a quote stands: characters of the text."""

    start: int
    end: int


class Quotes:
    """Finds quotes in one text: exactly, else whatever white space, quotation marks, dashes, width and case are."""

    def __init__(self, text: str) -> None:
        self._text = text

    def find(self, quote: str) -> Place | None:
        """The first place of a quote; None when the text does not hold it."""
        plain = quote.strip(_EDGES)
        if len(plain) < LEAST:
            return None
        start = self._text.find(plain)
        if start >= 0:
            return Place(start, start + len(plain))
        wanted, _ = _folded(plain)
        folded, origin = self._folded
        at = folded.find(wanted) if wanted else -1
        return Place(origin[at], origin[at + len(wanted) - 1] + 1) if at >= 0 else None

    def every(self, name: str, most: int) -> tuple[int, list[Place]]:
        """How often a name stands in the text as whole words, and its first `most` places."""
        places: list[Place] = []
        count = at = 0
        while name and (at := self._text.find(name, at)) >= 0:
            end = at + len(name)
            if self._bounded(at, end):
                count += 1
                if len(places) < most:
                    places.append(Place(at, end))
            at = end
        return count, places

    def _bounded(self, start: int, end: int) -> bool:
        """Does a word begin and end there? Scripts without spaces have no such bounds."""
        before, after = self._text[start - 1 : start], self._text[end : end + 1]
        return not (_joins(before, self._text[start]) or _joins(self._text[end - 1], after))

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return _folded(self._text)


def _joins(left: str, right: str) -> bool:
    return bool(left and right) and all(char.isalnum() and ord(char) < 0x2E80 for char in (left, right))


def _folded(text: str) -> tuple[str, list[int]]:
    """The text in its plainest form, and where each of its characters comes from."""
    out: list[str] = []
    origin: list[int] = []
    for index, char in enumerate(text):
        if char.isspace():
            if out and out[-1] != " ":
                out.append(" ")
                origin.append(index)
            continue
        if char == JOINER:
            continue
        for plain in unicodedata.normalize("NFKC", char.translate(_ALIKE)).casefold():
            out.append(plain)
            origin.append(index)
    while out and out[-1] == " ":
        out.pop()
        origin.pop()
    return "".join(out), origin
