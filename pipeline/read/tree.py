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
    inset: bool = False  # it stands within the section around it and closes none
    end: int | None = None  # of an inset: what is around it goes on from here; None: it ends where the next begins
    end_line: int = 0  # the last line of an inset that has an end


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
        while open_marks and _closes(mark, marks[open_marks[-1]]):
            ends[open_marks.pop()] = mark
        parent = open_marks[-1] if open_marks else None
        parents.append(parent)
        levels.append(mark.level or (1 if parent is None else levels[parent] + 1))
        if mark.end is None:
            open_marks.append(ordinal)
    sections = []
    for ordinal, (mark, end) in enumerate(zip(marks, ends, strict=True)):
        last_line = line_count if end is None else end.line if end.inline else end.line - 1
        end_at = char_count if end is None else end.start
        if mark.end is not None:
            end_at, last_line = mark.end, mark.end_line
        sections.append(
            Section(
                ordinal=ordinal,
                parent=parents[ordinal],
                level=levels[ordinal],
                kind=mark.kind,
                title=mark.title,
                start=mark.start,
                end=end_at,
                start_line=mark.line,
                end_line=max(mark.line, last_line),
            )
        )
    return tuple(sections)


def _closes(mark: Mark, before: Mark) -> bool:
    """Whether a section ends where another begins."""
    if mark.inset or before.inset:
        return before.inset
    return before.is_leaf or before.depth >= mark.depth


def own_runs(starts: Sequence[int], ends: Sequence[int]) -> list[tuple[int, int]]:
    """(offset, place in the sequences) of sections in reading order: from that offset on, up to the next, the text is
    that section's own and of none below it.

    A section has several runs when others stand within its own text, as the banner of a site does.
    """
    runs: list[tuple[int, int]] = []
    around: list[int] = []
    for place in range(len(starts) + 1):
        start = starts[place] if place < len(starts) else None
        while around and (start is None or ends[around[-1]] <= start):
            end = ends[around.pop()]
            if around and end < ends[around[-1]] and (start is None or end < start):
                _begin(runs, end, around[-1])
        if start is not None:
            _begin(runs, start, place)
            around.append(place)
    return runs


def _begin(runs: list[tuple[int, int]], start: int, place: int) -> None:
    if runs and runs[-1][0] == start:
        runs.pop()  # nothing stands between the two
    runs.append((start, place))


def first_line(text: str) -> str:
    """The first line of a text with something to be seen, at most 80 characters; "" when there is none."""
    for line in text.split("\n"):
        if line.strip():
            return line.strip()[:80]
    return ""
