"""The way back from a text to where it stands in its source: a spine item and element, a page, a paragraph, a line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class PlaceKind(StrEnum):
    """What the places of a format are counted in. Plain text and Markdown have none: their lines are the text's."""

    ITEM = "item"  # of an EPUB: the spine item's path in the container, the line in it, and the element
    LINE = "line"  # of an HTML page: the line, and the element
    PARAGRAPH = "paragraph"  # of a DOCX: the part, and the number of the w:p in it
    FILE = "file"  # of a book in several text files: the file, and the line in it
    PAGE = "page"  # of a PDF: the number of the page from 1, and its label where that is another


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where one block of the text stands in the source."""

    kind: PlaceKind
    part: str  # a spine item, a part of a DOCX, a page's label
    number: int  # 1-based: line, paragraph or page
    element: str = ""  # a path as in XPath, without namespaces; "" where there is none

    def named(self) -> dict[str, str | int]:
        """For programs: only what the format has."""
        if self.kind is PlaceKind.PAGE:
            label = {"label": self.part} if self.part else {}
            return {"page": self.number, **label}
        if self.kind is PlaceKind.PARAGRAPH:
            return {"item": self.part, "paragraph": self.number}
        item = {} if self.kind is PlaceKind.LINE else {"item": self.part}
        element = {"element": self.element} if self.element else {}
        return {**item, "line": self.number, **element}


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """The places of a whole text, by the offset at which each block begins. All columns are of one length.

    Of files, a block is a whole file, and its number is how many lines of the text stand before it.
    """

    kind: PlaceKind
    parts: tuple[str, ...]  # the names that `part` counts in
    starts: Sequence[int]  # characters into the text, rising
    part: Sequence[int]
    numbers: Sequence[int]
    elements: Sequence[str]

    def at(self, offset: int, line: int = 1) -> Place | None:
        """The place of the block that holds a character; that of the first block for what stands before it.

        `line` is the text's line that the character stands on.
        """
        if not self.starts:
            return None
        found = max(0, bisect_right(self.starts, offset) - 1)
        number = self.numbers[found]
        return Place(
            kind=self.kind,
            part=self.parts[self.part[found]],
            number=max(1, line - number) if self.kind is PlaceKind.FILE else number,
            element=self.elements[found],
        )


def where(citation: Mapping[str, Any]) -> str:
    """Where a citation leads, in a few words: to the source's own places, or to the lines of the text."""
    if "source" in citation:
        return spoken(citation["source"], citation.get("source_end"))
    first, last = citation["start_line"], citation.get("end_line", citation["start_line"])
    return f"line {first}" if first == last else f"lines {first}–{last}"


def spoken(start: Mapping[str, str | int], end: Mapping[str, str | int] | None = None) -> str:
    """A named place, or the stretch from one to another, in a few words."""
    if "page" in start:
        first, last = _page(start), _page(end or start)
        return f"page {first}" if first == last else f"pages {first}–{last}"
    counted = "paragraph" if "paragraph" in start else "line"
    first, last = str(start[counted]), str((end or start).get(counted, start[counted]))
    same = end is None or end.get("item") == start.get("item")
    item = f"{str(start['item']).rpartition('/')[2]} " if "item" in start and counted == "line" else ""
    if same:
        return f"{item}{counted} {first}" if first == last else f"{item}{counted}s {first}–{last}"
    assert end is not None
    return f"{item}{counted} {first} – {str(end.get('item', '')).rpartition('/')[2]} {counted} {last}"


def _page(place: Mapping[str, str | int]) -> str:
    label = place.get("label")
    return f"{place['page']} ({label})" if label else str(place["page"])
