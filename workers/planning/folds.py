"""Plan the levels of a fold: the tree is replayed from the outputs' hashes (pipeline.reduce.foldtree)."""

from __future__ import annotations

from collections.abc import Sequence

from db.database import Database, Repositories
from db.layout import pack
from db.values import NewTask, Step
from pipeline.reduce.foldtree import FoldTree
from pipeline.reduce.groups import Child
from workers import failpoints
from workers.planning.context import JobContext
from workers.planning.forest import Forest
from workers.planning.plan import StepPlan

BYTES_PER_TOKEN = 3  # the least that real tokenizers reach on prose: so many bytes are never more tokens than counted


def leaves_of(rows: Repositories, step_id: int, total: int) -> list[Child | None]:
    """The outputs of a map step by ordinal; None for a hole and for a chunk that the step leaves out."""
    leaves: list[Child | None] = [None] * total
    for ordinal, _, sha, size in rows.tasks.outputs(step_id):
        if sha is not None:
            leaves[ordinal] = Child(sha256=sha, size=size // BYTES_PER_TOKEN)
    return leaves


def replay(
    rows: Repositories, context: JobContext, plan: StepPlan, steps: Sequence[Step], *, levels: int
) -> tuple[Forest, FoldTree]:
    """The tree of a fold with the outputs of its first `levels` levels fed."""
    forest = context.forest
    source = next(step for step in steps if step.position == plan.source and step.level == 0)
    tree = FoldTree(forest.sections, leaves_of(rows, source.id, context.selection.total), plan.window)
    for level in range(1, levels + 1):
        step = next(step for step in steps if step.position == plan.position and step.level == level)
        tree.feed(
            [
                None if sha is None else Child(sha256=sha, size=size // BYTES_PER_TOKEN)
                for _, _, sha, size in rows.tasks.outputs(step.id)
            ]
        )
    return forest, tree


def plan_fold(database: Database, context: JobContext, step: Step) -> None:
    """Write the nodes of one level of a fold, in one transaction. A level without nodes is the last."""
    plan = context.plan_of(step)
    with database.read() as rows:
        steps = rows.jobs.steps(context.job.id)
        _, tree = replay(rows, context, plan, steps, levels=step.level - 1)
    makers = {top: plan.keys(top=top) for top in (False, True)}
    tasks = []
    for ordinal, node in enumerate(tree.next_level()):
        children = [tree.output(ref).sha256 for ref in node.children]
        inputs = pack([ref.level for ref in node.children], [ref.ordinal for ref in node.children])
        key = makers[node.top].key(children)
        tasks.append(NewTask(ordinal, key, inputs=inputs, scope=node.scope))
    write_level(database, step, tasks)


def write_level(database: Database, step: Step, tasks: Sequence[NewTask], *, unasked: int = 0) -> None:
    """Store all tasks of a reduce level at once and resolve its hits."""
    with database.write() as rows:
        if rows.jobs.planned_whole(step.id, len(tasks), unasked=unasked):
            rows.tasks.add(step.id, tasks)
            rows.results.use(step.id)
            failpoints.reached("plan.before")
