"""`octavo usage`: tokens, cost and what the memo saved, by document, collection, model, job or day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from db.database import Repositories
from db.repositories.usage import Direct, Used
from db.values import Document, Job, Step
from pipeline.ops.values import Json

MILLION = 1_000_000
SEVERAL = "(several)"  # nodes and questions over more than one document
NONE = "(none)"  # a test or probe of a model
QUESTIONS = ("ask", "measure")  # calls outside jobs that send the text of documents
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class By(StrEnum):
    """What usage is added up by."""

    DOCUMENT = "document"
    COLLECTION = "collection"
    MODEL = "model"
    JOB = "job"
    DAY = "day"


@dataclass(kw_only=True, slots=True)
class Sums:
    """Calls of models, and what the memo saved."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micros: int = 0
    hits: int = 0
    saved_tokens: int = 0
    saved_micros: int = 0

    def add(self, used: Used | Direct) -> None:
        """Add what was spent."""
        self.calls += used.calls
        self.tokens_in += used.tokens_in
        self.tokens_out += used.tokens_out
        self.cost_micros += used.cost_micros

    def row(self, name: str) -> dict[str, Json]:
        """As JSON; costs in the profile's currency."""
        return {
            "name": name,
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "cost": self.cost_micros / MILLION,
            "hits": self.hits,
            "saved_tokens": self.saved_tokens,
            "saved_cost": self.saved_micros / MILLION,
        }


def usage(rows: Repositories, by: By, *, jobs: int) -> list[dict[str, Json]]:
    """One row a name, those that cost most first, over the latest `jobs` jobs and all that was asked outside jobs."""
    found: dict[str, Sums] = {}
    for job in rows.jobs.latest(jobs):
        steps = {step.id: step for step in rows.jobs.steps(job.id)}
        for name, used, spent in _named(rows, job, steps, by):
            sums = found.setdefault(name, Sums())
            if spent:
                sums.add(used)
            else:
                sums.hits += used.calls
                sums.saved_tokens += used.tokens_in + used.tokens_out
                sums.saved_micros += used.cost_micros
    for name, asked in _direct(rows, by):
        found.setdefault(name, Sums()).add(asked)
    ordered = sorted(found.items(), key=lambda pair: (-pair[1].cost_micros, -pair[1].tokens_in, pair[0]))
    return [sums.row(name) for name, sums in ordered]


def _direct(rows: Repositories, by: By) -> Iterator[tuple[str, Direct]]:
    """What was asked outside jobs: it belongs to no job, so its kind stands there."""
    for used in rows.usage.direct():
        if by is By.MODEL:
            yield used.model, used
        elif by is By.JOB:
            yield f"({used.kind})", used
        elif by is By.DAY:
            yield (_EPOCH + timedelta(days=used.day)).date().isoformat(), used
        else:
            document = rows.documents.get(used.document_id) if used.document_id else None
            if document is None:
                yield SEVERAL if used.kind in QUESTIONS else NONE, used
            else:
                yield document.title if by is By.DOCUMENT else document.collection, used


def _named(rows: Repositories, job: Job, steps: dict[int, Step], by: By) -> Iterator[tuple[str, Used, bool]]:
    """(name, what was used, spent or saved) of the steps of a job that ask a model."""
    if by in (By.DOCUMENT, By.COLLECTION):
        yield from _by_document(rows, job, steps, by)
        return
    for spent, found in ((True, rows.usage.spent(job.id)), (False, rows.usage.saved(job.id))):
        for used in found:
            model = _model(job, steps[used.step_id])
            if model is None:
                continue
            if by is By.DAY:
                day = (_EPOCH + timedelta(days=used.day)) if used.day is not None else job.created_at
                yield day.date().isoformat(), used, spent
            else:
                yield model if by is By.MODEL else str(job.id), used, spent


def _by_document(rows: Repositories, job: Job, steps: dict[int, Step], by: By) -> Iterator[tuple[str, Used, bool]]:
    for document, low, high in _ranges(rows, job):
        name = document.title if by is By.DOCUMENT else document.collection
        for spent, found in (
            (True, rows.usage.spent(job.id, low=low, high=high)),
            (False, rows.usage.saved(job.id, low=low, high=high)),
        ):
            for used in found:
                step = steps[used.step_id]
                # The ordinals of a reduce are not those of chunks.
                if step.level == 0 and _model(job, step) is not None:
                    yield name, used, spent
    documents = [document for document, _, _ in _ranges(rows, job)]
    names = {document.title if by is By.DOCUMENT else document.collection for document in documents}
    name = names.pop() if len(names) == 1 else SEVERAL
    for spent, found in ((True, rows.usage.spent(job.id)), (False, rows.usage.saved(job.id))):
        for used in found:
            step = steps[used.step_id]
            if step.level > 0 and _model(job, step) is not None:
                yield name, used, spent


def _ranges(rows: Repositories, job: Job) -> list[tuple[Document, int, int]]:
    """Each document of a job with the ordinals of its chunks."""
    found: list[tuple[Document, int, int]] = []
    low = 0
    for document_id, revision_id in rows.jobs.documents(job.id):
        document = rows.documents.get(document_id)
        chunking = job.resolved["chunkings"][str(document_id)]
        counts = [count for chunking_id, count, *_ in rows.documents.chunkings(revision_id) if chunking_id == chunking]
        high = low + sum(counts)
        if document is not None:
            found.append((document, low, high))
        low = high
    return found


def _model(job: Job, step: Step) -> str | None:
    found: str | None = job.resolved["steps"][step.position]["model"]
    return found
