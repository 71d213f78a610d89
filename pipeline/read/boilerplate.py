"""Words that are not the book's own: Project Gutenberg's header and licence, Aozora Bunko's legend and colophon."""

from __future__ import annotations

import re
from enum import StrEnum


class Marker(StrEnum):
    """What a marker line does."""

    BOOK_BEGINS = "book begins"  # everything before it, back to the end of the book before, is boilerplate
    BOOK_ENDS = "book ends"  # everything from it on, up to the next book, is boilerplate
    LEGEND = "legend"  # Aozora Bunko tells between two rules what its marks mean
    SITE = "site"  # a line of a site between the book's own
    NOTE = "note"  # a line of the author's to the readers of a site


# How a marker line can begin, for the scanner.
MARKER_STARTS = r"\*\*\* ?START|\*\*\* ?END|\*END|\*\*\*START|End of (?:this |The |the )?Project"
_BEGINS = re.compile(
    r"\*\*\*\s*START OF (?:THIS|THE) PROJECT GUTENBERG.*|\*END[*\s]*THE SMALL PRINT.*\*END\*?.*", re.IGNORECASE
)
_ENDS = re.compile(
    r"\*\*\*\s*END OF (?:THIS|THE) PROJECT GUTENBERG.*|End of (?:this |the )?Project Gutenberg(?:['’]s)? .*|底本：.*",
    re.IGNORECASE,
)
LEGEND = "【テキスト中に現れる記号について】"
LEGEND_STARTS = "【テキスト中に現れる"
_LEGEND_CHARS = 4000
_RULE = re.compile(r"^-{10,}[ \t]*\n", re.MULTILINE)
_FIRST_CHARS = frozenset("*Ee底【")
_TITLE = re.compile(r"^Title:[ \t]*(\S[^\n]*(?:\n[ \t]{2,}\S[^\n]*)*)", re.MULTILINE)


def marker_of(line: str) -> Marker | None:
    """What a line (no space around it) says of where the book begins or ends, or None."""
    if line[:1] not in _FIRST_CHARS:
        return None
    if _BEGINS.fullmatch(line):
        return Marker.BOOK_BEGINS
    if _ENDS.fullmatch(line):
        return Marker.BOOK_ENDS
    return Marker.LEGEND if line == LEGEND else None


def legend_around(head: str, place: int) -> tuple[int, int] | None:
    """Where the legend begins and ends whose first line stands at `place`: rules go around it. None without them."""
    above = head.rfind("\n", 0, max(0, place - 1)) + 1
    below = _RULE.search(head, place, place + _LEGEND_CHARS)
    if below is None or not _RULE.match(head, above):
        return None
    return above, below.end()


def stated_title(header: str) -> str | None:
    """The title that a Project Gutenberg header states, or None."""
    found = _TITLE.search(header)
    return " ".join(found[1].split()) if found else None
