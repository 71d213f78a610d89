"""Alignment: which chunk of the new revision is which chunk of the one before (DESIGN §7).

By declared policy, each step only for what the steps before it left:

1. The same content hash: hashes that are unique in both revisions, then runs that continue from those, then what stands
   between two aligned neighbours, in order, then repeated ones anywhere, in order.
2. Neighbours and similarity: between two aligned neighbours, the pairs in order whose texts are most alike; then alike
   texts anywhere.
3. Position: what still stands between the same two neighbours, in order.

What is left is new, or gone. A whole run of chunks that is known to be unchanged may stand as one item with its weight.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

SIMILAR = (
    0.5  # of two texts between the same neighbours: the normalized indel similarity that makes one the other's edit
)
ALIKE = 0.75  # the same anywhere in the document
BAND = 24  # texts in a row that one is compared with
MOST_PAIRS = 4_000  # comparisons in all: a wholly rewritten book is aligned by position instead
MOST_CELLS = 100_000  # new times old texts between two neighbours: above it, too
MOST_CHARS = 8_000  # of a text that are compared

Texts = Callable[[Sequence[bytes]], Mapping[bytes, str]]  # gives texts by content hash


@dataclass(frozen=True, slots=True)
class Known:
    """A chunk of the revision before; or a run of chunks that both revisions share, under one hash."""

    logical_id: UUID | None
    content_sha256: bytes
    weight: int = 1  # chunks in it
    run: bool = False


@dataclass(frozen=True, slots=True)
class Arrived:
    """The same of the new revision."""

    content_sha256: bytes
    weight: int = 1
    run: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """For each new item the index of the one before that it is (None: a new one), and the counts of what happened."""

    match: tuple[int | None, ...]
    ids: tuple[UUID | None, ...]
    kept: int  # the same text, in order
    edited: int  # the same chunk with another text
    moved: int  # the same text, elsewhere
    added: int
    removed: int

    def report(self) -> dict[str, int]:
        """The counts by name."""
        return {name: getattr(self, name) for name in ("kept", "edited", "moved", "added", "removed")}


def align(before: Sequence[Known], after: Sequence[Arrived], texts: Texts | None = None) -> Alignment:
    """Align what there was with what there is, both in reading order. Without `texts` nothing is compared."""
    match = _by_hash([item.content_sha256 for item in before], after)
    same = frozenset(match)
    in_order = frozenset(_in_order(match, after))
    if texts is not None:
        _by_similarity(before, after, match, texts)
    _by_place(before, after, match)
    ids = tuple(before[match[at]].logical_id if at in match else None for at in range(len(after)))
    gone = set(range(len(before))) - set(match.values())
    return Alignment(
        match=tuple(match.get(at) for at in range(len(after))),
        ids=ids,
        kept=sum(after[at].weight for at in in_order),
        edited=len(match) - len(same),
        moved=sum(after[at].weight for at in same - in_order),
        added=sum(item.weight for at, item in enumerate(after) if at not in match),
        removed=sum(before[at].weight for at in gone),
    )


# 1. The same content


def _by_hash(before: Sequence[bytes], after: Sequence[Arrived]) -> dict[int, int]:
    hashes = [item.content_sha256 for item in after]
    old, new = Counter(before), Counter(hashes)
    place = {sha: at for at, sha in enumerate(before) if old[sha] == 1}
    match = {at: place[sha] for at, sha in enumerate(hashes) if new[sha] == 1 and sha in place}
    if len(match) == len(hashes):
        return match
    taken = set(match.values())
    for step in (1, -1):
        _continue(before, hashes, match, taken, step)
    _between(before, hashes, match, taken, after)
    _anywhere(before, hashes, match, taken)
    return match


def _continue(
    before: Sequence[bytes], after: Sequence[bytes], match: dict[int, int], taken: set[int], step: int
) -> None:
    """Follow the runs: what stands beside a pair and is equal is a pair too."""
    for start in sorted(match, reverse=step < 0):
        at, old = start + step, match[start] + step
        while 0 <= at < len(after) and 0 <= old < len(before) and at not in match and old not in taken:
            if after[at] != before[old]:
                break
            match[at] = old
            taken.add(old)
            at, old = at + step, old + step


def _between(
    before: Sequence[bytes], hashes: Sequence[bytes], match: dict[int, int], taken: set[int], after: Sequence[Arrived]
) -> None:
    for fresh, gone in _gaps(match, after, len(before)):
        _pair_in_order(before, hashes, match, taken, fresh, gone)


def _anywhere(before: Sequence[bytes], hashes: Sequence[bytes], match: dict[int, int], taken: set[int]) -> None:
    fresh = [at for at in range(len(hashes)) if at not in match]
    _pair_in_order(before, hashes, match, taken, fresh, [at for at in range(len(before)) if at not in taken])


def _pair_in_order(
    before: Sequence[bytes],
    after: Sequence[bytes],
    match: dict[int, int],
    taken: set[int],
    fresh: Sequence[int],
    gone: Sequence[int],
) -> None:
    places: defaultdict[bytes, deque[int]] = defaultdict(deque)
    for old in gone:
        places[before[old]].append(old)
    for at in fresh:
        if places.get(after[at]):
            match[at] = places[after[at]].popleft()
            taken.add(match[at])


# Neighbours


def _in_order(match: Mapping[int, int], after: Sequence[Arrived]) -> list[int]:
    return in_order(match, lambda at: after[at].weight)


def in_order(match: Mapping[int, int], weight_of: Callable[[int], int]) -> list[int]:
    """The new places of the heaviest run of (new, old) pairs that kept their order; the longest, if all weigh the same.

    (Longest increasing subsequence by patience sorting, with weights.)
    """
    places = sorted(match)
    if all(match[one] < match[two] for one, two in pairwise(places)):
        return places
    # The pairs that end the best run of each weight so far: old places and weights both rise along the lists.
    ends: list[int] = []
    weights: list[int] = []
    last: list[int] = []
    link: dict[int, int | None] = {}
    for at in places:
        slot = bisect_left(ends, match[at])
        link[at] = last[slot - 1] if slot else None
        weight = (weights[slot - 1] if slot else 0) + weight_of(at)
        stop = slot
        while stop < len(ends) and weights[stop] <= weight:
            stop += 1
        ends[slot:stop], weights[slot:stop], last[slot:stop] = [match[at]], [weight], [at]
    chain: list[int] = []
    at_or_none = last[-1] if last else None
    while at_or_none is not None:
        chain.append(at_or_none)
        at_or_none = link[at_or_none]
    return chain[::-1]


def _gaps(match: Mapping[int, int], after: Sequence[Arrived], before: int) -> list[tuple[list[int], list[int]]]:
    """The unmatched new and old places between each two aligned neighbours."""
    anchors = [(-1, -1), *((at, match[at]) for at in _in_order(match, after)), (len(after), before)]
    taken = set(match.values())
    found = []
    for (new_low, old_low), (new_high, old_high) in pairwise(anchors):
        fresh = [at for at in range(new_low + 1, new_high) if at not in match]
        gone = [at for at in range(old_low + 1, old_high) if at not in taken]
        if fresh and gone:
            found.append((fresh, gone))
    return found


# 2. Similarity


def _by_similarity(before: Sequence[Known], after: Sequence[Arrived], match: dict[int, int], texts: Texts) -> None:
    compare = _Compare(before, after, texts)
    for fresh, gone in _gaps(match, after, len(before)):
        if 1 < len(fresh) * len(gone) <= MOST_CELLS:  # one for one is settled by its place
            match.update(_best_in_order(fresh, gone, compare))
    _alike_anywhere(before, after, match, compare)


def _alike_anywhere(
    before: Sequence[Known], after: Sequence[Arrived], match: dict[int, int], compare: _Compare
) -> None:
    taken = set(match.values())
    settled = {at for fresh, gone in _gaps(match, after, len(before)) if len(fresh) == len(gone) == 1 for at in fresh}
    fresh = [at for at in range(len(after)) if at not in match and at not in settled and not after[at].run]
    gone = [at for at in range(len(before)) if at not in taken and not before[at].run]
    pairs = [(compare.score(at, old), at, old) for at in fresh[:BAND] for old in gone[:BAND]]
    for score, at, old in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if score >= ALIKE and at not in match and old not in taken:
            match[at] = old
            taken.add(old)


class _Compare:
    """How alike a new and an old text are, from 0 to 1; 0 for all once the budget of comparisons is spent."""

    def __init__(self, before: Sequence[Known], after: Sequence[Arrived], texts: Texts) -> None:
        self._before = before
        self._after = after
        self._texts = texts
        self._left = MOST_PAIRS
        self._known: dict[bytes, str] = {}

    def score(self, at: int, old: int) -> float:
        """The normalized indel similarity of the two texts."""
        if self._left <= 0 or self._before[old].run or self._after[at].run:
            return 0.0
        from rapidfuzz.distance import Indel  # most revisions need no comparison, and this takes a while to import

        self._left -= 1
        one, two = self._text(self._after[at].content_sha256), self._text(self._before[old].content_sha256)
        return Indel.normalized_similarity(one, two)

    def _text(self, sha: bytes) -> str:
        if sha not in self._known:
            self._known[sha] = self._texts([sha]).get(sha, "")[:MOST_CHARS]
        return self._known[sha]


def _best_in_order(fresh: Sequence[int], gone: Sequence[int], compare: _Compare) -> dict[int, int]:
    """The pairs, in order, whose similarities have the greatest sum, none below SIMILAR (as sequences are aligned:
    S. Needleman and C. Wunsch, 1970), each new text compared with a band of old ones about its own place."""
    rows = [{-1: (0.0, -1, False)}]  # by old place: (sum, how far the row before was used, paired)
    ratio = len(gone) / len(fresh)
    for number, at in enumerate(fresh):
        middle = int(number * ratio)
        band = range(max(0, middle - BAND), min(len(gone), middle + BAND + 1))
        above = _running(rows[-1], len(gone))
        row: dict[int, tuple[float, int, bool]] = {-1: (0.0, -1, False)}
        for column in range(len(gone)):
            best = (above[column + 1][0], column, False)
            score = compare.score(at, gone[column]) if column in band else 0.0
            if score >= SIMILAR and above[column][0] + score > best[0]:
                best = (above[column][0] + score, column - 1, True)
            row[column] = best
        rows.append(row)
    return _traced(rows, fresh, gone)


def _running(row: Mapping[int, tuple[float, int, bool]], count: int) -> list[tuple[float, int]]:
    """The best sum of a row up to each column, and the column that has it; index 0 stands for none of them."""
    best = (0.0, -1)
    found = [best]
    for column in range(count):
        if column in row and row[column][0] > best[0]:
            best = (row[column][0], column)
        found.append(best)
    return found


def _traced(
    rows: Sequence[Mapping[int, tuple[float, int, bool]]], fresh: Sequence[int], gone: Sequence[int]
) -> dict[int, int]:
    pairs: dict[int, int] = {}
    column = len(gone) - 1
    for number in range(len(rows) - 1, 0, -1):
        _, end = _running(rows[number], len(gone))[column + 1]
        if end < 0:
            continue
        _, before, paired = rows[number][end]
        if paired:
            pairs[fresh[number - 1]] = gone[end]
        column = before
    return pairs


# 3. Position


def _by_place(before: Sequence[Known], after: Sequence[Arrived], match: dict[int, int]) -> None:
    for fresh, gone in _gaps(match, after, len(before)):
        chunks = [old for old in gone if not before[old].run]
        match.update(zip([at for at in fresh if not after[at].run], chunks, strict=False))
