"""The sections of a selection as the fold sees them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from pipeline.reduce.foldtree import FoldSection
from workers.planning.selection import Selection


class Forest:
    """The fold sections of a selection: each document is a root, below it the sections that hold or lead to chunks."""

    def __init__(self, selection: Selection) -> None:
        self.sections: list[FoldSection] = []
        self.number: dict[tuple[int, int], int] = {}  # (member, section ordinal) → number in the forest
        self.roots: list[int] = []
        run = 0
        for at, member in enumerate(selection.members):
            leaves: dict[int, list[range]] = {}
            for place in member.places:
                first = selection.first(run)
                # Pages of one section follow each other, but where another stands within its text.
                leaves.setdefault(place.section, []).append(range(first, first + place.chunk_count))
                run += 1
            self._add(at, member.sections.parents, leaves)

    def _add(self, member: int, parents: Sequence[int | None], leaves: dict[int, list[range]]) -> None:
        wanted: set[int] = set()
        for ordinal in leaves:
            step: int | None = ordinal
            while step is not None and step not in wanted:
                wanted.add(step)
                step = parents[step]
        root = len(self.sections)
        self.roots.append(root)
        self.sections.append(FoldSection(parent=None, leaves=range(0)))
        for ordinal in sorted(wanted):
            parent = parents[ordinal]
            self.number[member, ordinal] = len(self.sections)
            self.sections.append(
                FoldSection(
                    parent=root if parent is None else self.number[member, parent],
                    leaves=tuple(chain.from_iterable(leaves.get(ordinal, ()))),
                )
            )

    @cached_property
    def below(self) -> list[list[int]]:
        """The sections right below each section, in order."""
        found: list[list[int]] = [[] for _ in self.sections]
        for number, section in enumerate(self.sections):
            if section.parent is not None:
                found[section.parent].append(number)
        return found

    def is_top(self, scope: int) -> bool:
        """Is this section a document's root?"""
        return self.sections[scope].parent is None
