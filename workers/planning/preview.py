"""A dry run: what a job would find in the memo and what it would call and cost, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from db.database import Database, Repositories
from db.values import Chunk
from pipeline.models.protocol import Measure, Model, Request
from pipeline.ops.kinds import MergeOp
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.spec import PipelineSpec
from workers.ingest.ingest import Ingested
from workers.planning.maps import BATCH_CHUNKS
from workers.planning.partitions import shards_for
from workers.planning.plan import Models, StepPlan, plans_from, resolve
from workers.planning.selection import Selection, load

TEXTS = 500  # chunks whose texts are held at once while their prompts are counted
NODE_TOKENS = 400  # of a fold's prompt around its children, at most
ITEM_TOKENS = 8  # of the number and line of one child's item
MINUTE_S = 60.0


@dataclass(kw_only=True, slots=True)
class StepPreview:
    """What a step would do. `least` and `most` bound what is not known before the calls that come before."""

    step: str
    kind: str
    model: str | None
    tasks: int
    hits: int
    calls_least: int
    calls_most: int
    tokens_in_least: int = 0
    tokens_in_most: int = 0
    tokens_out_most: int = 0
    tokens_out_usual: int | None = None  # by what the same op and model wrote so far
    cost_micros_least: int = 0
    cost_micros_most: int = 0
    seconds_least: float | None = None  # at the profile's limits; None: nothing is known of its pace
    exact: bool = True  # are calls and input tokens exact?

    def row(self) -> dict[str, Json]:
        """As JSON; `tokens_in` is what will be read at least."""
        return asdict(self) | {"tokens_in": self.tokens_in_least}


@dataclass(kw_only=True, slots=True)
class _Called:
    """The calls of a map over chunks."""

    tasks: int = 0
    hits: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seen: set[bytes] = field(default_factory=set)

    def add(self, measure: Measure) -> None:
        self.calls += measure.calls
        self.tokens_in += measure.tokens_in
        self.tokens_out += measure.tokens_out


def preview(
    database: Database,
    spec: PipelineSpec,
    documents: Sequence[Ingested],
    *,
    ops: Registry,
    models: Models,
    model: str,
) -> list[StepPreview]:
    """One a step. Exact for a map over chunks; for a map after a map, and for a reduce, bounds."""
    plans = plans_from(resolve(spec, ops, models, model), ops)
    chunkings = {str(item.document.id): item.chunking_id for item in documents}
    found: list[StepPreview] = []
    with database.read() as rows:
        selection = load(rows, [(item.document.id, item.revision.id) for item in documents], chunkings)
        for plan in plans:
            asked = models.model(plan.model) if plan.model else None
            source = None if plan.source is None else found[plan.source]
            if plan.shows:
                step = _shown(rows, selection, plan, asked)
            elif source is None:
                step = _map(rows, selection, plan, asked)
            elif plan.kind == "map":
                step = _after(plan, source, asked)
            else:
                step = _reduce(selection, plan, plans[plan.source or 0], source, asked)
            _price(rows, step, plan, asked, models)
            found.append(step)
    return found


def _map(rows: Repositories, selection: Selection, plan: StepPlan, model: Model | None) -> StepPreview:
    maker, called = plan.keys(), _Called()
    for batch in _batches(rows, selection, plan):
        called.tasks += len(batch)
        by_key: dict[bytes, Chunk] = {}
        for chunk in batch:
            by_key.setdefault(maker.key((chunk.content_sha256,)), chunk)
        present = rows.results.present(list(by_key))
        missing = [chunk for key, chunk in by_key.items() if key not in present and key not in called.seen]
        called.seen |= by_key.keys()
        for measure in _measured(rows, plan, model, missing):
            called.add(measure)
        called.hits += len(batch) - len(missing)
    return StepPreview(
        step=plan.name, kind=plan.kind, model=plan.model, tasks=called.tasks, hits=called.hits,
        calls_least=called.calls, calls_most=called.calls, tokens_in_least=called.tokens_in,
        tokens_in_most=called.tokens_in, tokens_out_most=called.tokens_out,
    )  # fmt: skip


def _shown(rows: Repositories, selection: Selection, plan: StepPlan, model: Model | None) -> StepPreview:
    """A map that shows something with its chunks: what it shows is known when it is planned, so bounds only."""
    tasks = sum(len(batch) for batch in _batches(rows, selection, plan))
    reads = tasks * model.window if model is not None and plan.sent is not None else 0
    return _bounded(plan, tasks=tasks, most=tasks, tokens_in=reads)


def _batches(rows: Repositories, selection: Selection, plan: StepPlan) -> Iterator[list[Chunk]]:
    run = 0
    while run < len(selection.runs):
        last = min(selection.first(run) + BATCH_CHUNKS, selection.total) - 1
        end = min(selection.run_at(last) + 1, len(selection.runs))
        yield [chunk for _, chunk in selection.chunks(rows, first_run=run, end_run=end, skip=plan.skip)]
        run = end


def _measured(rows: Repositories, plan: StepPlan, model: Model | None, chunks: Sequence[Chunk]) -> Iterator[Measure]:
    """What each call will use; a language model's prompts are made and counted as they will be sent."""
    if model is None or plan.sent is None:
        yield from (Measure(tokens_in=chunk.token_count, tokens_out=0) for chunk in chunks)
        return
    for first in range(0, len(chunks), TEXTS):
        part = chunks[first : first + TEXTS]
        texts = rows.contents.texts(list({chunk.content_sha256 for chunk in part}))
        for chunk in part:
            yield model.measure(_request(plan, texts[chunk.content_sha256], chunk.token_count))


def _request(plan: StepPlan, text: str, tokens: int) -> Request:
    return Request(
        op=plan.op.name,
        params=plan.params,
        text=text,
        tokens=tokens,
        ask=None if isinstance(plan.op, MergeOp) else plan.op.ask,
        sent=plan.sent,
        split=plan.on_overlong == "split",
    )


def _after(plan: StepPlan, source: StepPreview, model: Model | None) -> StepPreview:
    """A map after a map: what it reads is not there yet, and if its input changes is not known."""
    most = source.tasks
    reads = most * model.window if model is not None and plan.sent is not None else 0
    return _bounded(plan, tasks=source.tasks, most=most, tokens_in=reads)


def _reduce(
    selection: Selection, plan: StepPlan, before: StepPlan, source: StepPreview, model: Model | None
) -> StepPreview:
    if plan.kind == "merge":
        shards = shards_for(selection.total) + 1
        return _bounded(plan, tasks=shards, most=shards, tokens_in=0)
    nodes = max(0, source.tasks - 1)  # a tree over n leaves in which every node has two children or more
    most = nodes if source.calls_most else 0
    if model is None or plan.sent is None:
        return _bounded(plan, tasks=nodes, most=most, tokens_in=0)
    # Every output is read once: of a leaf, and of each node but the last.
    written = _max_tokens(before) if before.sent is not None else before.window
    children = source.tasks * min(written, model.window) + nodes * _max_tokens(plan)
    items = (source.tasks + nodes) * ITEM_TOKENS
    reads = min(most * model.window, children + items) + most * NODE_TOKENS
    return _bounded(plan, tasks=nodes, most=most, tokens_in=reads)


def _bounded(plan: StepPlan, *, tasks: int, most: int, tokens_in: int) -> StepPreview:
    return StepPreview(
        step=plan.name, kind=plan.kind, model=plan.model, tasks=tasks, hits=0, calls_least=0, calls_most=most,
        tokens_in_most=tokens_in, tokens_out_most=most * _max_tokens(plan), exact=False,
    )  # fmt: skip


def _max_tokens(plan: StepPlan) -> int:
    return 0 if plan.sent is None else int(plan.sent.params["sampling"]["max_tokens"])


def _price(rows: Repositories, step: StepPreview, plan: StepPlan, model: Model | None, models: Models) -> None:
    if model is None or plan.sent is None:
        return
    step.cost_micros_least = model.price(step.tokens_in_least, step.calls_least)  # an answer has a token or more
    step.cost_micros_most = model.price(step.tokens_in_most, step.tokens_out_most) + step.calls_most
    pace = rows.results.pace(plan.op.name, model.identity)
    if pace is not None:
        step.tokens_out_usual = round(pace.tokens_out * step.calls_least)
    allowed = models.allowance(plan.limits)
    times: list[float] = []
    if pace is not None:
        slots = min(model.slots, allowed.get("concurrency") or model.slots)
        times.append(math.ceil(step.calls_least / slots) * pace.seconds)
    if rpm := allowed.get("requests_per_minute"):
        times.append(step.calls_least / rpm * MINUTE_S)
    if tpm := allowed.get("tokens_per_minute"):
        times.append((step.tokens_in_least + (step.tokens_out_usual or step.calls_least)) / tpm * MINUTE_S)
    step.seconds_least = round(max(times), 1) if times else None


def whole(steps: Sequence[StepPreview]) -> dict[str, Json]:
    """All steps added up."""
    names = (
        "tasks", "hits", "calls_least", "calls_most", "tokens_in_least", "tokens_in_most", "tokens_out_most",
        "cost_micros_least", "cost_micros_most",
    )  # fmt: skip
    asked = [step for step in steps if step.model]
    sums: dict[str, Json] = {name: sum(getattr(step, name) for step in asked) for name in names}
    times = [step.seconds_least for step in asked if step.seconds_least is not None]
    return sums | {"seconds_least": round(sum(times), 1) if times else None}
