"""A merge level by level: its questions, its judgement, its shards, and the chunks whose items went into each.

A node is called LEVEL-PLACE: 0 are the chunks' own outputs, 1 the shards, 2-0 is the judgement; from 3 on each level is
a round of questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from db.values import Step, Task
from pipeline import canonical
from pipeline.errors import NotFoundError
from pipeline.ops.kinds import MergeOp
from pipeline.ops.values import Json
from pipeline.states import TaskState
from workers.faces.results import JobOutput
from workers.outputs.above import children_of
from workers.planning.partitions import Feed, parts_of, shards_for
from workers.planning.plan import JUDGEMENT, QUESTIONS, StepPlan
from workers.planning.questions import asked, shown

KINDS: Final = ("chunk", "shard", "judgement", "question")
OUTPUT_BYTES: Final = 64_000  # of a node's output at most: one that is larger is told by its size
ENTRIES: Final = 50  # of a shard, the most mentioned first
NAMES: Final = 8  # of a shard or chunk in a list of nodes
WORDS: Final = 200  # characters of one of them


def merge_of(output: JobOutput, step: str | None) -> StepPlan:
    """The merge of a job, by name where one is given. Raises NotFoundError."""
    merges = [plan for plan in output.view.context.plans if plan.kind == "merge" and step in (None, plan.name)]
    if not merges:
        raise NotFoundError("The job has no such merge", hint="a merge is a step that gathers items by their key")
    return merges[-1]


class MergeTree:
    """One merge of a job in one read transaction."""

    def __init__(self, output: JobOutput, plan: StepPlan) -> None:
        assert isinstance(plan.op, MergeOp)
        self._rows = output.view.rows
        self._context = output.view.context
        self._plan = plan
        self._scheme = Feed(plan.op, shards_for(self._context.selection.total), plan.params).scheme
        steps = output.view.steps
        self._levels: dict[int, Step] = {step.level: step for step in steps if step.position == plan.position}
        self._levels |= {step.level: step for step in steps if (step.position, step.level) == (plan.source, 0)}

    def levels(self) -> list[dict[str, Json]]:
        """`{level, kind, tasks}` of the levels above the chunks, from the top down, as far as they are planned."""
        return [
            {"level": level, "kind": _kind(level), "tasks": self._levels[level].total or 0}
            for level in sorted(self._levels, reverse=True)
            if level
        ]

    def nodes(self, level: int | None, *, after: int, limit: int) -> list[dict[str, Json]]:
        """`{item, node, kind, state, task, says}` of the nodes of a level in order, of the highest if none is named."""
        planned = [item["level"] for item in self.levels() if item["tasks"]]
        chosen = level if level is not None else next(iter(planned), 1)
        step = self._levels.get(chosen) if chosen else None
        found = self._rows.tasks.page(step.id, states=(), limit=limit, after=after) if step else []
        return self._told(chosen, found)

    def _told(self, level: int, found: Sequence[Task]) -> list[dict[str, Json]]:
        says = self._say(level, found)
        return [
            {
                "item": task.ordinal,
                "node": f"{level}-{task.ordinal}",
                "kind": _kind(level),
                "state": str(task.state),
                "task": task.id,
                "says": says[task.ordinal],
            }
            for task in found
        ]

    def _say(self, level: int, found: Sequence[Task]) -> dict[int, str]:
        """A few words about each node: of a shard its most mentioned entries, of a question what it is about."""
        if level >= QUESTIONS:
            inputs = {task.ordinal: self._inputs(level, task.ordinal) for task in found}
            return {at: _words([asked(data).about]) if data else "" for at, data in inputs.items()}
        outputs = self._outputs(found) if level == 1 else {}
        return {
            task.ordinal: _words(_name(entry) for entry in _most(outputs[task.ordinal])[:NAMES])
            if task.ordinal in outputs
            else ""
            for task in found
        }

    def _outputs(self, found: Sequence[Task]) -> dict[int, Json]:
        keys = {task.ordinal: task.key for task in found if task.key and task.state == TaskState.DONE}
        outputs = self._rows.results.outputs(list(set(keys.values())))
        return {ordinal: canonical.loads(outputs[key]) for ordinal, key in keys.items()}

    def node(self, name: str, *, after: int, limit: int) -> dict[str, Json]:
        """One node with a part of what it was made of.

        `{node, level, kind, state, hit, task, above, output, output_bytes, entries, entry_count, about, text,
        child_count, children: [{item, node, says}]}`. Raises NotFoundError.
        """
        level, task = self._find(name)
        data = self._inputs(level, task.ordinal) if level else None
        row: dict[str, Json] = {
            "node": name,
            "level": level,
            "kind": _kind(level),
            "state": str(task.state),
            "hit": task.hit,
            "task": task.id,
            "above": self._above(level, task),
            "about": None,
            "text": None,
            "entries": [],
            "entry_count": None,
        }
        row |= self._output(level, task)
        if level >= QUESTIONS and data:
            row["about"] = asked(data).about
            row["text"] = shown(self._rows, self._context, self._levels[level], data)[0]
        children = list(dict.fromkeys(children_of(data, level, fold=False))) if level else []
        part = list(enumerate(children))[after + 1 : after + 1 + limit]
        says = self._say_children(level, task.ordinal, [ordinal for _, (_, ordinal) in part])
        named = [
            {"item": at, "node": f"{below}-{ordinal}", "says": says.get(ordinal, "")} for at, (below, ordinal) in part
        ]
        return row | {"child_count": len(children), "children": named}

    def _find(self, name: str) -> tuple[int, Task]:
        level, _, ordinal = name.partition("-")
        if level.isdecimal() and ordinal.isdecimal() and len(level) < 4 and len(ordinal) < 19:
            step = self._levels.get(int(level))
            task = self._rows.tasks.at(step.id, int(ordinal)) if step else None
            if task is not None:
                return int(level), task
        raise NotFoundError(f"The merge has no node {name!r}", hint="a node is called LEVEL-PLACE, such as 1-0")

    def _inputs(self, level: int, ordinal: int) -> bytes | None:
        return self._rows.nodes.inputs_at(self._levels[level].id, ordinal)

    def _output(self, level: int, task: Task) -> dict[str, Json]:
        """The output of a node, of a shard its entries; of a large one the size alone, unless it has entries."""
        if task.key is None or task.state != TaskState.DONE:
            return {"output": None, "output_bytes": None}
        size = self._rows.results.sizes([task.key])[task.key][1]
        if level != 1 and size > OUTPUT_BYTES:
            return {"output": None, "output_bytes": size}
        value = canonical.loads(self._rows.results.outputs([task.key])[task.key])
        entries = _most(value) if level == 1 else []
        if not entries:
            return {"output": value if size <= OUTPUT_BYTES else None, "output_bytes": size}
        told = [
            {"name": _name(entry), "kind": str(entry.get("kind", "")), "count": _count(entry)}
            for entry in entries[:ENTRIES]
        ]
        return {"output": None, "output_bytes": size, "entries": told, "entry_count": len(entries)}

    def _above(self, level: int, task: Task) -> list[str]:
        """The nodes that a node went into."""
        if level == 1:
            return [f"{JUDGEMENT}-0"] if JUDGEMENT in self._levels else []
        if level or 1 not in self._levels or task.key is None or task.state != TaskState.DONE:
            return []
        hashes = self._rows.results.hashes([task.key])
        stored = self._rows.results.partitions_by_output(list(hashes.values()), self._scheme)
        shards = sorted({shard for parts in stored.values() for shard, _ in parts_of(parts)})
        found = [self._rows.nodes.of_scope(self._levels[1].id, shard) for shard in shards]
        return [f"1-{ordinal}" for nodes in found for ordinal, _ in nodes]

    def _say_children(self, level: int, ordinal: int, children: Sequence[int]) -> dict[int, str]:
        """Of a shard's chunks the names of the items that went into it; of the judgement's shards their entries."""
        if level == JUDGEMENT:
            step = self._levels[1]
            found = [task for at in children if (task := self._rows.tasks.at(step.id, at))]
            return self._say(1, found)
        if level != 1:
            return {}
        shard = self._rows.nodes.scope_at(self._levels[1].id, ordinal)
        parts = self._rows.results.parts(self._levels[0].id, self._scheme, shard or 0, children)
        return {
            leaf: _words(dict.fromkeys(_name(item) for _, item in canonical.loads(data)))
            for leaf, data in parts.items()
        }


def _kind(level: int) -> str:
    return KINDS[min(level, QUESTIONS)]


def _most(value: Json) -> list[dict[str, Json]]:
    """The entries or facts of a shard's value, the most mentioned first; none where it is not made of such."""
    if not isinstance(value, dict):
        return []
    entries = value.get("entries") or [*(value.get("facts") or ()), *(value.get("aliases") or ())]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return []
    return sorted(entries, key=lambda entry: (-_count(entry), _name(entry)))


def _count(entry: dict[str, Json]) -> int:
    count = entry.get("count")
    return count if isinstance(count, int) else len(entry.get("cites") or ()) or 1


def _name(item: Json) -> str:
    """What an item or entry is called, by whatever kind of merge."""
    if isinstance(item, dict):
        if "alias" in item and "name" in item:
            return f"{item['alias']} = {item['name']}"
        if "subject" in item:
            return f"{item['subject']}, {item.get('attribute', '')}: {item.get('value', '')}"
        for field in ("name", "key"):
            if field in item:
                return str(item[field])
    return item if isinstance(item, str) else canonical.dumps(item).decode()


def _words(parts: Iterable[Json]) -> str:
    text = ", ".join(part if isinstance(part, str) else _about(part) for part in parts)
    return text if len(text) <= WORDS else text[:WORDS] + "…"


def _about(value: Json) -> str:
    """What a question is about: the names in it."""
    if isinstance(value, dict):
        named = [_name(part) for part in value.values() if isinstance(part, dict)]
        return " · ".join(named) if named else " · ".join(str(part) for part in value.values())
    return str(value)
