"""`octavo grain`: how long a book's chapters and paragraphs really are, and which grain suits a pipeline over it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from db.database import Database
from pipeline.advice import Advice, Bound, Question, Spread, advise, spread
from pipeline.models.protocol import Model, Request
from pipeline.ops.kinds import MapOp
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.read.reading import Section
from pipeline.read.tree import own_runs
from pipeline.spec import PipelineSpec
from pipeline.split.grain import Grain
from pipeline.split.marks import BLANK_LINES
from workers.ingest.ingest import Cutting, Ingested, stored_text
from workers.ingest.units import starts_chunk
from workers.planning.plan import Models, StepPlan, plans_from, resolve

SENTENCE = re.compile(r"(?<=[.!?…。！？])[\"'”’」』）)]*\s*")
LONG_PARAGRAPH = 4_000  # characters on average: then the lines are the paragraphs
UNBOUND = 100_000_000  # tokens: a window as large as this is none
FILL = 0.72  # of the limit: how full chunks of long sections are
TIME_SHARE = 0.5  # of the time-out: calls differ
PLAIN = 1_000  # tokens: for a text that has no chapters
SAMPLE = 2_000  # characters, to compare the model's tokens with the grain's
BATCH = 1_000_000  # characters counted together


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A book as the grain's tokenizer counts it."""

    chapters: tuple[int, ...]  # tokens of each stretch between two places that always start a chunk
    spreads: dict[str, Spread]  # chapters, paragraphs, sentences
    sample: str  # from the middle of the book
    sample_tokens: int


def measure(database: Database, item: Ingested, cutting: Cutting, skip: frozenset[str]) -> Measured:
    """Count a document's stretches, but for the kinds of section in `skip`."""
    with database.read() as rows:
        sections = rows.documents.sections(item.revision.id)
    chapters: list[int] = []
    parts: dict[str, list[int]] = {"paragraphs": [], "sentences": []}
    waiting: list[str] = []
    text = "".join(stored_text(database, item.revision.id, item.chunking_id))
    for chapter in _chapters(text, list(sections), cutting.grain, skip):
        waiting.append(chapter)
        if sum(map(len, waiting)) >= BATCH:
            chapters += _count(waiting, cutting, parts)
            waiting = []
    chapters += _count(waiting, cutting, parts)
    spreads = {"chapters": spread(chapters)} | {name: spread(lengths) for name, lengths in parts.items()}
    sample = text[len(text) // 2 :][:SAMPLE]
    return Measured(
        chapters=tuple(chapters), spreads=spreads, sample=sample, sample_tokens=cutting.counter.count(sample)
    )


def _chapters(text: str, sections: Sequence[Section], grain: Grain, skip: frozenset[str]) -> Iterator[str]:
    hard = [section for section in sections if starts_chunk(section, grain)]
    runs = own_runs([section.start for section in hard], [section.end for section in hard])
    if not runs:
        yield text
        return
    starts = [start for start, _ in runs] + [len(text)]
    for at, (start, number) in enumerate(runs):
        found = text[start : starts[at + 1]]
        if hard[number].kind not in skip and found.strip():
            yield found


def _count(chapters: Sequence[str], cutting: Cutting, parts: dict[str, list[int]]) -> list[int]:
    counter = cutting.counter
    paragraphs = [paragraph for chapter in chapters for paragraph in paragraphs_of(chapter)]
    sentences = [part for paragraph in paragraphs for part in SENTENCE.split(paragraph) if part.strip()]
    parts["paragraphs"] += counter.count_batch(paragraphs)
    parts["sentences"] += counter.count_batch(sentences)
    return counter.count_batch(chapters)


def paragraphs_of(text: str) -> list[str]:
    """The paragraphs of a text: what blank lines part, or its lines where there are next to none of those."""
    found = [part for part in BLANK_LINES.split(text) if part.strip()]
    if sum(map(len, found)) > LONG_PARAGRAPH * max(1, len(found)):
        found = [part for part in text.split("\n") if part.strip()]
    return found


def grain_advice(
    database: Database,
    spec: PipelineSpec,
    item: Ingested,
    cutting: Cutting,
    *,
    ops: Registry,
    models: Models,
    model: str,
) -> dict[str, Json]:
    """`octavo grain` of one document (docs/outputs.md, `GrainAdvice`)."""
    plans = [plan for plan in plans_from(resolve(spec, ops, models, model), ops) if plan.kind == "map"]
    skip = frozenset.intersection(*(plan.skip for plan in plans)) if plans else frozenset()
    measured = measure(database, item, cutting, frozenset(skip))
    bounds = [bound for plan in plans for bound in _of_step(database, plan, measured, models)]
    bounds.append(_changes(measured.spreads))
    found = advise(bounds)
    return {
        "document": item.document.title,
        "revision": item.revision.number,
        "tokenizer": cutting.counter.name,
        "lengths": {name: asdict(lengths) for name, lengths in measured.spreads.items()},
        "grain": {"name": spec.grain.name, "limit": spec.grain.limit, "chunks": _chunks(measured, spec.grain.limit)},
        "bounds": [asdict(bound) for bound in bounds],
        "proposed": _proposed(found, measured),
    }


def _proposed(found: Advice, measured: Measured) -> dict[str, Json]:
    return {
        "limit": found.limit,
        "chunks": _chunks(measured, found.limit),
        "decided_by": found.decided_by.question,
        "conflict": found.conflict,
    }


def _chunks(measured: Measured, limit: int) -> int:
    """About how many chunks a limit makes."""
    return sum(1 if tokens <= limit else -(-tokens // max(1, int(limit * FILL))) for tokens in measured.chapters)


def _of_step(database: Database, plan: StepPlan, measured: Measured, models: Models) -> list[Bound]:
    assert isinstance(plan.op, MapOp)
    asked = models.model(plan.model) if plan.model else None
    return [
        _sees(plan.name, plan.op, measured.spreads),
        _window(plan, asked, measured),
        _time(database, plan, asked),
        _points(database, plan, measured.spreads),
    ]


def _sees(step: str, op: MapOp, spreads: dict[str, Spread]) -> Bound:
    found = spreads[f"{op.sees}s"]
    reason = f"op {op.name} works on {op.sees}s: 99 of 100 have at most {found.p99} tokens, the longest {found.most}"
    return Bound(question=Question.SEES, step=step, least=max(1, found.p99), reason=reason)


def _window(plan: StepPlan, asked: Model | None, measured: Measured) -> Bound:
    if asked is None or plan.sent is None or asked.window >= UNBOUND:
        name = f"model {asked.name}" if asked else f"op {plan.op.name}"
        return Bound(question=Question.FITS, step=plan.name, reason=f"{name} has no window")
    ask = plan.op.ask if isinstance(plan.op, MapOp) else None
    empty, full = (
        asked.measure(Request(op=plan.op.name, params=plan.params, text=text, ask=ask, sent=plan.sent)).tokens_in
        for text in ("", measured.sample)
    )
    factor = max(0.01, (full - empty) / max(1, measured.sample_tokens))
    left = max(1, int((asked.window - empty) / factor))
    reason = (
        f"{asked.window} tokens of the window are left when the answer has its room, {empty} of them for the prompt; "
        f"the model counts {factor:.2f} tokens where the grain counts one"
    )
    return Bound(question=Question.FITS, step=plan.name, most=left, reason=reason)


def _time(database: Database, plan: StepPlan, asked: Model | None) -> Bound:
    pace = None
    if asked is not None and plan.sent is not None:
        with database.read() as rows:
            pace = rows.results.pace(plan.op.name, asked.identity)
    if pace is None or pace.seconds <= 0:
        what = "no call of it has been timed yet" if plan.sent is not None else "it asks no language model"
        return Bound(question=Question.FITS, step=plan.name, reason=f"time-out {plan.timeout_s:.0f} s: {what}")
    fits = max(1, int(plan.timeout_s * TIME_SHARE * pace.tokens_in / pace.seconds))
    reason = f"half of the {plan.timeout_s:.0f} s, where {pace.tokens_in:.0f} tokens took {pace.seconds:.1f} s so far"
    return Bound(question=Question.FITS, step=plan.name, most=fits, reason=reason)


def _points(database: Database, plan: StepPlan, spreads: dict[str, Spread]) -> Bound:
    assert isinstance(plan.op, MapOp)
    points = plan.op.points
    if points is None:
        with database.read() as rows:
            points = rows.results.points(plan.op.name)
    if points:
        return Bound(question=Question.POINTS, step=plan.name, reason="its items lead to places within a chunk")
    if points is None:
        return Bound(question=Question.POINTS, step=plan.name, reason="nothing of it is there yet that would tell")
    found = spreads["chapters"]
    reason = f"its items name no place within a chunk: they lead to all of it, and half the chapters have {found.p50}"
    return Bound(question=Question.POINTS, step=plan.name, most=max(1, found.p50), reason=reason)


def _changes(spreads: dict[str, Spread]) -> Bound:
    chapters, paragraphs = spreads["chapters"], spreads["paragraphs"]
    if chapters.count > 1:
        reason = f"a chapter, and half of them have at most {chapters.p50}; no chunk crosses its end anyhow"
        return Bound(question=Question.CHANGES, step=None, most=max(1, chapters.p50), reason=reason)
    most = max(PLAIN, paragraphs.p99)
    reason = f"the text has no chapters; a paragraph has {paragraphs.p50}, and {most} at once keep an edit cheap"
    return Bound(question=Question.CHANGES, step=None, most=most, reason=reason)
