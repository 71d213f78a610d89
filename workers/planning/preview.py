"""A dry run: what a job would find in the memo and what it would call, before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence

from db.database import Database, Repositories
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.spec import PipelineSpec
from workers.ingest.ingest import Ingested
from workers.planning.maps import BATCH_CHUNKS
from workers.planning.merges import shards_for
from workers.planning.plan import Models, StepPlan, plans_from, resolve
from workers.planning.selection import Selection, load


def preview(
    database: Database,
    spec: PipelineSpec,
    documents: Sequence[Ingested],
    *,
    ops: Registry,
    models: Models,
    model: str,
) -> list[dict[str, Json]]:
    """One row a step: `{step, kind, tasks, hits, calls_least, calls_most, tokens_in}`.

    Exact for a map over chunks. For a map after a map, and for a reduce, bounds: how many of its inputs change is not
    known before the calls are made.
    """
    plans = plans_from(resolve(spec, ops, models, model), ops)
    chunkings = {str(item.document.id): item.chunking_id for item in documents}
    found: list[dict[str, Json]] = []
    with database.read() as rows:
        selection = load(rows, [(item.document.id, item.revision.id) for item in documents], chunkings)
        for plan in plans:
            source = None if plan.source is None else found[plan.source]
            found.append(_map(rows, selection, plan) if source is None else _after(selection, plan, source))
    return found


def _map(rows: Repositories, selection: Selection, plan: StepPlan) -> dict[str, Json]:
    maker = plan.keys()
    tasks = hits = calls = tokens = 0
    seen: set[bytes] = set()
    run = 0
    while run < len(selection.runs):
        end = min(
            selection.run_at(min(selection.first(run) + BATCH_CHUNKS, selection.total) - 1) + 1, len(selection.runs)
        )
        batch: dict[bytes, int] = {}
        for _, chunk in selection.chunks(rows, first_run=run, end_run=end, skip=plan.skip):
            tasks += 1
            batch.setdefault(maker.key((chunk.content_sha256,)), chunk.token_count)
        present = rows.results.present(list(batch))
        for key, count in batch.items():
            if key not in present and key not in seen:
                calls += 1
                tokens += count
            seen.add(key)
        run = end
    hits = tasks - calls
    return _row(plan, tasks=tasks, hits=hits, least=calls, most=calls, tokens=tokens)


def _after(selection: Selection, plan: StepPlan, source: dict[str, Json]) -> dict[str, Json]:
    if plan.kind == "map":
        return _row(plan, tasks=source["tasks"], hits=0, least=0, most=source["tasks"], tokens=0)
    changed = source["calls_most"]
    if plan.kind == "merge":
        most = shards_for(selection.total) + 1
        return _row(plan, tasks=most, hits=0, least=0, most=most, tokens=0)
    nodes = max(0, source["tasks"] - 1)  # a tree over n leaves in which every node has two children or more
    return _row(plan, tasks=nodes, hits=0, least=0, most=nodes if changed else 0, tokens=0)


def _row(plan: StepPlan, *, tasks: int, hits: int, least: int, most: int, tokens: int) -> dict[str, Json]:
    return {
        "step": plan.name,
        "kind": plan.kind,
        "tasks": tasks,
        "hits": hits,
        "calls_least": least,
        "calls_most": most,
        "tokens_in": tokens,
    }
