"""Alignment: which chunk of the new revision is which chunk of the one before (DESIGN §7).

By declared policy: the same content hash first (unique ones, then repeated ones in order), then the place between two
neighbours that are aligned. What is left is new.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Known:
    """A chunk of the revision before."""

    logical_id: UUID
    content_sha256: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """The ids of the new chunks, in order (None: a new chunk), and the counts of what happened."""

    ids: tuple[UUID | None, ...]
    kept: int
    edited: int
    moved: int
    added: int
    removed: int

    def report(self) -> dict[str, int]:
        """The counts by name."""
        return {name: getattr(self, name) for name in ("kept", "edited", "moved", "added", "removed")}


def align(before: Sequence[Known], after: Sequence[bytes]) -> Alignment:
    """Align the chunks `before`, in order, with the content hashes `after`, in order."""
    match = _by_hash(before, after)
    moved = len(match) - len(_in_order(match))
    edited = _by_place(before, after, match)
    ids = tuple(before[match[at]].logical_id if at in match else None for at in range(len(after)))
    return Alignment(
        ids=ids,
        kept=len(match) - edited - moved,
        edited=edited,
        moved=moved,
        added=len(after) - len(match),
        removed=len(before) - len(match),
    )


def _by_hash(before: Sequence[Known], after: Sequence[bytes]) -> dict[int, int]:
    places: defaultdict[bytes, deque[int]] = defaultdict(deque)
    for at, known in enumerate(before):
        places[known.content_sha256].append(at)
    match: dict[int, int] = {}
    for at, sha in enumerate(after):
        if places.get(sha):
            match[at] = places[sha].popleft()
    return match


def _in_order(match: dict[int, int]) -> list[int]:
    """The new places of a longest run of matches that kept their order (patience sorting)."""
    tails: list[int] = []
    best: list[int] = []
    link: dict[int, int | None] = {}
    for at in sorted(match):
        slot = bisect_left(tails, match[at])
        link[at] = best[slot - 1] if slot else None
        if slot == len(tails):
            tails.append(match[at])
            best.append(at)
        else:
            tails[slot], best[slot] = match[at], at
    chain: list[int] = []
    at_or_none = best[-1] if best else None
    while at_or_none is not None:
        chain.append(at_or_none)
        at_or_none = link[at_or_none]
    return chain[::-1]


def _by_place(before: Sequence[Known], after: Sequence[bytes], match: dict[int, int]) -> int:
    """Pair what stands between the same two aligned neighbours, in order; says how many pairs it made."""
    anchors = [(-1, -1), *((at, match[at]) for at in _in_order(match)), (len(after), len(before))]
    taken = set(match.values())
    edited = 0
    for (new_low, old_low), (new_high, old_high) in pairwise(anchors):
        fresh = [at for at in range(new_low + 1, new_high) if at not in match]
        gone = [at for at in range(old_low + 1, old_high) if at not in taken]
        for new, old in zip(fresh, gone, strict=False):
            match[new] = old
            edited += 1
    return edited
