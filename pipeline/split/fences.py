"""Fenced code in Markdown text (CommonMark 0.31, section 4.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeSpan:
    """A fenced block, from its opening line to the end of its closing one, or to the end of the text."""

    start: int
    first_line: int  # where the line after the opener starts
    end: int


def spans_of_code(text: str) -> list[CodeSpan]:
    """Every fenced block in order. A closer has the opener's character, is at least as long, and has no info string;
    a backtick opener has no backtick in its info string. An unclosed block runs to the end."""
    spans: list[CodeSpan] = []
    if "```" not in text and "~~~" not in text:
        return spans
    opener: re.Match[str] | None = None
    for found in FENCE.finditer(text):
        marks, info = found.groups()
        if opener is None:
            if marks[0] == "~" or "`" not in info:
                opener = found
        elif marks.startswith(opener[1]) and not info.strip():
            spans.append(CodeSpan(start=opener.start(), first_line=opener.end(), end=found.end()))
            opener = None
    if opener is not None:
        spans.append(CodeSpan(start=opener.start(), first_line=opener.end(), end=len(text)))
    return spans
