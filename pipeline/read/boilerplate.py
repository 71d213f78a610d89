"""Words that are not the book's own: Project Gutenberg's header and licence, Aozora Bunko's colophon."""

from __future__ import annotations

import re
from enum import StrEnum


class Marker(StrEnum):
    """What a marker line does."""

    BOOK_BEGINS = "book begins"  # everything before it, back to the end of the book before, is boilerplate
    BOOK_ENDS = "book ends"  # everything from it on, up to the next book, is boilerplate


# How a marker line can begin, for the scanner.
MARKER_STARTS = r"\*\*\* ?START|\*\*\* ?END|\*END|\*\*\*START|End of (?:this |The |the )?Project"
_BEGINS = re.compile(
    r"\*\*\*\s*START OF (?:THIS|THE) PROJECT GUTENBERG.*|\*END[*\s]*THE SMALL PRINT.*\*END\*?.*", re.IGNORECASE
)
_ENDS = re.compile(
    r"\*\*\*\s*END OF (?:THIS|THE) PROJECT GUTENBERG.*|End of (?:this |the )?Project Gutenberg(?:['’]s)? .*|底本：.*",
    re.IGNORECASE,
)
_FIRST_CHARS = frozenset("*Ee底")
_TITLE = re.compile(r"^Title:[ \t]*(\S[^\n]*(?:\n[ \t]{2,}\S[^\n]*)*)", re.MULTILINE)


def marker_of(line: str) -> Marker | None:
    """What a line (no space around it) says of where the book begins or ends, or None."""
    if line[:1] not in _FIRST_CHARS:
        return None
    if _BEGINS.fullmatch(line):
        return Marker.BOOK_BEGINS
    if _ENDS.fullmatch(line):
        return Marker.BOOK_ENDS
    return None


def stated_title(header: str) -> str | None:
    """The title that a Project Gutenberg header states, or None."""
    found = _TITLE.search(header)
    return " ".join(found[1].split()) if found else None
