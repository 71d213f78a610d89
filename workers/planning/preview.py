"""A dry run: what a job would find in the memo and what it would call and cost, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from db.database import Database, Repositories
from db.values import Chunk
from pipeline.models.protocol import Measure, Model, Request
from pipeline.ops.kinds import MOST_QUESTIONS, MergeOp
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.reduce.foldbounds import Bounds
from pipeline.reduce.groups import Child
from pipeline.spec import PipelineSpec
from workers.ingest.ingest import Ingested
from workers.outputs.cite import Citer
from workers.planning.foresee import Foreseen, Outputs, child, foresee_fold, foresee_merge
from workers.planning.maps import BATCH_CHUNKS
from workers.planning.plan import JUDGEMENT, QUESTIONS, Models, StepPlan, plans_from, resolve
from workers.planning.selection import Selection, load

TEXTS = 500  # chunks whose texts are held at once while their prompts are counted
NODE_TOKENS = 400  # of a fold's prompt around its children, at most
ITEM_TOKENS = 8  # of the number and line of one child's item
LONGEST = 3  # bytes of an output for each token times BYTES_PER_TOKEN: the longest words of real tokenizers on average
PLACES = 100  # that are named of a step
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
    where: list[dict[str, Json]] = field(default_factory=list)  # chunks, or sections, that are called; some of many

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
    unknown: int = 0  # tasks whose input is not there yet
    seen: set[bytes] = field(default_factory=set)
    outputs: dict[int, Child | None] = field(default_factory=dict)
    places: list[int] = field(default_factory=list)

    def add(self, measure: Measure) -> None:
        self.calls += measure.calls
        self.tokens_in += measure.tokens_in
        self.tokens_out += measure.tokens_out

    def take(self, rows: Repositories, keys: dict[int, bytes]) -> list[int]:
        """Count tasks by what the memo has of their keys; gives the ordinals of those that are to be called."""
        found = rows.results.sizes(list(set(keys.values())))
        self.tasks += len(keys)
        missing = []
        for ordinal, key in keys.items():
            self.outputs[ordinal] = child(found[key]) if key in found else None
            if key not in found and key not in self.seen:
                missing.append(ordinal)
            self.seen.add(key)
        self.hits += len(keys) - len(missing)
        self.places += missing[: PLACES - len(self.places)]
        return missing


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
    outputs: list[Outputs] = []
    with database.read() as rows:
        selection = load(rows, [(item.document.id, item.revision.id) for item in documents], chunkings)
        for plan in plans:
            asked = models.model(plan.model) if plan.model else None
            before = None if plan.source is None else outputs[plan.source]
            if plan.kind != "map":
                below = plan.at(JUDGEMENT)
                step = _reduce(rows, selection, plans, below, before or {}, asked if below.model else None)
                outputs.append({})
            else:
                step, made = _map(rows, selection, plan, before, asked)
                outputs.append(made)
            _price(rows, step, plan.at(JUDGEMENT), asked, models)
            found.append(step)
            if plan.asks:
                found.append(_questions(plan))
                _price(rows, found[-1], plan.at(QUESTIONS), asked, models)
    return found


def _map(
    rows: Repositories, selection: Selection, plan: StepPlan, before: Outputs | None, model: Model | None
) -> tuple[StepPreview, Outputs]:
    if plan.shows:
        return _shown(rows, selection, plan, model)
    maker, called = plan.keys(), _Called()
    for batch in _batches(rows, selection, plan):
        chunks = batch if before is None else {at: chunk for at, chunk in batch.items() if before.get(at)}
        keys: dict[int, bytes] = {}
        for ordinal, chunk in chunks.items():
            output = before[ordinal] if before is not None else None
            keys[ordinal] = maker.key((chunk.content_sha256, output.sha256) if output else (chunk.content_sha256,))
        missing = [chunks[ordinal] for ordinal in called.take(rows, keys)]
        called.unknown += len(batch) - len(chunks)
        called.outputs |= dict.fromkeys(batch.keys() - chunks.keys())
        if before is None:
            for measure in _measured(rows, plan, model, missing):
                called.add(measure)
        else:
            called.calls += len(missing)  # what they read holds the output before: how long it is is not counted
    most = called.calls + called.unknown
    where = [cited.named() for cited in Citer(rows, selection, 0).whole(called.places)] if called.places else []
    step = StepPreview(
        step=plan.name, kind=plan.kind, model=plan.model, tasks=called.tasks + called.unknown, hits=called.hits,
        calls_least=called.calls, calls_most=most, tokens_in_least=called.tokens_in, tokens_in_most=called.tokens_in,
        tokens_out_most=called.tokens_out, where=where,
    )  # fmt: skip
    if before is not None and model is not None and plan.sent is not None:
        step.tokens_in_most, step.tokens_out_most = most * model.window, most * _max_tokens(plan)
    step.exact = before is None or most == 0
    return step, called.outputs


def _shown(
    rows: Repositories, selection: Selection, plan: StepPlan, model: Model | None
) -> tuple[StepPreview, Outputs]:
    """A map that shows something with its chunks: what it shows is known when it is planned, so bounds only."""
    ordinals = [ordinal for batch in _batches(rows, selection, plan) for ordinal in batch]
    reads = len(ordinals) * model.window if model is not None and plan.sent is not None else 0
    return _bounded(plan, Bounds(most=len(ordinals)), tokens_in=reads), dict.fromkeys(ordinals)


def _batches(rows: Repositories, selection: Selection, plan: StepPlan) -> Iterator[dict[int, Chunk]]:
    """Chunks by ordinal."""
    run = 0
    while run < len(selection.runs):
        last = min(selection.first(run) + BATCH_CHUNKS, selection.total) - 1
        end = min(selection.run_at(last) + 1, len(selection.runs))
        yield dict(selection.chunks(rows, first_run=run, end_run=end, skip=plan.skip))
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


def _reduce(
    rows: Repositories,
    selection: Selection,
    plans: Sequence[StepPlan],
    plan: StepPlan,
    leaves: Outputs,
    model: Model | None,
) -> StepPreview:
    before = plans[plan.source or 0]
    if plan.kind == "merge":
        return _foreseen(plan, foresee_merge(rows, selection, plan, leaves), tokens_in=0)
    written = _max_tokens(before) if before.sent is not None else before.window
    largest = max(written, _max_tokens(plan)) * LONGEST if plan.sent is not None else plan.window
    found = foresee_fold(rows, selection, plan, leaves, largest)
    most = found.bounds.most
    if model is None or plan.sent is None:
        return _foreseen(plan, found, tokens_in=0)
    # Every output is read once: of a leaf, and of each node but the last.
    nodes = max(0, len(leaves) - 1)
    children = len(leaves) * min(written, model.window) + nodes * _max_tokens(plan)
    items = (len(leaves) + nodes) * ITEM_TOKENS
    reads = min(most * model.window, children + items) + most * NODE_TOKENS
    return _foreseen(plan, found, tokens_in=reads)


def _questions(plan: StepPlan) -> StepPreview:
    """What a merge asks after its judgement, a step of its own to the eye: how much is not known before."""
    assert isinstance(plan.op, MergeOp)
    assert plan.op.inquiry is not None
    most, reads = int(plan.params[MOST_QUESTIONS]), plan.op.inquiry.characters + NODE_TOKENS
    bounds = Bounds(most=most)
    return _bounded(plan.at(QUESTIONS), bounds, tokens_in=most * reads if plan.sent is not None else 0)


def _foreseen(plan: StepPlan, found: Foreseen, *, tokens_in: int) -> StepPreview:
    step = _bounded(plan, found.bounds, tokens_in=tokens_in)
    step.where = [dict(place) for place in found.where[:PLACES]]
    return step


def _bounded(plan: StepPlan, bounds: Bounds, *, tokens_in: int) -> StepPreview:
    return StepPreview(
        step=plan.name, kind=plan.kind, model=plan.model, tasks=bounds.hits + bounds.most, hits=bounds.hits,
        calls_least=bounds.least, calls_most=bounds.most, tokens_in_most=tokens_in,
        tokens_out_most=bounds.most * _max_tokens(plan), exact=bounds.least == bounds.most and tokens_in == 0,
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
