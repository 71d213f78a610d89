"""`octavo status`, `jobs`, `results`, `export`, `chunks` and `manifest`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from db.values import Document
from octavo.cli import console, options, show
from pipeline import canonical
from pipeline.errors import NotFoundError
from pipeline.read.places import where
from workers.fresh.standing import STATES as VIEW_STATES
from workers.fresh.standing import view_row
from workers.outputs.cite import Citation
from workers.outputs.export import canonical_lines, json_lines, markdown
from workers.outputs.job import find_job, find_output, view
from workers.outputs.manifest import chunk_rows, find_document, manifest
from workers.outputs.present import results
from workers.planning.context import load_context
from workers.progress import JobProgress, progress
from workers.runtime import Runtime


def _job_row(standing: JobProgress) -> dict[str, object]:
    job = standing.job
    return {
        "job": str(job.id),
        "pipeline": job.pipeline,
        "state": job.state,
        "because": standing.waits_because(),
        "done": standing.total("done"),
        "tasks": standing.total("tasks"),
        "hits": standing.total("hits"),
        "calls": standing.count("calls"),
        "retrying": standing.total("retrying"),
        "holes": standing.total("holes"),
        "created_at": job.created_at.isoformat(timespec="seconds"),
    }


def status(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB|VIEW]", help="A job or a view; without it, all that there is.")
    ] = None,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Where things stand: documents, views and the latest jobs; a view's documents; a job's steps."""
    with options.runtime(state) as runtime:
        if job is None:
            _overview(runtime, as_json=as_json)
            return
        with runtime.database.read() as rows:
            found = rows.views.get(job)
        if found is None:
            _job(runtime, job, as_json=as_json)
        else:
            _view(view_row(runtime, found), as_json=as_json)


def _overview(runtime: Runtime, *, as_json: bool) -> None:
    with runtime.database.read() as rows:
        documents = [
            {
                "id": str(document.id),
                "title": document.title,
                "uri": document.uri,
                "revision": document.current.number if document.current else None,
                "chunks": [count for _, count, _, _ in rows.documents.chunkings(document.current.id)]
                if document.current
                else [],
            }
            for document in rows.documents.all(50)
        ]
        jobs = [_job_row(progress(rows, item, runtime.settings)) for item in rows.jobs.latest(10)]
        views = rows.views.all()
    standing = [view_row(runtime, item) for item in views]
    if as_json:
        console.print_json({"documents": documents, "jobs": jobs, "views": standing})
        return
    if not documents:
        console.note("nothing here yet: octavo run BOOK begins")
        return
    columns = ("title", "revision", "chunks", "uri")
    console.table(columns, [[document[name] for name in columns] for document in documents])
    if standing:
        shown = ("view", "state", *VIEW_STATES, "holes", "why")
        console.table(shown, [[row[name] for name in shown] for row in standing])
    _job_table(jobs)


def _view(row: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        console.print_json(row)
        return
    served = f"serves refresh {row['refresh']}" if row["served"] else "serves nothing yet"
    swept = f", swept {row['swept_at']}" if row["swept_at"] else ", never swept"
    console.out().print(console.safe(f"view {row['view']}: {row['pipeline']}, {row['state']}, {served}{swept}"))
    if row["job"]:
        because = f" because {row['because']}" if row["because"] else ""
        console.out().print(console.safe(f"its refresh is {row['job_state']}{because}: job {row['job']}"))
    if row["trouble"]:
        console.note(f"warning: {row['trouble']}")
    documents = row["documents"]
    assert isinstance(documents, list)
    columns = ("document", "state", "why", "revision", "served", "chunks", "holes")
    console.table(columns, [[document[name] for name in columns] for document in documents])


def _job_table(rows: list[dict[str, object]]) -> None:
    columns = ("job", "pipeline", "state", "done", "tasks", "hits", "calls", "holes", "because")
    console.table(columns, [[row[name] for name in columns] for row in rows])


def _job(runtime: Runtime, text: str, *, as_json: bool) -> None:
    with runtime.database.read() as rows:
        standing = progress(rows, find_job(rows, text), runtime.settings)
    steps = [
        {
            "step": item.step.name,
            "level": item.step.level,
            "state": item.step.state,
            "tasks": item.tasks,
            "done": item.done,
            "hits": item.hits,
            "calls": item.counts.calls,
            "tokens_in": item.counts.tokens_in,
            "tokens_out": item.counts.tokens_out,
            "cost": item.counts.cost_micros / show.MILLION,
            "running": item.running,
            "retrying": item.retrying,
            "holes": item.holes,
        }
        for item in standing.steps
    ]
    if as_json:
        console.print_json(_job_row(standing) | {"steps": steps})
        return
    row = _job_row(standing)
    because = f" because {row['because']}" if row["because"] else ""
    console.out().print(console.safe(f"job {row['job']}: {row['pipeline']}, {row['state']}{because}"))
    columns = ("step", "level", "state", "tasks", "done", "hits", "calls", "running", "retrying", "holes")
    console.table(columns, [[step[name] for name in columns] for step in steps])


def jobs(
    as_json: options.AsJson = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, newest first.")] = 20,
    state: options.State = None,
) -> None:
    """The latest jobs."""
    with options.runtime(state) as runtime, runtime.database.read() as rows:
        found = [_job_row(progress(rows, item, runtime.settings)) for item in rows.jobs.latest(limit)]
    if as_json:
        console.print_json(found)
    elif found:
        _job_table(found)
    else:
        console.note("no jobs yet: octavo run BOOK begins one")


def results_command(
    job: options.OutputArg = "last",
    step: Annotated[str | None, typer.Option("--step", help="A map step; default the first.")] = None,
    after: Annotated[int, typer.Option("--after", help="Go on after this chunk's ordinal.")] = -1,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many chunks.")] = 50,
    as_json: options.AsJson = False,
    ops: options.Ops = None,
    state: options.State = None,
) -> None:
    """What a map step gave for each chunk, in reading order."""
    with options.runtime(state, ops=ops) as runtime, runtime.database.read() as rows:
        context = load_context(runtime.database, runtime.ops, find_output(rows, job).id, to_read=True)
        maps = [plan for plan in context.plans if plan.kind == "map" and step in (None, plan.name)]
        if not maps:
            names = ", ".join(plan.name for plan in context.plans if plan.kind == "map")
            raise NotFoundError(f"The job has no map step {step!r}", hint=f"it has {names}")
        found = list(results(view(rows, context), maps[0], limit=limit, after=after))
    if as_json:
        console.print_json(found)
        return
    for row in found:
        text = canonical.dumps(row["output"]).decode() if "output" in row else str(row.get("error", row["state"]))
        console.out().print(console.safe(f"{show.place(row)}: {text}"))


class Format(StrEnum):
    """What an export is written as."""

    JSONL = "jsonl"
    MARKDOWN = "markdown"


def export(
    job: options.OutputArg = "last",
    as_format: Annotated[Format, typer.Option("--format", "-f", help="jsonl or markdown.")] = Format.JSONL,
    as_canonical: Annotated[
        bool, typer.Option("--canonical", help="Without ids, names and dates: equal work gives equal bytes.")
    ] = False,
    citations: Annotated[int, typer.Option("--citations", min=0, help="Citations of each entry; 0 gives all.")] = 0,
    to: Annotated[Path | None, typer.Option("--to", help="File to write instead of stdout.")] = None,
    ops: options.Ops = None,
    state: options.State = None,
) -> None:
    """Everything a job gave: every chunk's output, then the merged result with its citations."""
    with options.runtime(state, ops=ops) as runtime, runtime.database.read() as rows:
        context = load_context(runtime.database, runtime.ops, find_output(rows, job).id, to_read=True)
        if as_canonical:
            pieces = canonical_lines(view(rows, context, Citation.canonical, 0))
        elif as_format is Format.JSONL:
            pieces = json_lines(view(rows, context, citations=citations))
        else:
            pieces = (line.encode() + b"\n" for line in markdown(view(rows, context, citations=citations)))
        if to is None:
            console.print_pieces(pieces)
        else:
            console.write_file(to, pieces)


def _chunking(runtime: Runtime, text: str, limit: int | None, overlap: int | None) -> tuple[Document, int]:
    """The document and its chunking: the one that limit and overlap name, else the latest."""
    with runtime.database.read() as rows:
        document = find_document(rows, text)
        found = rows.documents.chunkings(document.current.id) if document.current else []
        wanted = [
            chunking_id
            for chunking_id, *_ in found
            if limit in (None, rows.chunks.policy(chunking_id)["limit"])
            and overlap in (None, rows.chunks.policy(chunking_id)["overlap"])
        ]
    if not wanted:
        raise NotFoundError(
            f"Document {document.title!r} was not cut like that", hint="octavo ingest --limit N cuts it so"
        )
    return document, wanted[-1]


def manifest_command(
    book: options.DocumentArg,
    as_json: Annotated[bool, typer.Option("--json", help="The manifest is JSON in any case.")] = False,
    as_canonical: Annotated[
        bool, typer.Option("--canonical", help="Without ids and names: same text and grain, same bytes.")
    ] = False,
    limit: options.Limit = None,
    overlap: options.Overlap = None,
    state: options.State = None,
) -> None:
    """A document's sections and chunks with their lines and offsets, as JSON."""
    del as_json
    with options.runtime(state) as runtime:
        document, chunking_id = _chunking(runtime, book, limit, overlap)
        with runtime.database.read() as rows:
            console.print_json(manifest(rows, document, chunking_id, canonical=as_canonical))


def chunks(
    book: options.DocumentArg,
    preview: Annotated[
        bool, typer.Option("--preview", help="Read and cut the file now, by the limits given, and store nothing.")
    ] = False,
    limit: options.Limit = None,
    overlap: options.Overlap = None,
    tokenizer: options.Tokenizer = None,
    encoding: options.Encoding = None,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """A document's chunks: where each begins and ends, its tokens and its first words."""
    with options.runtime(state, tokenizer=tokenizer) as runtime:
        if preview:
            grain = options.pipeline_with("summary", limit, overlap).grain
            from workers.ingest.preview import preview_chunks  # what reads and splits is slow to load

            found = list(preview_chunks(book, runtime.cutting(grain), encoding))
        else:
            document, chunking_id = _chunking(runtime, book, limit, overlap)
            with runtime.database.read() as rows:
                current = document.current
                assert current is not None
                places = rows.documents.pages(current.id, chunking_id) or []
                sections = rows.documents.sections(current.id)
                sources = rows.documents.places(current.id)
                found = list(chunk_rows(rows, sections, places, sources=sources, text=True))
    if as_json:
        console.print_json(found)
    else:
        columns = ("ordinal", "place", "tokens", "begins")
        console.table(
            columns,
            [
                [
                    str(row["ordinal"]),
                    where(row).removeprefix("lines ").removeprefix("line "),
                    str(row["token_count"]),
                    " ".join(row["text"][:200].split())[:60],
                ]
                for row in found
            ],
        )
    for row in found:
        if row["over_limit"]:
            console.note(f"warning: chunk {row['ordinal']} is over the limit: it can not be cut without harm")
