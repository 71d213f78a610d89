"""Why the key of a reduce node hit or missed, and which edit it was that changed it."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from db.database import Database, Repositories
from db.values import Chunk, Job
from pipeline import canonical, keys
from pipeline.align import in_order
from pipeline.errors import NotFoundError, OctavoError
from pipeline.ops.kinds import MergeOp
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from workers.outputs.above import Node, Reduced, children_of, name_of, reduces
from workers.outputs.cite import Citer
from workers.outputs.edits import Versions
from workers.outputs.explain import JOBS, memo
from workers.outputs.job import find_job
from workers.planning.context import JobContext, load_context
from workers.planning.selection import Member

NODE = re.compile(r"(?P<step>[^/:]+)/(?P<level>\d{1,4})/(?P<ordinal>\d{1,9})")
SHOWN = 20  # edits that are named


def is_node(text: str) -> bool:
    """Does a text name a node, as STEP/LEVEL/ORDINAL?"""
    return NODE.fullmatch(text) is not None


def explain_node(database: Database, ops: Registry, text: str, job_text: str = "last") -> dict[str, Json]:
    """Why a node of a reduce hit or missed (docs/outputs.md). `text` is STEP/LEVEL/ORDINAL. Raises NotFoundError."""
    with database.read() as rows:
        job = find_job(rows, job_text)
        others = [item for item in _related(rows, job) if item.id < job.id]
    context = load_context(database, ops, job.id, to_read=True)
    earlier = [found for other in others[:JOBS] if (found := _context(database, ops, other.id))]
    with database.read() as rows:
        reduced, node = _find(rows, context, text)
        return _Explained(rows, reduced, node).told(earlier)


def _related(rows: Repositories, job: Job) -> list[Job]:
    """Jobs over one of the documents, newest first."""
    found = {other.id: other for document, _ in rows.jobs.documents(job.id) for other in rows.jobs.over(document, JOBS)}
    return sorted(found.values(), key=lambda item: item.id, reverse=True)


def _context(database: Database, ops: Registry, job_id: UUID) -> JobContext | None:
    try:
        return load_context(database, ops, job_id, to_read=True)
    except OctavoError:
        return None  # an op of an old job may be gone: it explains nothing then


def _find(rows: Repositories, context: JobContext, text: str) -> tuple[Reduced, Node]:
    found = NODE.fullmatch(text)
    step, level, ordinal = found.groups() if found else (text, "0", "0")
    all_reduces = reduces(rows, context)
    reduced = next((item for item in all_reduces if item.plan.name == step), None)
    if reduced is None:
        names = ", ".join(item.plan.name for item in all_reduces) or "none"
        raise NotFoundError(f"The job has no reduce step {step!r}", hint=f"it has {names}; --job names another job")
    node = (int(level), int(ordinal))
    there = reduced.levels.get(node[0])
    if node[0] == 0 or there is None or not 0 <= node[1] < (there.total or 0):
        sizes = [f"{at}: {one.total or 0}" for at, one in sorted(reduced.levels.items()) if at]
        raise NotFoundError(f"There is no node {text}", hint=f"{step} has, by level, {', '.join(sizes)} nodes")
    return reduced, node


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


class _Explained:
    """One node, explained."""

    def __init__(self, rows: Repositories, reduced: Reduced, node: Node) -> None:
        self._rows = rows
        self._reduced = reduced
        self._node = node

    def told(self, earlier: Sequence[JobContext]) -> dict[str, Json]:
        rows, reduced = self._rows, self._reduced
        level, ordinal = self._node
        task = rows.tasks.at(reduced.levels[level].id, ordinal)
        document = _document(rows, reduced, self._node)
        below = sorted(reduced.below(self._node))
        return {
            "node": name_of(reduced.plan, self._node),
            "job": str(reduced.context.job.id),
            "kind": "fold" if reduced.is_fold else "shard" if level == 1 else "judgement",
            "chunks": len(below),
            "first": self._place(below[:1]),
            "last": self._place(below[-1:]),
            "children": [name_of(reduced.plan, child) for child in self._children() if child[0]],
            "state": task.state if task else None,
            "memo": memo(task),
            "key": task.key.hex() if task and task.key else None,
            "document": document,
            **self._compared(document, earlier),
        }

    def _children(self) -> list[Node]:
        level, ordinal = self._node
        if not self._reduced.is_fold and level == 1:
            return []
        data = self._rows.tasks.inputs_at(self._reduced.levels[level].id, ordinal)
        return children_of(data, level, fold=self._reduced.is_fold)

    def _place(self, ordinals: list[int]) -> Json:
        if not ordinals:
            return None
        return Citer(self._rows, self._reduced.context.selection, 0).whole(ordinals)[0].named()

    def _compared(self, document: dict[str, Json], earlier: Sequence[JobContext]) -> dict[str, Json]:
        """What differs from the last counterpart with another key, and why."""
        since = self._reduced.context
        for context in earlier:
            plan = self._reduced.plan
            other = next((item for item in reduces(self._rows, context) if item.plan.name == plan.name), None)
            if other is None or other.is_fold != self._reduced.is_fold or 0 not in other.levels:
                continue
            pairing = _Pairing(self._rows, self._reduced, other)
            node = pairing.counterpart(self._node)
            if node is None:
                continue
            before = _document(self._rows, other, node)
            found = keys.differences(document, before)
            if found:
                told = [_field(why, then, now) | {"since": str(since.job.id)} for why, then, now in found]
                was = {"node": name_of(other.plan, node), "job": str(context.job.id)}
                return {"was": was, "changes": told, "causes": pairing.causes(self._node, node)}
            since = context
        return {"was": None, "changes": [], "causes": _nothing()}


def _nothing() -> dict[str, Json]:
    return {"edits": [], "more_edits": 0, "moved": 0, "regrouped": 0, "steps": [], "cuts": []}


def _field(why: keys.Missed, before: Json, now: Json) -> dict[str, Json]:
    """A field that differs; of children only which of them."""
    if why is not keys.Missed.NEW_INPUT:
        return {"why": why, "before": before, "now": now, "children": None}
    old, new = set(before), set(now)
    changed = [at for at, sha in enumerate(now) if sha not in old]
    gone = sum(sha not in new for sha in before)
    return {"why": why, "before": len(before), "now": len(now), "children": {"new": changed, "gone": gone}}


def _document(rows: Repositories, reduced: Reduced, node: Node) -> dict[str, Json]:
    """The key document of a node."""
    level, ordinal = node
    plan = reduced.plan
    if not reduced.is_fold and level == 1:
        inputs = [sha for _, sha in sorted(reduced.below(node).items())]
        return keys.document(plan.identity(node="shard"), inputs)
    data = rows.tasks.inputs_at(reduced.levels[level].id, ordinal)
    children = children_of(data, level, fold=reduced.is_fold)
    made: dict[Node, bytes] = {}
    for at in {at for at, _ in children}:
        found = rows.tasks.keys(reduced.levels[at].id, [number for lvl, number in children if lvl == at])
        made |= {(at, number): key for number, key in found.items()}
    if isinstance(plan.op, MergeOp):
        outputs = rows.results.outputs(list(made.values()))
        summaries = [canonical.digest(plan.op.summarize(canonical.loads(outputs[made[child]]))) for child in children]
        return keys.document(plan.identity(node="judgement"), summaries)
    hashes = rows.results.hashes(list(set(made.values())))
    scope = next((scope for at, _, _, scope in rows.tasks.inputs(reduced.levels[level].id) if at == ordinal), None)
    top = scope is not None and reduced.context.forest.is_top(scope)
    return keys.document(plan.identity(top=top), [hashes[made[child]] for child in children])


class _Pairing:
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
        if node[0] == 2:
            return (2, 0) if 2 in self._was.levels else None
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
