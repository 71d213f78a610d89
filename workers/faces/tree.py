"""A fold node by node: what it says, what it was made of, and what it went into."""

from __future__ import annotations

from typing import Final

from pipeline import canonical
from pipeline.errors import NotFoundError
from pipeline.ops.values import Json
from pipeline.reduce.foldtree import Ref
from workers.batched import batched
from workers.faces.results import JobOutput
from workers.outputs.folds import Folded
from workers.outputs.stored_fold import StoredFold
from workers.planning.plan import StepPlan

WORDS: Final = 600  # characters shown of an output in a list of nodes


def fold_of(output: JobOutput, step: str | None) -> StepPlan:
    """The fold of a job, by name where one is given. Raises NotFoundError."""
    folds = [plan for plan in output.view.context.plans if plan.kind == "fold" and step in (None, plan.name)]
    if not folds:
        raise NotFoundError("The job has no such fold", hint="a fold is a step that joins outputs up the sections")
    return folds[-1]


def roots(output: JobOutput, plan: StepPlan, *, after: int, limit: int) -> list[dict[str, Json]]:
    """The root node of each document after a place, in order."""
    folded = output.folded(plan)
    tops = output.view.context.forest.roots
    found: list[tuple[int, str, str, Ref]] = []
    for batch in batched(list(enumerate(output.documents))[after + 1 :], limit):
        refs = folded.of_sections([tops[number] for number, _ in batch])
        found += [
            (number, str(document), title, ref)
            for number, (document, title) in batch
            if (ref := refs[tops[number]]) is not None
        ]
        if len(found) >= limit:
            break
    found = found[:limit]
    said = _said(folded, [ref for *_, ref in found])
    return [
        {"item": number, "document": document, "title": title, "node": node_name(ref), **said[ref]}
        for number, document, title, ref in found
    ]


def node_name(ref: Ref) -> str:
    """What a node is called: its level and its place in it."""
    return f"{ref.level}-{ref.ordinal}"


def ref_of(folded: Folded | StoredFold, name: str) -> Ref:
    """The node of a name. Raises NotFoundError."""
    level, _, ordinal = name.partition("-")
    if level.isdecimal() and ordinal.isdecimal() and len(level) < 10 and len(ordinal) < 19:
        ref = Ref(int(level), int(ordinal))
        if folded.keys_of([ref]):
            return ref
    raise NotFoundError(f"The fold has no node {name!r} that is done", hint="a node is called LEVEL-PLACE, such as 2-0")


def node(output: JobOutput, plan: StepPlan, name: str, *, after: int, limit: int) -> dict[str, Json]:
    """One node: `{node, level, output, parent, children: [{item, node, says, chars}], section}`."""
    folded = output.folded(plan)
    ref = ref_of(folded, name)
    children = folded.children_of([ref]).get(ref, [])
    shown = list(enumerate(children))[after + 1 : after + 1 + limit]
    said = _said(folded, [child for _, child in shown])
    parent = folded.parent_of(ref)
    return {
        "node": name,
        "level": ref.level,
        "output": folded.output(ref),
        "parent": node_name(parent) if parent else None,
        "child_count": len(children),
        "children": [{"item": at, "node": node_name(child), **said[child]} for at, child in shown],
    }


def _said(folded: Folded | StoredFold, refs: list[Ref]) -> dict[Ref, dict[str, Json]]:
    """The beginning of what nodes say, by one query."""
    keys = folded.keys_of(refs)
    outputs = folded.view.rows.results.outputs(list(set(keys.values()))) if keys else {}
    return {ref: _words(canonical.loads(outputs[key])) for ref, key in keys.items()}


def _words(output: Json) -> dict[str, Json]:
    if isinstance(output, dict) and isinstance(output.get("sentences"), list):
        text = " ".join(str(sentence["text"]) for sentence in output["sentences"])
    else:
        text = canonical.dumps(output).decode()
    return {"says": text[:WORDS] + ("…" if len(text) > WORDS else ""), "characters": len(text)}


def path(output: JobOutput, plan: StepPlan, name: str) -> list[str]:
    """The nodes that a node went into, the root first. Raises NotFoundError."""
    folded = output.folded(plan)
    ref: Ref | None = ref_of(folded, name)
    found: list[str] = []
    while ref is not None and (ref := folded.parent_of(ref)) is not None:
        found.insert(0, node_name(ref))
    return found


def task_of(output: JobOutput, plan: StepPlan, name: str) -> int | None:
    """The id of the task that made a node."""
    ref = ref_of(output.folded(plan), name)
    step = output.view.source(plan) if ref.level == 0 else output.view.level(plan.position, ref.level)
    task = output.view.rows.tasks.at(step.id, ref.ordinal) if step else None
    return task.id if task else None
