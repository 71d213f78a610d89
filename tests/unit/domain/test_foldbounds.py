"""Bounds of a fold's calls hold for whatever the outputs turn out that are not there yet."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.reduce.foldbounds import FoldBounds
from pipeline.reduce.foldtree import FoldSection, FoldTree
from pipeline.reduce.groups import Child


def child(*words: object) -> Child:
    sha = hashlib.sha256(repr(words).encode()).digest()
    return Child(sha256=sha, size=sha[5] % 40)


class Fold:
    """A fold whose nodes are remembered, as the memo does."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.memo: dict[tuple[bool, tuple[bytes, ...]], Child] = {}

    def run(self, sections: Sequence[FoldSection], leaves: Sequence[Child | None]) -> tuple[int, int]:
        """Calls and hits."""
        tree = FoldTree(sections, leaves, self.budget)
        calls = hits = 0
        while nodes := tree.next_level():
            outputs = []
            for node in nodes:
                key = (node.top, tuple(tree.output(ref).sha256 for ref in node.children))
                if key in self.memo:
                    hits += 1
                else:
                    calls += 1
                    self.memo[key] = child(key)
                outputs.append(self.memo[key])
            tree.feed(outputs)
        return calls, hits

    def bounds(self, sections: Sequence[FoldSection], leaves: dict[int, Child | None]) -> tuple[int, int, int]:
        found = FoldBounds(sections=sections, leaves=leaves, budget=self.budget, largest=40)
        total = found.calls(lambda nodes: [self.memo.get(node) for node in nodes])
        return total.least, total.most, total.hits


def book(rng: random.Random, chapters: int, most: int) -> list[FoldSection]:
    """A root, and chapters of some leaves each."""
    sections = [FoldSection(parent=None, leaves=range(0))]
    at = 0
    for _ in range(chapters):
        size = rng.randrange(0, most)
        sections.append(FoldSection(parent=0, leaves=range(at, at + size)))
        at += size
    return sections


def total(sections: Sequence[FoldSection]) -> int:
    return sum(len(section.leaves) for section in sections)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    chapters=st.integers(1, 60),
    most=st.sampled_from([2, 4, 20]),
    edits=st.integers(0, 4),
    budget=st.sampled_from([60, 300, 10**9]),
)
def test_the_calls_of_a_fold_stay_within_the_bounds_told_before(
    seed: int, chapters: int, most: int, edits: int, budget: int
) -> None:
    rng = random.Random(seed)
    sections = book(rng, chapters, most)
    count = total(sections)
    leaves: list[Child | None] = [child(seed, at) for at in range(count)]
    fold = Fold(budget)
    fold.run(sections, leaves)
    places = rng.sample(range(count), min(edits, count))
    known = {at: None if at in places else leaf for at, leaf in enumerate(leaves)}
    least, highest, _ = fold.bounds(sections, known)
    after = [child(seed, at, "new") if at in places else leaf for at, leaf in enumerate(leaves)]
    calls, _ = fold.run(sections, after)
    assert least <= calls <= highest


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), chapters=st.integers(1, 60), budget=st.sampled_from([60, 10**9]))
def test_without_unknown_outputs_the_first_round_is_exact(seed: int, chapters: int, budget: int) -> None:
    rng = random.Random(seed)
    sections = book(rng, chapters, 6)
    leaves: list[Child | None] = [child(seed, at) for at in range(total(sections))]
    fold = Fold(budget)
    calls, _ = fold.run(sections, leaves)
    assert fold.bounds(sections, dict(enumerate(leaves))) == (0, 0, calls)
    cold = Fold(budget)
    least, highest, hits = cold.bounds(sections, dict(enumerate(leaves)))
    assert hits == 0
    assert least <= calls <= highest


def test_one_unknown_leaf_of_thousands_leaves_few_calls_in_doubt() -> None:
    sections = [FoldSection(parent=None, leaves=range(4000))]
    leaves: list[Child | None] = [child("novel", at) for at in range(4000)]
    fold = Fold(10**9)
    fold.run(sections, leaves)
    depth = 6
    found = [fold.bounds(sections, dict(enumerate(leaves)) | {at: None}) for at in range(100, 3900, 190)]
    assert max(most for _, most, _ in found) <= 6 * depth
    assert {least for least, _, _ in found} == {0}
