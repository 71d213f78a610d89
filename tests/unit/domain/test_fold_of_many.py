"""A fold over 20,000 chunks for a model with a window of 4,096 tokens: as deep as planned, and no call over it."""

from __future__ import annotations

import math
import random

from pipeline import canonical
from pipeline.reduce.foldtree import FoldSection, FoldTree, Ref
from pipeline.reduce.groups import Child

CHUNKS, CHAPTERS, VOLUMES, WINDOW = 20_000, 1_000, 20, 4_096
LARGEST = WINDOW // 2  # tokens of an output at most: two always fit together


def sections() -> list[FoldSection]:
    found = [FoldSection(parent=None, leaves=range(0))]
    each = CHUNKS // CHAPTERS
    for volume in range(VOLUMES):
        found.append(FoldSection(parent=0, leaves=range(0)))
        at = len(found) - 1
        chapters = range(volume * CHAPTERS // VOLUMES, (volume + 1) * CHAPTERS // VOLUMES)
        found += [FoldSection(parent=at, leaves=range(one * each, (one + 1) * each)) for one in chapters]
    return found


def folded(holes: frozenset[int] = frozenset()) -> tuple[list[int], set[int], Ref | None]:
    """(tokens of each call, leaves under the root, the root)."""
    chance = random.Random(3)
    leaves = [Child(sha256=canonical.digest([at]), size=chance.randint(40, LARGEST)) for at in range(CHUNKS)]
    tree = FoldTree(sections(), [None if at in holes else leaf for at, leaf in enumerate(leaves)], WINDOW)
    calls: list[int] = []
    under: dict[Ref, set[int]] = {Ref(0, at): {at} for at in range(CHUNKS)}
    while nodes := tree.next_level():
        outputs = []
        for ordinal, node in enumerate(nodes):
            children = [tree.output(ref) for ref in node.children]
            calls.append(sum(child.size for child in children))
            under[Ref(tree.level, ordinal)] = set().union(*(under[ref] for ref in node.children))
            digest = canonical.digest([child.sha256.hex() for child in children])
            outputs.append(Child(sha256=digest, size=chance.randint(40, LARGEST)))
        tree.feed(outputs)
    root = tree.of_section(0)
    return calls, under[root] if root else set(), root


def test_no_call_is_over_the_window_and_every_chunk_is_under_the_root() -> None:
    calls, leaves, root = folded()
    assert max(calls) <= WINDOW
    assert leaves == set(range(CHUNKS))
    assert root is not None
    # Every group has two children or more, in each of the three levels of sections.
    deepest = sum(math.ceil(math.log2(count)) for count in (CHUNKS // CHAPTERS, CHAPTERS // VOLUMES, VOLUMES))
    assert root.level <= deepest


def test_one_hole_leaves_the_rest_standing() -> None:
    calls, leaves, _ = folded(frozenset({777}))
    assert max(calls) <= WINDOW
    assert leaves == set(range(CHUNKS)) - {777}
