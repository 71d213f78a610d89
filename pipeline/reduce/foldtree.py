"""The fold tree: leaves into chapters, chapters into volumes, volumes into the book, level by level.

The tree is a function of the sections and the outputs' hashes alone, so a planner that died is replayed by another,
and a reader of results rebuilds it without stored positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.reduce.groups import Child, grouped


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldSection:
    """A section of the forest; one without a parent is a document's root. Its own leaves come before its children."""

    parent: int | None
    leaves: Sequence[int]  # ordinals of its own leaves, in order


@dataclass(frozen=True, slots=True)
class Ref:
    """An output: level 0 is a leaf, ordinal counts within the level."""

    level: int
    ordinal: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldNode:
    """A node to compute: `children` in reading order; `top` when its section is a document's root."""

    scope: int
    children: tuple[Ref, ...]
    top: bool


class FoldTree:
    """Grows one level at a time: `next_level` says which nodes to compute, `feed` takes their outputs.

    A hole (None) is left out of what follows. A section of one output passes it on without a node.
    """

    def __init__(self, sections: Sequence[FoldSection], leaves: Sequence[Child | None], budget: int) -> None:
        self._sections = sections
        self._budget = budget
        self._levels: list[Sequence[Child | None]] = [leaves]
        self._children: list[list[int]] = [[] for _ in sections]
        for number, section in enumerate(sections):
            if section.parent is not None:
                self._children[section.parent].append(number)
        self._items: dict[int, list[Ref]] = {}  # of sections whose children are all settled
        self._settled: dict[int, Ref | None] = {}
        self._pending: list[FoldNode] | None = None
        self._open = [len(children) for children in self._children]
        for number in range(len(sections) - 1, -1, -1):
            if not self._children[number]:
                self._ready(number)

    @property
    def level(self) -> int:
        """The level that `next_level` is about."""
        return len(self._levels)

    def next_level(self) -> list[FoldNode]:
        """The nodes of the next level, in order; empty when every document has its root."""
        if self._pending is None:
            self._pending = []
            for scope in sorted(self._items):
                top = self._sections[scope].parent is None
                for first, end in self._runs(scope):
                    if end - first > 1:
                        children = tuple(self._items[scope][first:end])
                        self._pending.append(FoldNode(scope=scope, children=children, top=top))
        return self._pending

    def feed(self, outputs: Sequence[Child | None]) -> None:
        """Take the outputs of the nodes that `next_level` gave, in order; None for a hole."""
        nodes = self.next_level()
        assert len(outputs) == len(nodes)
        level = self.level
        made = iter(range(len(nodes)))
        renewed: dict[int, list[Ref]] = {}
        for scope in sorted(self._items):
            refs: list[Ref] = []
            for first, end in self._runs(scope):
                refs.append(self._items[scope][first] if end - first == 1 else Ref(level, next(made)))
            renewed[scope] = refs
        self._levels.append(outputs)
        self._pending = None
        for scope, refs in renewed.items():
            self._take(scope, [ref for ref in refs if self._child(ref) is not None])

    def of_section(self, number: int) -> Ref | None:
        """The output that stands for a section; None while it is not settled, or when all of it is holes."""
        return self._settled.get(number)

    def _runs(self, scope: int) -> list[tuple[int, int]]:
        children = [child for ref in self._items[scope] if (child := self._child(ref)) is not None]
        return grouped(children, self._budget)

    def output(self, ref: Ref) -> Child:
        """The output a ref stands for; it is no hole, for holes are left out of the tree."""
        child = self._child(ref)
        assert child is not None
        return child

    def _child(self, ref: Ref) -> Child | None:
        return self._levels[ref.level][ref.ordinal]

    def _ready(self, number: int) -> None:
        own = [Ref(0, at) for at in self._sections[number].leaves if self._levels[0][at] is not None]
        below = [ref for child in self._children[number] if (ref := self._settled[child]) is not None]
        self._take(number, own + below)

    def _take(self, number: int, refs: list[Ref]) -> None:
        # A loop, not a recursion: a chain of single children may be thousands of sections deep.
        while True:
            if len(refs) > 1:
                self._items[number] = refs
                return
            self._items.pop(number, None)
            self._settled[number] = refs[0] if refs else None
            parent = self._sections[number].parent
            if parent is None:
                return
            self._open[parent] -= 1
            if self._open[parent]:
                return
            number = parent
            own = [Ref(0, at) for at in self._sections[number].leaves if self._levels[0][at] is not None]
            refs = own + [ref for child in self._children[number] if (ref := self._settled[child]) is not None]
