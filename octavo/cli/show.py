"""What commands show of documents, jobs and outputs."""

from __future__ import annotations

from db.database import Database
from octavo.cli import console
from pipeline.ops.values import Json
from workers.ingest.ingest import Ingested
from workers.outputs.present import OUTPUT_VERSION
from workers.progress import JobProgress

SHOWN_ENTRIES = 30
SHOWN_CHAPTERS = 8


def ingested(database: Database, item: Ingested) -> dict[str, Json]:
    """A row about a document that is in."""
    with database.read() as rows:
        chunkings = {row[0]: row for row in rows.documents.chunkings(item.revision.id)}
        sections = rows.documents.sections(item.revision.id)
        policy = rows.chunks.policy(item.chunking_id)
    _, chunks, tokens, report = chunkings[item.chunking_id]
    return {
        "document": item.document.title,
        "id": str(item.document.id),
        "uri": item.document.uri,
        "what": item.outcome,
        "revision": item.revision.number,
        "encoding": item.revision.encoding,
        "sections": len(sections),
        "chunks": chunks,
        "tokens": tokens,
        "tokenizer": policy["tokenizer_name"],
        "warnings": item.revision.warnings,
        **(item.report or report),
    }


def run_summary(standing: JobProgress, seconds: float) -> dict[str, Json]:
    """The figures of a run, as docs/outputs.md lists them."""
    job = standing.job
    chunks = max((step.step.total or 0 for step in standing.steps if step.step.level == 0), default=0)
    return {
        "version": OUTPUT_VERSION,
        "job": str(job.id),
        "pipeline": job.pipeline,
        "state": job.state,
        "reason": job.reason,
        "documents": len(job.resolved["chunkings"]),
        "chunks": chunks,
        "tasks": standing.total("tasks"),
        "hits": standing.total("hits"),
        "calls": standing.count("calls"),
        "retries": standing.count("retries"),
        "holes": standing.total("holes"),
        "tokens_in": standing.count("tokens_in"),
        "tokens_out": standing.count("tokens_out"),
        "tokenizer": job.resolved["tokenizer"],
        "seconds": round(seconds, 3),
    }


def run_line(summary: dict[str, Json], retry: str) -> None:
    """The last lines of a run: what it did. `retry` is the command that runs its holes again."""
    share = 100 * summary["hits"] / summary["tasks"] if summary["tasks"] else 100
    reason = f" ({summary['reason']})" if summary["reason"] else ""
    console.note(
        f"{summary['state']}{reason}: {summary['chunks']} chunks, {summary['tasks']} tasks, "
        f"{summary['hits']} hits ({share:.0f} %), {summary['calls']} op calls, {summary['retries']} retries, "
        f"{summary['holes']} holes, {summary['seconds']:.1f} s"
    )
    console.note(f"job {summary['job']}; tokens counted with {summary['tokenizer']}")
    if summary["holes"]:
        console.note(f"holes: {retry} makes them ready again, {retry.replace(' retry ', ' waive ', 1)} accepts them")


def output(value: Json, rest: str) -> None:
    """A job's output for reading. `rest` is the command that gives what is not shown."""
    for part in value.get("documents", [value]):
        if "entries" in part:
            _entries(part["entries"], rest)
        elif "chapters" in part:
            _summary(part, rest)
        elif "sections" in part:
            _outline(part)
        else:
            console.print_json(part)


def place(citation: dict[str, Json]) -> str:
    """A citation in a few words: section and lines."""
    if citation["end_line"] == citation["start_line"]:
        lines = f"line {citation['start_line']}"
    else:
        lines = f"lines {citation['start_line']}–{citation['end_line']}"
    return f"{citation['section']}, {lines}" if citation["section"] else lines


def _lines(citations: list[dict[str, Json]]) -> str:
    """Lines only, where the section is named already."""
    shown = [place(citation | {"section": ""}).removeprefix("lines ").removeprefix("line ") for citation in citations]
    return f"[lines {', '.join(shown)}]"


def _places(citations: list[dict[str, Json]], most: int = 2) -> str:
    return "; ".join(place(citation) for citation in citations[:most])


def _entries(entries: list[Json], rest: str) -> None:
    rows = []
    for entry in entries[:SHOWN_ENTRIES]:
        name = entry.get("name", entry.get("key"))
        aliases = ", ".join(entry.get("aliases", []))
        rows.append([str(name), entry.get("kind", ""), str(entry["count"]), aliases, _places(entry["citations"], 1)])
    console.table(("name", "kind", "count", "also", "first seen"), rows)
    if len(entries) > SHOWN_ENTRIES:
        console.note(f"… and {len(entries) - SHOWN_ENTRIES} more: {rest}")


def _summary(part: dict[str, Json], rest: str) -> None:
    console.out().print(console.safe(f"Summary of {part['document']}"), style="bold")
    for sentence in part["sentences"]:
        console.out().print(f"  {console.safe(sentence['text'])}")
        console.out().print(f"      [{console.safe(_places(sentence['citations']))}]", style="dim")
    console.out().print(f"\nChapters ({len(part['chapters'])})", style="bold")
    for chapter in part["chapters"][:SHOWN_CHAPTERS]:
        title = chapter["title"] or "(before the first heading)"
        console.out().print(console.safe(f"  {title} (line {chapter['start_line']})"), style="bold")
        if chapter["text"]:
            console.out().print(f"    {console.safe(chapter['text'])}")
            console.out().print(f"      {_lines(chapter['citations'])}", style="dim")
    if len(part["chapters"]) > SHOWN_CHAPTERS:
        console.note(f"… and {len(part['chapters']) - SHOWN_CHAPTERS} more: {rest}")


def _outline(part: dict[str, Json]) -> None:
    console.out().print(console.safe(f"Outline of {part['document']}"), style="bold")
    for section in part["sections"]:
        indent = "  " * section["level"]
        console.out().print(console.safe(f"{indent}{section['title']} (line {section['start_line']})"), style="bold")
        console.out().print(f"{indent}  {console.safe(section['text'])}")
        if section["terms"]:
            console.out().print(console.safe(f"{indent}  {', '.join(section['terms'])}"), style="dim")
