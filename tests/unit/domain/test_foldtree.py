"""The fold tree and its groups: every leaf once, sections in order, small groups, edits that stay local (DESIGN §8)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.reduce.foldtree import FoldSection, FoldTree, Ref
from pipeline.reduce.groups import MOST, WHOLE, Child, grouped

BUDGET = 1000


def child(*parts: object, size: int = 30) -> Child:
    return Child(sha256=hashlib.sha256(repr(parts).encode()).digest(), size=size)


class Folded:
    """A tree folded to its roots; a node's output is made of its children's."""

    def __init__(
        self, sections: Sequence[FoldSection], leaves: Sequence[Child | None], budget: int = BUDGET, holes: int = 0
    ) -> None:
        self.sections, self.leaves = sections, leaves
        self.tree = FoldTree(sections, leaves, budget)
        self.nodes: dict[Ref, tuple[int, tuple[Ref, ...]]] = {}
        self.keys: set[tuple[bytes, ...]] = set()
        while nodes := self.tree.next_level():
            outputs: list[Child | None] = []
            for ordinal, node in enumerate(nodes):
                self.nodes[Ref(self.tree.level, ordinal)] = (node.scope, node.children)
                key = tuple(self.tree.output(ref).sha256 for ref in node.children)
                self.keys.add(key)
                hole = holes and int.from_bytes(child(key).sha256[:2]) % holes == 0
                outputs.append(None if hole else child(key))
            self.tree.feed(outputs)
            assert self.tree.level < 60, "the tree does not narrow"

    def leaves_of(self, ref: Ref) -> list[int]:
        """The leaves below an output, in the order in which they are reached."""
        if ref.level == 0:
            return [ref.ordinal]
        return [leaf for below in self.nodes[ref][1] for leaf in self.leaves_of(below)]

    def root(self) -> Ref | None:
        return self.tree.of_section(0)


@st.composite
def forests(draw: st.DrawFn) -> tuple[list[FoldSection], int]:
    """One document's sections, parents before children, leaves in reading order; and the number of leaves."""
    parents: list[int | None] = [None]
    path = [0]
    for number in range(1, draw(st.integers(1, 25))):
        parent = draw(st.sampled_from(path))
        parents.append(parent)
        path = [*path[: path.index(parent) + 1], number]
    sections = []
    at = 0
    for number, parent in enumerate(parents):
        own = 0 if number == 0 else draw(st.integers(0, 9))
        sections.append(FoldSection(parent=parent, leaves=range(at, at + own)))
        at += own
    return sections, at


@given(forest=forests(), seed=st.integers(0, 9999))
def test_the_root_reaches_every_leaf_exactly_once_and_in_reading_order(
    forest: tuple[list[FoldSection], int], seed: int
) -> None:
    sections, count = forest
    folded = Folded(sections, [child(seed, at) for at in range(count)])
    root = folded.root()
    assert (folded.leaves_of(root) if root else []) == list(range(count))


@given(forest=forests(), seed=st.integers(0, 9999))
def test_every_section_stands_for_exactly_its_own_leaves_and_those_below_it(
    forest: tuple[list[FoldSection], int], seed: int
) -> None:
    sections, count = forest
    folded = Folded(sections, [child(seed, at) for at in range(count)])
    for number in range(len(sections)):
        below = {number}
        for other in range(number + 1, len(sections)):
            if sections[other].parent in below:
                below.add(other)
        wanted = [leaf for other in sorted(below) for leaf in sections[other].leaves]
        ref = folded.tree.of_section(number)
        assert (folded.leaves_of(ref) if ref else []) == wanted
        for scope, children in folded.nodes.values():
            if scope == number:
                found = [leaf for below_ref in children for leaf in folded.leaves_of(below_ref)]
                assert set(found) <= set(wanted), "a node of a section reaches out of it"


@given(forest=forests(), seed=st.integers(0, 9999))
def test_the_same_input_gives_the_same_tree(forest: tuple[list[FoldSection], int], seed: int) -> None:
    sections, count = forest
    leaves = [child(seed, at) for at in range(count)]
    assert Folded(sections, leaves).nodes == Folded(sections, leaves).nodes


@given(forest=forests(), seed=st.integers(0, 9999), holes=st.sets(st.integers(0, 80), max_size=30))
def test_holes_are_left_out_and_everything_else_is_reached(
    forest: tuple[list[FoldSection], int], seed: int, holes: set[int]
) -> None:
    sections, count = forest
    folded = Folded(sections, [None if at in holes else child(seed, at) for at in range(count)])
    root = folded.root()
    assert (folded.leaves_of(root) if root else []) == [at for at in range(count) if at not in holes]


@given(forest=forests(), seed=st.integers(0, 9999))
def test_failed_nodes_lose_their_own_leaves_and_the_tree_still_ends(
    forest: tuple[list[FoldSection], int], seed: int
) -> None:
    sections, count = forest
    folded = Folded(sections, [child(seed, at) for at in range(count)], holes=3)
    root = folded.root()
    found = folded.leaves_of(root) if root else []
    assert found == sorted(set(found))


sizes = st.lists(st.integers(0, 600), max_size=60)


@given(sizes=sizes, seed=st.integers(0, 999))
def test_groups_tile_their_children_and_keep_to_size_and_budget(sizes: list[int], seed: int) -> None:
    children = [child(seed, at, size=size) for at, size in enumerate(sizes)]
    runs = grouped(children, BUDGET)
    assert [at for first, end in runs for at in range(first, end)] == list(range(len(children)))
    for number, (first, end) in enumerate(runs):
        assert 1 <= end - first <= MOST
        if end - first == 1:
            assert number == len(runs) - 1, "only a last one may be left alone"
        if end - first > 2:
            assert sum(sizes[first:end]) <= BUDGET


@given(sizes=st.lists(st.integers(0, 600), min_size=2, max_size=60), seed=st.integers(0, 999))
def test_a_level_always_narrows_by_a_third_or_more_so_the_tree_is_never_deep(sizes: list[int], seed: int) -> None:
    children = [child(seed, at, size=size) for at, size in enumerate(sizes)]
    assert len(grouped(children, BUDGET)) <= (len(children) + 1) // 2


def test_few_outputs_that_fit_are_one_group() -> None:
    assert grouped([child(at) for at in range(WHOLE)], BUDGET) == [(0, WHOLE)]


@pytest.mark.parametrize("change", ["edit", "insert", "remove"])
@pytest.mark.parametrize("shape", ["one long chapter", "many chapters"])
def test_a_change_of_one_leaf_makes_only_the_nodes_along_its_way_to_the_root_anew(change: str, shape: str) -> None:
    """Averaged over places, for a single place may fall on the end of a group."""
    count, fresh = 600, []
    for at in range(5, 595, 59):
        names = [f"leaf {number}" for number in range(count)]
        before = Folded(*_shape(shape, names))
        if change == "edit":
            names[at] += " edited"
        elif change == "insert":
            names.insert(at, "new")
        else:
            del names[at]
        fresh.append(len(Folded(*_shape(shape, names)).keys - before.keys))
    assert sum(fresh) / len(fresh) <= 9, fresh
    assert max(fresh) <= 16, fresh


def _shape(shape: str, names: list[str]) -> tuple[list[FoldSection], list[Child]]:
    leaves = [child(name) for name in names]
    if shape == "one long chapter":
        return [FoldSection(parent=None, leaves=range(0)), FoldSection(parent=0, leaves=range(len(leaves)))], leaves
    # Chapters end where their last leaf says so, so an insertion lengthens one and moves the others.
    sections = [FoldSection(parent=None, leaves=range(0))]
    begin = 0
    for at, name in enumerate(names):
        last = name.split()[-1]
        if at == len(names) - 1 or (last.isdigit() and int(last) % 5 == 4):
            sections.append(FoldSection(parent=0, leaves=range(begin, at + 1)))
            begin = at + 1
    return sections, leaves


def test_a_chain_of_sections_thousands_deep_settles_without_a_node() -> None:
    depth = 5000
    sections = [FoldSection(parent=None if n == 0 else n - 1, leaves=range(0)) for n in range(depth)]
    sections[-1] = FoldSection(parent=depth - 2, leaves=range(1))
    folded = Folded(sections, [child(1)])
    assert folded.nodes == {}
    assert folded.root() == Ref(0, 0)


def test_a_document_without_leaves_has_no_root() -> None:
    assert Folded([FoldSection(parent=None, leaves=range(0))], []).root() is None
