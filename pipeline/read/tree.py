"""From marks in reading order to the section tree. No recursion: ten thousand levels or marks cost linear time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.read.reading import ReadWarning, Section, SectionKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """Where a section begins. A mark's section ends where the next one of the same or a lower depth begins."""

    start: int  # offset of the first character
    line: int  # 1-based line of that character
    depth: int  # place in the hierarchy, smaller is further out; only the order counts
    kind: SectionKind
    title: str
    level: int | None = None  # a level of its own; None: one more than its parent's
    is_leaf: bool = False  # it holds no other section
    inline: bool = False  # it begins within a line, behind a form feed or the like


@dataclass(frozen=True, kw_only=True, slots=True)
class Structure:
    """What the text's own lines say of its structure."""

    title: str | None
    sections: tuple[Section, ...]
    warnings: tuple[ReadWarning, ...]


def sections_from(marks: Sequence[Mark], char_count: int, line_count: int) -> tuple[Section, ...]:
    """The sections of marks sorted by start, covering characters 0 to `char_count`; the first mark starts at 0."""
    ends: list[Mark | None] = [None] * len(marks)
    parents: list[int | None] = []
    levels: list[int] = []
    open_marks: list[int] = []
    for ordinal, mark in enumerate(marks):
        while open_marks and (marks[open_marks[-1]].is_leaf or marks[open_marks[-1]].depth >= mark.depth):
            ends[open_marks.pop()] = mark
        parent = open_marks[-1] if open_marks else None
        parents.append(parent)
        levels.append(mark.level or (1 if parent is None else levels[parent] + 1))
        open_marks.append(ordinal)
    sections = []
    for ordinal, (mark, end) in enumerate(zip(marks, ends, strict=True)):
        last_line = line_count if end is None else end.line if end.inline else end.line - 1
        sections.append(
            Section(
                ordinal=ordinal,
                parent=parents[ordinal],
                level=levels[ordinal],
                kind=mark.kind,
                title=mark.title,
                start=mark.start,
                end=char_count if end is None else end.start,
                start_line=mark.line,
                end_line=max(mark.line, last_line),
            )
        )
    return tuple(sections)


def first_line(text: str) -> str:
    """The first line of a text with something to be seen, at most 80 characters; "" when there is none."""
    for line in text.split("\n"):
        if line.strip():
            return line.strip()[:80]
    return ""
