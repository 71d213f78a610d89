"""What a fold will call while some of its leaves' outputs are not there yet: bounds that hold whatever those turn out.

A group ends where the hash of an output, or the sizes, say so (`groups`). Next to an output that is not known, several
ways to group are possible. They are followed side by side until all of them end a group at the same place: beyond it
nothing is in doubt. The most calls are those of the way with the most groups; what it gives is counted as so many
unknown outputs in the next round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.reduce.foldtree import FoldSection
from pipeline.reduce.groups import LEAST, MOST, WHOLE, Child, ends_group, grouped

UNKNOWN = None  # an output that is not there yet
Item = Child | None
Group = tuple[int, int]  # first and end

Lookup = Callable[[Sequence[tuple[bool, tuple[bytes, ...]]]], Sequence[Child | None]]
"""For (top, children's hashes) of nodes: their outputs in the memo, None where there is none."""


@dataclass(slots=True)
class Bounds:
    """Calls of the nodes of one section, or of all."""

    hits: int = 0
    least: int = 0
    most: int = 0

    def add(self, other: Bounds) -> None:
        """Count another's too."""
        self.hits += other.hits
        self.least += other.least
        self.most += other.most


@dataclass(frozen=True, kw_only=True, slots=True)
class _Round:
    """How the outputs of one section are grouped: sure groups, and stretches in doubt."""

    parts: tuple[tuple[Group, int], ...]  # (from, to) and the most groups in it; 0: one group, and that is sure


@dataclass(kw_only=True)
class FoldBounds:
    """Bounds of a fold over sections, children after their parents."""

    sections: Sequence[FoldSection]
    leaves: Mapping[int, Item]  # by ordinal; one that is not there is a hole, or left out
    budget: int
    largest: int  # tokens that an unknown output may have
    found: dict[int, Bounds] = field(default_factory=dict)  # by section

    def calls(self, lookup: Lookup) -> Bounds:
        """The bounds of all sections together; `found` has those of each."""
        children: list[list[int]] = [[] for _ in self.sections]
        for number, section in enumerate(self.sections):
            if section.parent is not None:
                children[section.parent].append(number)
        settled: dict[int, list[Item]] = {}
        waiting = set(range(len(self.sections)))
        while waiting:
            ready = [at for at in waiting if all(child in settled for child in children[at])]
            items = {at: self._items(at, children[at], settled) for at in ready}
            settled |= self._settle(items, lookup)
            waiting -= set(ready)
        total = Bounds()
        for bounds in self.found.values():
            total.add(bounds)
        return total

    def _items(self, number: int, children: Sequence[int], settled: Mapping[int, list[Item]]) -> list[Item]:
        own: list[Item] = [self.leaves[at] for at in self.sections[number].leaves if at in self.leaves]
        return own + [item for child in children for item in settled[child]]

    def _settle(self, lists: dict[int, list[Item]], lookup: Lookup) -> dict[int, list[Item]]:
        """Group until one output is left of each section (none of one without outputs)."""
        open_ = {at: items for at, items in lists.items() if len(items) > 1}
        sure = set(open_)  # of these it is known how many outputs there are
        done = {at: items for at, items in lists.items() if len(items) <= 1}
        while open_:
            rounds = {at: self._round(items) for at, items in open_.items()}
            asked = [
                (at, group) for at, found in rounds.items() for group, doubt in found.parts
                if not doubt and group[1] - group[0] > 1 and UNKNOWN not in open_[at][group[0] : group[1]]
            ]  # fmt: skip
            outputs = dict(zip(asked, lookup([self._node(at, open_[at], group) for at, group in asked]), strict=True))
            for at, items in list(open_.items()):
                open_[at] = self._next(at, items, rounds[at], outputs, sure=at in sure)
                if any(doubt for _, doubt in rounds[at].parts):
                    sure.discard(at)
                if len(open_[at]) <= 1:
                    done[at] = open_.pop(at)
        return done

    def _node(self, number: int, items: Sequence[Item], group: Group) -> tuple[bool, tuple[bytes, ...]]:
        top = self.sections[number].parent is None
        return top, tuple(item.sha256 for item in items[group[0] : group[1]] if item is not None)

    def _next(
        self,
        number: int,
        items: Sequence[Item],
        found: _Round,
        outputs: Mapping[tuple[int, Group], Child | None],
        *,
        sure: bool,
    ) -> list[Item]:
        bounds = self.found.setdefault(number, Bounds())
        made: list[Item] = []
        for group, doubt in found.parts:
            first, end = group
            if doubt:
                bounds.most += doubt
                made += [UNKNOWN] * doubt
            elif end - first == 1:
                made.append(items[first])
            elif (number, group) in outputs:
                output = outputs[number, group]
                bounds.add(Bounds(hits=1) if output is not None else Bounds(least=int(sure), most=1))
                made.append(output)
            else:
                bounds.most += 1
                made.append(UNKNOWN)
        return made

    # Grouping with unknown outputs

    def _round(self, items: Sequence[Item]) -> _Round:
        if UNKNOWN not in items:
            known = [item for item in items if item is not None]
            return _Round(parts=tuple((group, 0) for group in grouped(known, self.budget)))
        steps = self._steps(items)
        return _Round(parts=tuple(_parts(steps, len(items))))

    def _steps(self, items: Sequence[Item]) -> dict[int, list[int]]:
        """For each place where a group may begin, where it may end."""
        count = len(items)
        steps: dict[int, list[int]] = {}
        if count <= WHOLE and self._size(items, 0, count)[0] <= self.budget:
            if self._size(items, 0, count)[1] <= self.budget:
                return {0: [count]}
            steps[0] = [count]
        waiting = [0]
        while waiting:
            first = waiting.pop()
            ends = self._ends(items, first)
            steps[first] = sorted({*steps.get(first, ()), *ends})
            waiting += [end for end in ends if end < count and end not in steps]
        return steps

    def _ends(self, items: Sequence[Item], first: int) -> list[int]:
        """Where a group that begins here may end."""
        count = len(items)
        ends: list[int] = []
        known, unknown = self._parts(items, first, first + LEAST)
        for end in range(first + LEAST, min(first + MOST, count) + 1):
            if end == count:
                return [*ends, end]
            more = self._parts(items, end, end + 1)
            known, unknown = known + more[0], unknown + more[1]
            before = items[end - 1]
            full = known > self.budget or end - first >= MOST
            sure = full or (before is not None and ends_group(before))
            if sure or before is UNKNOWN or known + unknown * self.largest > self.budget:
                ends += self._ending(items, first, end)
            if sure:
                return ends
        return ends or [count]

    def _ending(self, items: Sequence[Item], first: int, end: int) -> list[int]:
        """An end with one output left behind it takes that in, where it fits."""
        if end != len(items) - 1:
            return [end]
        least, most = self._size(items, first, end + 1)
        if end - first >= MOST or least > self.budget:
            return [end]
        return [end + 1] if most <= self.budget else [end, end + 1]

    def _size(self, items: Sequence[Item], first: int, end: int) -> tuple[int, int]:
        """The least and the most tokens of outputs together."""
        known, unknown = self._parts(items, first, end)
        return known, known + unknown * self.largest

    @staticmethod
    def _parts(items: Sequence[Item], first: int, end: int) -> tuple[int, int]:
        """The tokens of the outputs that are known, and how many are not."""
        some = items[first:end]
        return sum(item.size for item in some if item is not None), sum(item is None for item in some)


def _parts(steps: Mapping[int, Sequence[int]], count: int) -> list[tuple[Group, int]]:
    """The stretches between places where every way ends a group."""
    parts: list[tuple[Group, int]] = []
    first = reach = 0
    ways: list[int] = []  # places of this stretch where a group may begin
    for place in sorted(steps):
        if place >= reach and ways:
            parts.append(_stretch(steps, ways, (first, place)))
            first, ways = place, []
        ways.append(place)
        reach = max(reach, *steps[place])
    parts.append(_stretch(steps, ways, (first, count)))
    return parts


def _stretch(steps: Mapping[int, Sequence[int]], ways: Sequence[int], stretch: Group) -> tuple[Group, int]:
    if len(ways) == 1 and len(steps[ways[0]]) == 1:
        return stretch, 0
    longest = {stretch[1]: 0}
    for place in reversed(ways):
        longest[place] = 1 + max(longest[end] for end in steps[place])
    return stretch, longest[stretch[0]]
