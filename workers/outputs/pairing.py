"""Two jobs of one reduce step, chunk by chunk: which node was which, and what made its inputs others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from db.database import Repositories
from db.values import Chunk
from pipeline import keys
from pipeline.align import in_order
from pipeline.ops.values import Json
from workers.outputs.above import Node, Reduced
from workers.outputs.edits import Versions
from workers.planning.context import JobContext
from workers.planning.plan import JUDGEMENT, QUESTIONS
from workers.planning.selection import Member

SHOWN = 20  # edits that are named


class _Leaf(NamedTuple):
    """A chunk as two jobs can be compared by it."""

    ordinal: int
    gives: bytes
    content: bytes | None  # None: its page stands in both jobs


@dataclass(frozen=True, kw_only=True, slots=True)
class _Difference:
    """The chunks below a node whose part in it is not what it was."""

    edited: tuple[UUID, ...]  # another text
    added: tuple[UUID, ...]
    removed: tuple[UUID, ...]
    moved: int
    other: int  # the same text, another output
    regrouped: int  # below another node before, or now


class Pairing:
    """Two jobs of the same step, their chunks told apart by page where both have it, else by logical id."""

    def __init__(self, rows: Repositories, now: Reduced, was: Reduced) -> None:
        self._rows = rows
        self._now, self._was = now, was
        self._shared = _pages(now.context) & _pages(was.context)
        self._sides: dict[int, dict[int, tuple[Hashable, Chunk | None]]] = {}

    def _identities(self, reduced: Reduced) -> dict[int, tuple[Hashable, Chunk | None]]:
        """(identity, chunk where its page is not shared) of every chunk of a job by ordinal."""
        known = self._sides.get(id(reduced))
        if known is None:
            selection = reduced.context.selection
            known = self._sides[id(reduced)] = {}
            own = {place.page_id for _, place in selection.runs} - self._shared
            chunks: dict[int, dict[int, Chunk]] = {}
            for chunk in self._rows.chunks.of_pages(sorted(own)):
                chunks.setdefault(chunk.page_id, {})[chunk.ordinal] = chunk
            seen: dict[int, int] = {}
            for run, (_, place) in enumerate(selection.runs):
                nth = seen[place.page_id] = seen.get(place.page_id, 0) + 1
                for within in range(place.chunk_count):
                    found = chunks.get(place.page_id, {}).get(within)
                    identity: Hashable = (place.page_id, within, nth) if found is None else found.logical_id
                    known[selection.first(run) + within] = (identity, found)
        return known

    def counterpart(self, node: Node) -> Node | None:
        """The node of the earlier job that is most like this one, by the chunks below it."""
        if not self._now.is_fold:
            return self._counterpart_of_merge(node)
        old = {identity: at for at, (identity, _) in self._identities(self._was).items()}
        now = self._identities(self._now)
        mine = [at for ordinal in self._now.below(node) if (at := old.get(now[ordinal][0])) is not None]
        shared: dict[Node, int] = {}
        parents = {child: parent for parent, children in self._was.children.items() for child in children}
        for ordinal in mine:
            above: Node = (0, ordinal)
            while above in parents:
                above = parents[above]
                shared[above] = shared.get(above, 0) + 1
        if not shared:
            return self._over_the_same_text(node)
        sizes = {other: len(self._was.below(other)) for other in shared}
        size = len(self._now.below(node))

        def likeness(other: Node) -> tuple[float, bool, int]:
            return shared[other] / (sizes[other] + size - shared[other]), other[0] == node[0], -other[0]

        return max(shared, key=likeness, default=None)

    def _over_the_same_text(self, node: Node) -> Node | None:
        """Where the two jobs share no chunk (another grain cut them): by the characters that are below."""
        document, low, high = self._stretch(self._now, node)

        def overlap(other: Node) -> tuple[float, int]:
            there, start, end = self._stretch(self._was, other)
            both = max(0, min(end, high) - max(start, low)) if there == document else 0
            return both / (end - start + high - low - both or 1), -other[0]

        best = max(self._was.children, key=overlap, default=None)
        return best if best is not None and overlap(best)[0] > 0 else None

    def _stretch(self, reduced: Reduced, node: Node) -> tuple[UUID | None, int, int]:
        """The document and the characters from the first to the last chunk below a node."""
        below = sorted(reduced.below(node))
        if not below:
            return None, 0, 0
        known, selection = self._identities(reduced), reduced.context.selection
        first, last = (selection.locate(ordinal) for ordinal in (below[0], below[-1]))
        one, two = (known[ordinal][1] for ordinal in (below[0], below[-1]))
        start = first.page.start + (one.start if one else 0)
        return first.member.document.id, start, last.page.start + (two.end if two else 0)

    def _counterpart_of_merge(self, node: Node) -> Node | None:
        if node[0] == JUDGEMENT:
            return (JUDGEMENT, 0) if JUDGEMENT in self._was.levels else None
        if node[0] >= QUESTIONS:
            return self._was.question(self._now.asked[node].about)
        shard = self._now.shards.get(node[1])
        return next(((1, at) for at, other in self._was.shards.items() if other == shard), None)

    def causes(self, now: Node, was: Node) -> dict[str, Json]:
        """What made the node's inputs others: edits of chunks, other keys of the map, other cuts."""
        found = self._difference(self._leaves(self._now, now), self._leaves(self._was, was))
        if not (found.edited or found.added or found.removed or found.moved or found.other) and found.regrouped:
            # It has other chunks because groups end elsewhere: for a reason that lies beside it.
            whole = self._difference(self._all(self._now), self._all(self._was))
            found = _Difference(
                edited=whole.edited, added=whole.added, removed=whole.removed, moved=whole.moved, other=whole.other,
                regrouped=found.regrouped,
            )  # fmt: skip
        edits = self._edits(found)
        return {
            "edits": edits[:SHOWN],
            "more_edits": max(0, len(edits) - SHOWN),
            "moved": found.moved,
            "regrouped": found.regrouped,
            "steps": self._steps() if found.other else [],
            "cuts": self._cuts(),
        }

    def _leaves(self, reduced: Reduced, node: Node) -> dict[Hashable, _Leaf]:
        return self._of(reduced, reduced.below(node).items())

    def _all(self, reduced: Reduced) -> dict[Hashable, _Leaf]:
        return self._of(reduced, reduced.leaves.items())

    def _of(self, reduced: Reduced, leaves: Iterable[tuple[int, bytes]]) -> dict[Hashable, _Leaf]:
        known = self._identities(reduced)
        found: dict[Hashable, _Leaf] = {}
        for ordinal, gives in sorted(leaves):
            identity, chunk = known[ordinal]
            found[identity] = _Leaf(ordinal, gives, chunk.content_sha256 if chunk else None)
        return found

    def _difference(self, now: Mapping[Hashable, _Leaf], was: Mapping[Hashable, _Leaf]) -> _Difference:
        everywhere = [{identity for identity, _ in self._identities(side).values()} for side in (self._now, self._was)]
        both = [identity for identity in now if identity in was]
        place = {identity: at for at, identity in enumerate(was)}
        match = {at: place[identity] for at, identity in enumerate(now) if identity in place}
        came = [identity for identity in now if identity not in was]
        went = [identity for identity in was if identity not in now]
        new = [identity for identity in came if identity not in everywhere[1]]
        gone = [identity for identity in went if identity not in everywhere[0]]
        changed = [identity for identity in both if now[identity].gives != was[identity].gives]
        edited = [identity for identity in both if now[identity].content != was[identity].content]
        return _Difference(
            edited=_ids(edited),
            added=_ids(new),
            removed=_ids(gone),
            moved=len(match) - len(in_order(match, lambda _: 1)),
            other=len(set(changed) - set(edited)),
            regrouped=len(came) + len(went) - len(new) - len(gone),
        )

    def _edits(self, found: _Difference) -> list[dict[str, Json]]:
        sides = [_members(side.context) for side in (self._now, self._was)]
        told = []
        known: dict[int, Versions] = {}
        for identity in (*found.edited, *found.added, *found.removed):
            for document_id, chunking_id, _ in self._rows.chunks.by_logical_id(identity)[:1]:
                now, was = (side.get(document_id) for side in sides)
                shown = now or was
                if shown is None or (now and was and now.chunking_id != was.chunking_id):
                    continue  # cut by another grain, every chunk is another one
                versions = known.setdefault(chunking_id, Versions(self._rows, shown.document, chunking_id))
                ids = [member.revision_id if member else None for member in (was, now)]
                told.append({"chunk": str(identity)} | versions.edit(identity, was=ids[0], now=ids[1]))
        return told

    def _steps(self) -> list[dict[str, Json]]:
        """What differs in the keys of the map below, text aside."""
        sources = [side.context.plans[side.plan.source or 0] for side in (self._now, self._was)]
        now, was = (keys.document(plan.identity(), []) for plan in sources)
        found = keys.differences(now, was)
        return [{"step": sources[0].name, "why": why, "before": then, "now": value} for why, then, value in found]

    def _cuts(self) -> list[dict[str, Json]]:
        """Documents that another grain or splitter cut."""
        now, was = (_members(side.context) for side in (self._now, self._was))
        told = []
        for document_id, member in now.items():
            before = was.get(document_id)
            if before and before.chunking_id != member.chunking_id:
                old, new = (self._rows.chunks.policy(item.chunking_id) for item in (before, member))
                fields = [name for name in new if new[name] != old.get(name)]
                told.append(
                    {
                        "document": member.document.title,
                        "before": {name: old.get(name) for name in fields},
                        "now": {name: new[name] for name in fields},
                    }
                )
        return told


def _pages(context: JobContext) -> set[int]:
    return {place.page_id for _, place in context.selection.runs}


def _members(context: JobContext) -> dict[UUID, Member]:
    return {member.document.id: member for member in context.selection.members}


def _ids(identities: Iterable[Hashable]) -> tuple[UUID, ...]:
    return tuple(identity for identity in identities if isinstance(identity, UUID))
