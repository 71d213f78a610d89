"""A library of many documents and a job of many chunks, made by Octavo itself: nothing is written past it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from db.values import Job
from pipeline.models.extractive.summary import summarize
from pipeline.ops.builtin import BUILTIN
from pipeline.ops.decorators import MARK, map_op
from pipeline.ops.registry import Registry
from pipeline.retry import CallError, ErrorClass
from pipeline.settings import Settings
from pipeline.spec import GrainSpec, PipelineSpec, parse
from workers.embedded import EmbeddedRunner
from workers.ingest.find import find
from workers.ingest.ingest import Ingested, ingest
from workers.planning.jobs import begin_job
from workers.runtime import Runtime

BAD_EVERY = 500  # one chunk of so many fails

SPEC = """
name = "telling"
[grain]
limit = 200
[[step]]
name = "tell"
kind = "map"
op = "tell"
attempts = 1
[[step]]
name = "fold"
kind = "fold"
op = "fold_summary"
params = { sentences = 2, top_sentences = 5 }
"""


@map_op(name="tell", version="1")
def tell(text: str, salt: int = 0) -> object:
    """A chunk's weightiest sentence; now and then the chunk can not be read. Another salt, another key."""
    del salt
    number = int(text.split()[1])
    if number % BAD_EVERY == 7:
        raise CallError(ErrorClass.PERMANENT, "bad", f"chapter {number} can not be read")
    return summarize(text, sentences=1)


@dataclass(frozen=True, slots=True)
class Library:
    """What was made."""

    runtime: Runtime
    job: Job
    book: UUID
    chunks: int
    documents: int


def registry() -> Registry:
    """The built-in ops and those of this benchmark."""
    return Registry([*BUILTIN, getattr(tell, MARK)])


def text_of(chapters: int) -> str:
    """A book of chapters, all different, each one chunk."""
    parts = []
    for number in range(chapters):
        word = f"{number * 2654435761 % 2**32:08x}"
        parts.append(
            f"Chapter {number}\n\nIn the harbour of {word} a boat of {number} planks lay still. {word[::-1]}\n\n"
        )
    return "".join(parts)


def _runtime(folder: Path, url: str | None) -> Runtime:
    settings = Settings(
        state=folder / "state", tokenizer="characters", op_slots=8, **({"database_url": url} if url else {})
    )
    runtime = Runtime(settings)
    runtime.ops = registry()
    return runtime


def open_library(folder: Path, *, chunks: int, documents: int, url: str | None = None) -> Library:
    """A library that was built before, of as many chunks and documents."""
    runtime = _runtime(folder, url)
    with runtime.database.read() as rows:
        (line,) = rows.lists.jobs(limit=1)
        job = rows.jobs.get(line.id)
        count = rows.lists.count_documents()
    assert job is not None
    assert line.first_document is not None
    assert count == documents + 1
    return Library(runtime, job, line.first_document, chunks, count)


def build(folder: Path, *, chunks: int, documents: int, url: str | None = None) -> Library:
    """Ingest a book of `chunks` chapters and `documents` small ones, and run a job over the book."""
    folder.mkdir(parents=True, exist_ok=True)
    runtime = _runtime(folder, url)
    book = folder / "book.txt"
    book.write_text(text_of(chunks), encoding="utf-8")
    small = folder / "small"
    small.mkdir()
    for number in range(documents):
        (small / f"tale {number:05}.txt").write_text(f"Chapter 1\n\nTale {number} of the sea and its 青石 harbour.\n")
    spec = parse(SPEC, "benchmark")
    cutting = runtime.cutting(GrainSpec(limit=spec.grain.limit))
    for found in find([str(small)], runtime.spool, None):
        ingest(runtime.database, found, cutting)
    (item,) = [ingest(runtime.database, found, cutting) for found in find([str(book)], runtime.spool, None)]
    return Library(runtime, work(runtime, spec, item), item.document.id, chunks, documents + 1)


def begin(runtime: Runtime, spec: PipelineSpec, item: Ingested) -> Job:
    """Begin a job over a document."""
    return begin_job(
        runtime.database, spec, [item], ops=runtime.ops, models=runtime, model="extractive", tokenizer="characters"
    )[0]


def work(runtime: Runtime, spec: PipelineSpec, item: Ingested) -> Job:
    """A job over a document, worked on to its end."""
    return EmbeddedRunner(runtime, begin(runtime, spec, item).id).work()
