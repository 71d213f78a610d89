"""A library of many documents and a job of many chunks, made by Octavo itself: nothing is written past it.

In it: one book of many chapters with a glossary and a telling (a map with holes and a fold), many small documents that
one view keeps summaries of, a job of its own for one small document of thirty, and questions that left traces.
"""

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
from pipeline.spec import GrainSpec, PipelineSpec, builtin, parse
from workers.embedded import EmbeddedRunner
from workers.evidence.index import refresh
from workers.faces.evidence import context
from workers.fresh.sources import selector
from workers.fresh.sweep import sweep
from workers.ingest.find import find
from workers.ingest.ingest import Ingested, ingest
from workers.planning.jobs import begin_job
from workers.runtime import Runtime

BAD_EVERY = 500  # one chunk of so many fails
JOB_EVERY = 30  # one small document of so many has a job of its own
QUESTIONS = 60
VIEW = "tales"

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
NAMES = """
name = "names"
[grain]
limit = 200
[[step]]
name = "extract"
kind = "map"
op = "extract"
[[step]]
name = "merge"
kind = "merge"
op = "glossary"
"""
SYLLABLES = ("mar", "bel", "os", "ven", "tor", "ith", "gal", "un", "per", "dra")


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
    job: Job  # the telling of the book
    names: Job  # its glossary
    book: UUID
    chunks: int
    documents: int
    view: str = VIEW


def registry() -> Registry:
    """The built-in ops and those of this benchmark."""
    return Registry([*BUILTIN, getattr(tell, MARK)])


def name_of(number: int) -> str:
    """One of some thousand names, by a number."""
    first, middle, last = (SYLLABLES[number // power % len(SYLLABLES)] for power in (1, 10, 100))
    return f"{first.title()}{middle}{last}"


def text_of(chapters: int) -> str:
    """A book of chapters, all different, each one chunk, in which many names come up again and again."""
    parts = []
    for number in range(chapters):
        word = f"{number * 2654435761 % 2**32:08x}"
        name, other = (name_of(number * step % 1_000) for step in (7, 131))
        parts.append(
            f"Chapter {number}\n\nIn the harbour of {word} a boat of {number} planks lay still. "
            f"It was {name} who saw old {other} there. {word[::-1]}\n\n"
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
        (line,), (names,) = (rows.lists.jobs(limit=1, pipelines=[name]) for name in ("telling", "names"))
        job, glossary = rows.jobs.get(line.id), rows.jobs.get(names.id)
        count = rows.lists.count_documents()
    assert job is not None
    assert glossary is not None
    assert line.first_document is not None
    assert count == documents + 1
    return Library(runtime, job, glossary, line.first_document, chunks, count)


def build(folder: Path, *, chunks: int, documents: int, url: str | None = None) -> Library:
    """Ingest a book of `chunks` chapters and `documents` small ones; run jobs over them, keep a view, ask questions."""
    folder.mkdir(parents=True, exist_ok=True)
    runtime = _runtime(folder, url)
    _small_documents(runtime, folder / "small", documents)
    book = folder / "book.txt"
    book.write_text(text_of(chunks), encoding="utf-8")
    spec = parse(SPEC, "benchmark")
    cutting = runtime.cutting(GrainSpec(limit=spec.grain.limit))
    (item,) = [ingest(runtime.database, found, cutting) for found in find([str(book)], runtime.spool, None)]
    names = work(runtime, parse(NAMES, "benchmark"), item)
    job = work(runtime, spec, item)
    refresh(runtime.database)
    for number in range(min(QUESTIONS, documents // 6)):
        context(runtime, {"question": f"Who saw old {name_of(number)}?", "budget": 200}, index=True)
    return Library(runtime, job, names, item.document.id, chunks, documents + 1)


def _small_documents(runtime: Runtime, folder: Path, documents: int) -> None:
    """Many small documents, a view over all of them, and jobs over some."""
    folder.mkdir()
    for number in range(documents):
        text = f"Chapter 1\n\nTale {number} of the sea and its 青石 harbour.\n"
        (folder / f"tale {number:05}.txt").write_text(text, encoding="utf-8")
    spec = builtin("summary")
    cutting = runtime.cutting(spec.grain)
    items = [ingest(runtime.database, found, cutting) for found in find([str(folder)], runtime.spool, None)]
    with runtime.database.write() as rows:
        rows.views.add(name=VIEW, pipeline=spec.name, selectors=[selector(rows, str(folder))], options={})
    with runtime.database.read() as rows:
        view = rows.views.get(VIEW)
    assert view is not None
    swept = sweep(runtime, view)
    assert swept.job is not None
    EmbeddedRunner(runtime, swept.job.id).work()
    for item in items[::JOB_EVERY]:
        work(runtime, builtin("outline"), item)


def begin(runtime: Runtime, spec: PipelineSpec, item: Ingested) -> Job:
    """Begin a job over a document."""
    return begin_job(
        runtime.database, spec, [item], ops=runtime.ops, models=runtime, model="extractive", tokenizer="characters"
    )[0]


def work(runtime: Runtime, spec: PipelineSpec, item: Ingested) -> Job:
    """A job over a document, worked on to its end."""
    return EmbeddedRunner(runtime, begin(runtime, spec, item).id).work()
