"""Why the key of a reduce node hit or missed, and which edit it was that changed it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import UUID

from db.database import Database, Repositories
from db.values import Job
from pipeline import canonical, keys
from pipeline.errors import NotFoundError, OctavoError
from pipeline.ops.kinds import MergeOp
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from workers.outputs.above import Node, Reduced, children_of, name_of, reduces
from workers.outputs.cite import Citer
from workers.outputs.explain import JOBS, memo
from workers.outputs.job import find_job
from workers.outputs.pairing import Pairing
from workers.planning.context import JobContext, load_context
from workers.planning.plan import JUDGEMENT, QUESTIONS
from workers.planning.questions import asked

_MERGE_KINDS = {1: "shard", JUDGEMENT: "judgement", QUESTIONS: "question"}
NODE = re.compile(r"(?P<step>[^/:]+)/(?P<level>\d{1,4})/(?P<ordinal>\d{1,9})")


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
            "kind": "fold" if reduced.is_fold else _MERGE_KINDS[min(level, QUESTIONS)],
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
        data = self._rows.nodes.inputs_at(self._reduced.levels[level].id, ordinal)
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
            pairing = Pairing(self._rows, self._reduced, other)
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
    data = rows.nodes.inputs_at(reduced.levels[level].id, ordinal)
    if not reduced.is_fold and level >= QUESTIONS:
        return keys.document(plan.at(level).identity(), asked(data).inputs())
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
    scope = rows.nodes.scope_at(reduced.levels[level].id, ordinal)
    top = scope is not None and reduced.context.forest.is_top(scope)
    return keys.document(plan.identity(top=top), [hashes[made[child]] for child in children])
