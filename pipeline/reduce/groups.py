"""Content-defined groups of consecutive outputs (DESIGN §8, SPLITTING 7): an edit regroups its neighbours only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FANOUT = 6  # one output in six ends a group
LEAST = 2
MOST = 16
WHOLE = 12  # so few outputs are one group when they fit: most chapters need a single node


@dataclass(frozen=True, kw_only=True, slots=True)
class Child:
    """An output to be grouped: its hash (32 bytes) and its size in tokens."""

    sha256: bytes
    size: int


def ends_group(child: Child) -> bool:
    """Does a group like to end after this output? By its hash alone, so the answer moves with it."""
    return int.from_bytes(child.sha256[:4]) % FANOUT == 0


def grouped(children: Sequence[Child], budget: int) -> list[tuple[int, int]]:
    """Cut into (first, end) runs of 2 to 16 outputs, each of at most `budget` tokens.

    Two outputs are always taken together, whatever their size, for a tree must narrow. A last one left over alone joins
    the run before where it fits, else it stays alone and passes through.
    """
    if 1 < len(children) <= WHOLE and sum(child.size for child in children) <= budget:
        return [(0, len(children))]
    runs: list[tuple[int, int]] = []
    first = size = 0
    for at, child in enumerate(children):
        count = at - first
        if count >= LEAST and (size + child.size > budget or count >= MOST or ends_group(children[at - 1])):
            runs.append((first, at))
            first, size = at, 0
        size += child.size
    if first < len(children):
        runs.append((first, len(children)))
    if len(runs) > 1 and runs[-1][1] - runs[-1][0] == 1:
        start, middle = runs[-2]
        if sum(child.size for child in children[start : middle + 1]) <= budget and middle - start < MOST:
            runs[-2:] = [(start, middle + 1)]
    return runs
