"""What the reduces of a job would call, from what the memo has of the outputs that they take: bounds for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from db.database import Repositories
from pipeline import canonical
from pipeline.ops.kinds import MergeOp
from pipeline.ops.values import Json
from pipeline.reduce.foldbounds import Bounds, FoldBounds
from pipeline.reduce.groups import Child
from workers.planning.folds import BYTES_PER_TOKEN
from workers.planning.forest import Forest
from workers.planning.partitions import Feed, parts_of, shards_for
from workers.planning.plan import StepPlan
from workers.planning.selection import Selection

Outputs = Mapping[int, Child | None]  # of a map, by ordinal; None: not there yet
KNOWN = 0.5  # of the outputs: with fewer, next to nothing of a fold is known, and its tree is not followed


@dataclass(frozen=True, kw_only=True, slots=True)
class Foreseen:
    """Bounds of a reduce's calls, and where they are made."""

    bounds: Bounds
    where: tuple[dict[str, Json], ...] = ()  # {document, section, least, most}


def child(found: tuple[bytes, int]) -> Child:
    """An output as the fold sees it, from its hash and size in bytes."""
    return Child(sha256=found[0], size=found[1] // BYTES_PER_TOKEN)


def foresee_fold(rows: Repositories, selection: Selection, plan: StepPlan, leaves: Outputs, largest: int) -> Foreseen:
    """The calls of a fold. `largest` are the tokens that an output of its leaves or nodes may have."""
    known = sum(leaf is not None for leaf in leaves.values())
    if known < KNOWN * len(leaves):
        # A tree over n leaves in which every node has two children or more.
        return Foreseen(bounds=Bounds(most=max(0, len(leaves) - 1)))
    forest = Forest(selection)
    makers = {top: plan.keys(top=top) for top in (False, True)}

    def lookup(nodes: Sequence[tuple[bool, tuple[bytes, ...]]]) -> list[Child | None]:
        keys = [makers[top].key(children) for top, children in nodes]
        found = rows.results.sizes(list(set(keys)))
        return [child(found[key]) if key in found else None for key in keys]

    fold = FoldBounds(sections=forest.sections, leaves=leaves, budget=plan.window, largest=largest)
    bounds = fold.calls(lookup)
    names = _names(forest, selection)
    where = [
        names[number] | {"least": found.least, "most": found.most}
        for number, found in sorted(fold.found.items())
        if found.most
    ]
    return Foreseen(bounds=bounds, where=tuple(where))


def _names(forest: Forest, selection: Selection) -> dict[int, dict[str, Json]]:
    """What the sections of a forest are called; a document's root has no section."""
    names: dict[int, dict[str, Json]] = {
        root: {"document": member.document.title, "section": None}
        for root, member in zip(forest.roots, selection.members, strict=True)
    }
    for (at, ordinal), number in forest.number.items():
        member = selection.members[at]
        names[number] = {"document": member.document.title, "section": member.sections[ordinal].title}
    return names


def foresee_merge(rows: Repositories, selection: Selection, plan: StepPlan, leaves: Outputs) -> Foreseen:
    """The calls of a merge: exact where all outputs that it takes are there, else every shard may be touched."""
    assert isinstance(plan.op, MergeOp)
    feed = Feed(plan.op, shards_for(selection.total), plan.params)
    known = {ordinal: leaf.sha256 for ordinal, leaf in leaves.items() if leaf is not None}
    stored = rows.results.partitions_by_output(list(set(known.values())), feed.scheme)
    if len(known) < len(leaves) or any(sha not in stored for sha in known.values()):
        return Foreseen(bounds=Bounds(most=feed.shards + 1 if leaves else 0))
    shards: dict[int, list[bytes]] = {}
    for _, sha in sorted(known.items()):
        for shard, part in parts_of(stored[sha]):
            shards.setdefault(shard, []).append(part)
    maker = plan.keys(node="shard")
    keys = [maker.key(shards[shard]) for shard in sorted(shards)]
    outputs = rows.results.outputs(list(set(keys)))
    missing = sum(key not in outputs for key in set(keys))
    if missing:
        return Foreseen(bounds=Bounds(hits=len(keys) - missing, least=missing, most=missing + 1))
    summaries = [canonical.digest(plan.op.summarize(canonical.loads(outputs[key]))) for key in keys]
    judged = bool(rows.results.present([plan.keys(node="judgement").key(summaries)]))
    return Foreseen(bounds=Bounds(hits=len(keys) + judged, least=int(not judged), most=int(not judged)))
