"""The sections of a stored revision, made when they are looked at.

A novel has thousands, and a run that finds everything in the memo looks at none but their kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, overload

from pipeline.read.reading import Section, SectionKind
from pipeline.read.tree import own_runs


class StoredSections(Sequence[Section]):
    """Sections in reading order, from the columns of a revision's layout and the rows that they name.

    `columns`: ids of rows, ordinals of parents (-1: none), starts, ends, first lines, last lines. `rows`: by id,
    (id, level, kind, title).
    """

    def __init__(self, columns: Sequence[Sequence[int]], rows: Mapping[int, Sequence[Any]]) -> None:
        self._ids, self._parents, self._starts, self._ends, self._start_lines, self._end_lines = columns
        self._rows = rows
        by_word = {kind.value: kind for kind in SectionKind}
        self.kinds = [by_word[rows[section_id][2]] for section_id in self._ids]

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, at: int) -> Section: ...
    @overload
    def __getitem__(self, at: slice) -> list[Section]: ...
    def __getitem__(self, at: int | slice) -> Section | list[Section]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        ordinal = range(len(self))[at]
        _, level, _, title = self._rows[self._ids[ordinal]]
        parent = self._parents[ordinal]
        return Section(
            ordinal=ordinal,
            parent=None if parent < 0 else parent,
            level=level,
            kind=self.kinds[ordinal],
            title=title,
            start=self._starts[ordinal],
            end=self._ends[ordinal],
            start_line=self._start_lines[ordinal],
            end_line=self._end_lines[ordinal],
        )

    @property
    def parents(self) -> list[int | None]:
        """The ordinal of each section's parent."""
        return [None if parent < 0 else parent for parent in self._parents]

    @property
    def starts(self) -> Sequence[int]:
        """The character at which each section starts."""
        return self._starts

    @cached_property
    def runs(self) -> tuple[list[int], list[int]]:
        """Where the text begins that is a section's own and of none below it, and the ordinals of those sections."""
        found = own_runs(self.starts, self.ends)
        return [start for start, _ in found], [ordinal for _, ordinal in found]

    @property
    def ends(self) -> Sequence[int]:
        """The character behind each section and all that it holds."""
        return self._ends
