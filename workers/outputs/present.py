"""A pipeline's output, by what its last step is (the shapes are documented in docs/outputs.md)."""

from __future__ import annotations

from collections.abc import Iterator

from db.values import Step, Task
from pipeline import canonical
from pipeline.ops.values import Json
from workers.outputs import conflicts, folds, merges
from workers.outputs.cite import Citer
from workers.outputs.job import View
from workers.planning.plan import StepPlan

OUTPUT_VERSION = 1
_BATCH = 500
OF_MERGES = {"glossary": merges.entries, "merge": merges.plain_entries}  # rows, however many there are


def present(view: View) -> dict[str, Json]:
    """The output of a job's last step."""
    plan = view.context.plans[-1]
    kind = plan.op.output
    if kind == "summary":
        return folds.summary(view, plan)
    if kind == "outline":
        return folds.outline(view, plan)
    if kind == "fold":
        return folds.plain(view, plan)
    if kind == "conflicts":
        return conflicts.contradictions(view, plan)
    if kind in OF_MERGES:
        return {"entries": list(OF_MERGES[kind](view, plan))}
    return {"results": list(results(view, plan))}


def results(view: View, plan: StepPlan, *, limit: int | None = None, after: int = -1) -> Iterator[dict[str, Json]]:
    """A map step's outputs in reading order: `{step, state, …citation, output}`; for a hole `error` instead."""
    step = view.level(plan.position, 0)
    if step is None:
        return
    citer = Citer(view.rows, view.context.selection, step.id)
    left = limit
    while left is None or left > 0:
        tasks = view.rows.tasks.page(step.id, states=(), limit=min(_BATCH, left or _BATCH), after=after)
        if not tasks:
            return
        yield from _rows(view, step, citer, tasks)
        after = tasks[-1].ordinal
        left = None if left is None else left - len(tasks)


def _rows(view: View, step: Step, citer: Citer, found: list[Task]) -> Iterator[dict[str, Json]]:
    outputs = view.rows.results.outputs(list({task.key for task in found if task.key}))
    cited = citer.whole([task.ordinal for task in found])
    for task, citation in zip(found, cited, strict=True):
        row: dict[str, Json] = {"step": step.name, "state": task.state, **view.style(citation)}
        if task.key in outputs and task.state == "done":
            row["output"] = canonical.loads(outputs[task.key])
        elif task.error_code:
            row["error"] = task.error_code
        yield row
