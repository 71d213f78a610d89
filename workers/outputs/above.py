"""The reduce nodes of a job as a tree: what stands above a chunk, and which chunks stand below a node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from db.database import Repositories
from db.layout import unpack
from db.values import Step
from pipeline.ops.kinds import FoldOp, MergeOp
from pipeline.ops.values import Json
from workers.planning.context import JobContext
from workers.planning.partitions import Feed, parts_of, shards_for
from workers.planning.plan import JUDGEMENT, QUESTIONS, StepPlan
from workers.planning.questions import Asked, asked

Node = tuple[int, int]  # level and ordinal; level 0 is a chunk


@dataclass(kw_only=True)
class Reduced:
    """One reduce step of a job, as far as it is done."""

    rows: Repositories
    context: JobContext
    plan: StepPlan

    @cached_property
    def levels(self) -> dict[int, Step]:
        """The step's levels by number, and the map that it takes its leaves from as level 0."""
        steps = self.rows.jobs.steps(self.context.job.id)
        mine = [step for step in steps if step.position == self.plan.position]
        leaves = [step for step in steps if step.position == self.plan.source and step.level == 0]
        return {step.level: step for step in [*leaves, *mine]}

    @property
    def is_fold(self) -> bool:
        """Is it a fold? Else it is a merge."""
        return isinstance(self.plan.op, FoldOp)

    @cached_property
    def leaves(self) -> dict[int, bytes]:
        """The hash of each chunk's output."""
        found = self.rows.tasks.outputs(self.levels[0].id) if 0 in self.levels else ()
        return {ordinal: sha for ordinal, _, sha, _ in found if sha is not None}

    @cached_property
    def parts(self) -> dict[int, dict[int, bytes]]:
        """Of a merge: by shard, the hash of each chunk's part."""
        assert isinstance(self.plan.op, MergeOp)
        scheme = Feed(self.plan.op, shards_for(self.context.selection.total), self.plan.params).scheme
        found: dict[int, dict[int, bytes]] = {}
        for ordinal, stored in self.rows.results.partitions_of(self.levels[0].id, scheme):
            for shard, sha in parts_of(stored):
                found.setdefault(shard, {})[ordinal] = sha
        return found

    @cached_property
    def children(self) -> dict[Node, list[Node]]:
        """The children of each finished node above the chunks, in order."""
        found: dict[Node, list[Node]] = {}
        for level, step in self.levels.items():
            for ordinal, _, data, _ in self.rows.nodes.inputs(step.id) if level else ():
                found[level, ordinal] = children_of(data, level, fold=self.is_fold)
        return found

    @cached_property
    def asked(self) -> dict[Node, Asked]:
        """Of a merge: its finished questions, round by round."""
        levels = [level for level in self.levels if level >= QUESTIONS] if not self.is_fold else []
        return {
            (level, ordinal): asked(data)
            for level in levels
            for ordinal, _, data, _ in self.rows.nodes.inputs(self.levels[level].id)
        }

    def question(self, about: Json) -> Node | None:
        """Of a merge: the question about something."""
        return next((node for node, held in self.asked.items() if held.about == about), None)

    @cached_property
    def shards(self) -> dict[int, int]:
        """Of a merge: the shard of each node of level 1."""
        found = self.rows.nodes.inputs(self.levels[1].id) if 1 in self.levels else ()
        return {ordinal: scope or 0 for ordinal, _, _, scope in found}

    def below(self, node: Node) -> dict[int, bytes]:
        """The chunks below a node in order, with the hash of what each gives to it."""
        level, ordinal = node
        if level == 0:
            return {ordinal: self.leaves[ordinal]} if ordinal in self.leaves else {}
        if not self.is_fold:
            if level == 1:
                return self.parts.get(self.shards.get(ordinal, -1), {})
            if level >= QUESTIONS:
                places = self.asked[node].places if node in self.asked else ()
                return {leaf: self.leaves[leaf] for leaf, _ in sorted(places) if leaf in self.leaves}
            return {
                leaf: sha for parts in (self.parts.get(shard, {}) for shard in self.shards.values())
                for leaf, sha in parts.items()
            }  # fmt: skip
        found: dict[int, bytes] = {}
        waiting = [node]
        while waiting:
            at = waiting.pop()
            if at[0] == 0 and at[1] in self.leaves:
                found[at[1]] = self.leaves[at[1]]
            waiting.extend(reversed(self.children.get(at, ())))
        return found

    def over(self, ordinal: int) -> list[Node]:
        """The nodes above a chunk, from the lowest up."""
        if not self.is_fold:
            shards = {shard for shard, parts in self.parts.items() if ordinal in parts}
            asking = [asked for asked, held in self.asked.items() if ordinal in dict(held.places)]
            return [(1, at) for at, shard in self.shards.items() if shard in shards] + [(JUDGEMENT, 0), *asking]
        parents = {child: node for node, children in self.children.items() for child in children}
        found: list[Node] = []
        at: Node = (0, ordinal)
        while at in parents:
            at = parents[at]
            found.append(at)
        return found


def children_of(data: bytes | None, level: int, *, fold: bool) -> list[Node]:
    """The children that a node's task names."""
    if fold:
        return list(zip(*unpack(data, 2), strict=True)) if data else []
    if level >= QUESTIONS:
        return [(0, leaf) for leaf, _ in asked(data).places] if data else []
    return [(level - 1, ordinal) for ordinal in unpack(data, 1)[0]] if data else []


def reduces(rows: Repositories, context: JobContext) -> list[Reduced]:
    """The reduce steps of a job."""
    return [Reduced(rows=rows, context=context, plan=plan) for plan in context.plans if plan.kind != "map"]


def above(rows: Repositories, context: JobContext, ordinal: int) -> list[dict[str, Json]]:
    """`{node, state, hit}` of each reduce node that a chunk's output reaches, from the lowest up."""
    found: list[dict[str, Json]] = []
    for reduced in reduces(rows, context):
        for level, at in reduced.over(ordinal) if 0 in reduced.levels else ():
            task = rows.tasks.at(reduced.levels[level].id, at) if level in reduced.levels else None
            if task is not None:
                found.append({"node": name_of(reduced.plan, (level, at)), "state": task.state, "hit": task.hit})
    return found


def name_of(plan: StepPlan, node: Node) -> str:
    """What a node is called: STEP/LEVEL/ORDINAL."""
    return f"{plan.name}/{node[0]}/{node[1]}"
