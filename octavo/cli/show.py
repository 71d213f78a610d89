"""What commands show of documents, jobs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from db.database import Database
from db.values import Job, Step
from octavo.cli import console
from pipeline.ops.kinds import MOST_QUESTIONS
from pipeline.ops.values import Json
from pipeline.read.places import where
from workers.outputs.present import OUTPUT_VERSION
from workers.progress import JobProgress

if TYPE_CHECKING:  # they load what reads and splits, which most commands do not do
    from workers.ingest.ingest import Ingested
    from workers.planning.preview import StepPreview

SHOWN_ENTRIES = 30
SHOWN_CHAPTERS = 8
SHOWN_PLACES = 12


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
        "unasked": _unasked(standing),
        "tokens_in": standing.count("tokens_in"),
        "tokens_out": standing.count("tokens_out"),
        "model_calls": sum(step.counts.calls for step in standing.steps if _asks(job, step.step)),
        "cost": standing.count("cost_micros") / MILLION,
        "estimate": job.estimate,
        "tokenizer": job.resolved["tokenizer"],
        "seconds": round(seconds, 3),
    }


def _unasked(standing: JobProgress) -> dict[str, int]:
    """How many questions the cap of each merge left out: the last round of a merge tells."""
    last = {step.step.position: step.step for step in standing.steps}
    return {step.name: step.unasked for step in last.values() if step.unasked}


def _asks(job: Job, step: Step) -> bool:
    return job.resolved["steps"][step.position]["model"] is not None


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
    for step, left in summary["unasked"].items():
        console.note(
            f"{step}: {left:,} more questions were found and not asked; {MOST_QUESTIONS} in its params allows more"
        )
    if summary["holes"]:
        console.note(f"holes: {retry} makes them ready again, {retry.replace(' retry ', ' waive ', 1)} accepts them")


def output(value: Json, rest: str) -> None:
    """A job's output for reading. `rest` is the command that gives what is not shown."""
    for part in value.get("documents", [value]):
        if "entries" in part:
            _entries(part["entries"], rest)
        elif "conflicts" in part:
            _conflicts(part, rest)
        elif "chapters" in part:
            _summary(part, rest)
        elif "sections" in part:
            _outline(part)
        else:
            console.print_json(part)


def place(citation: dict[str, Json]) -> str:
    """A citation in a few words: section, and lines or the source's own places."""
    return f"{citation['section']}, {where(citation)}" if citation["section"] else where(citation)


def _lines(citations: list[dict[str, Json]]) -> str:
    """Places only, where the section is named already."""
    shown = [where(citation) for citation in citations]
    if any("source" in citation for citation in citations):
        return f"[{', '.join(shown)}]"
    return f"[lines {', '.join(one.removeprefix('lines ').removeprefix('line ') for one in shown)}]"


def _begin(section: dict[str, Json]) -> str:
    """Where a section begins."""
    return where({name: section[name] for name in ("start_line", "source") if name in section})


def _places(citations: list[dict[str, Json]], most: int = 2) -> str:
    return "; ".join(place(citation) for citation in citations[:most])


def _entries(entries: list[Json], rest: str) -> None:
    if not entries:
        console.note("no names or terms were found")
        return
    rows = []
    for entry in entries[:SHOWN_ENTRIES]:
        name = entry.get("name", entry.get("key"))
        aliases = ", ".join(entry.get("aliases", []))
        rows.append([str(name), entry.get("kind", ""), str(entry["count"]), aliases, _places(entry["citations"], 1)])
    console.table(("name", "kind", "count", "also", "first seen"), rows)
    if len(entries) > SHOWN_ENTRIES:
        console.note(f"… and {len(entries) - SHOWN_ENTRIES} more: {rest}")


def _conflicts(part: dict[str, Json], rest: str) -> None:
    for conflict in part["conflicts"][:SHOWN_ENTRIES]:
        console.out().print(console.safe(f"{conflict['subject']}: {conflict['attribute']}"), style="bold")
        for side in (conflict["first"], conflict["second"]):
            console.out().print(console.safe(f"  {side['value']}: {side['quote']}"))
            console.out().print(f"      [{console.safe(_places(side['citations']))}]", style="dim")
        if conflict.get("why"):
            console.out().print(f"      {console.safe(conflict['why'])}", style="dim")
    if dismissed := len(part.get("dismissed", ())):
        console.note(f"{dismissed} more that the rule found {'is' if dismissed == 1 else 'are'} none by the model")
    rows = [[a["alias"], a["name"], str(a["stated"]), _places(a["citations"], 1)] for a in part["aliases"]]
    if rows:
        console.table(("alias", "of", "stated", "first"), rows[:SHOWN_ENTRIES])
    more = max(0, len(part["conflicts"]) - SHOWN_ENTRIES) + max(0, len(rows) - SHOWN_ENTRIES)
    if more:
        console.note(f"… and {more} more: {rest}")
    if not part["conflicts"]:
        console.note("no contradictions were found")


def _summary(part: dict[str, Json], rest: str) -> None:
    console.out().print(console.safe(f"Summary of {part['document']}"), style="bold")
    for sentence in part["sentences"]:
        console.out().print(f"  {console.safe(sentence['text'])}")
        console.out().print(f"      [{console.safe(_places(sentence['citations']))}]", style="dim")
    if not part["sentences"]:
        console.note("no sentences for a summary were found")
    console.out().print(f"\nChapters ({len(part['chapters'])})", style="bold")
    for chapter in part["chapters"][:SHOWN_CHAPTERS]:
        title = chapter["title"] or "(before the first heading)"
        console.out().print(console.safe(f"  {title} ({_begin(chapter)})"), style="bold")
        if chapter["text"]:
            console.out().print(f"    {console.safe(chapter['text'])}")
            console.out().print(f"      {console.safe(_lines(chapter['citations']))}", style="dim")
    if len(part["chapters"]) > SHOWN_CHAPTERS:
        console.note(f"… and {len(part['chapters']) - SHOWN_CHAPTERS} more: {rest}")


def _outline(part: dict[str, Json]) -> None:
    console.out().print(console.safe(f"Outline of {part['document']}"), style="bold")
    if not part["sections"]:
        console.note("no sections were found")
    for section in part["sections"]:
        indent = "  " * section["level"]
        console.out().print(console.safe(f"{indent}{section['title']} ({_begin(section)})"), style="bold")
        console.out().print(f"{indent}  {console.safe(section['text'])}")
        if section["terms"]:
            console.out().print(console.safe(f"{indent}  {', '.join(section['terms'])}"), style="dim")


MILLION = 1_000_000
PLAN = ("step", "model", "tasks", "hits", "calls", "tokens in", "tokens out", "cost", "time")


def plan(steps: Sequence[StepPreview], currency: str) -> None:
    """A dry run as a table: one row a step, and all of it."""
    from workers.planning.preview import whole

    rows = [_plan_row(step.step, step.model or "", step.row()) for step in steps]
    total = whole(steps)
    console.table(PLAN, [*rows, _plan_row("all", "", total | {"tasks": "", "hits": ""})])
    if any(step.cost_micros_most for step in steps):
        console.note(f"cost in {currency}, without answers that have to be asked for again")
    for step in steps:
        _where(step)
    if any(step.calls_least != step.calls_most for step in steps):
        console.note("a step over outputs that are not there yet has bounds: least to most")


def _where(step: StepPreview) -> None:
    """Where the calls of a step are made, when they are few."""
    if not step.where or len(step.where) > SHOWN_PLACES:
        return
    if step.kind == "map":
        console.note(f"{step.step} is asked of {'; '.join(place(item) for item in step.where)}")
        return
    parts = [f"{item['section'] or item['document']} {span(item['least'], item['most'])}" for item in step.where]
    console.note(f"{step.step} makes nodes of {'; '.join(parts)}")


def _plan_row(name: str, model: str, row: Mapping[str, Json]) -> list[str]:
    seconds = row["seconds_least"]
    costs = span(row["cost_micros_least"] / MILLION, row["cost_micros_most"] / MILLION, "{:.4f}")
    return [
        name,
        model,
        str(row["tasks"]),
        str(row["hits"]),
        span(row["calls_least"], row["calls_most"]),
        span(row["tokens_in_least"], row["tokens_in_most"]),
        f"to {row['tokens_out_most']}" if row["tokens_out_most"] else "0",
        costs if row["cost_micros_most"] else "",
        "" if seconds is None else f"{seconds:.0f} s",
    ]


def span(least: float, most: float, form: str = "{}") -> str:
    """A number, or two with a dash between."""
    return form.format(least) if least == most else f"{form.format(least)}–{form.format(most)}"


def compared(estimate: Mapping[str, Json], summary: Mapping[str, Json], currency: str) -> None:
    """What a run used, against what was estimated before it."""
    tokens = span(estimate["tokens_in_least"], estimate["tokens_in_most"])
    told = f"{span(estimate['calls_least'], estimate['calls_most'])} calls, {tokens} tokens in"
    used = f"{summary['model_calls']} calls, {summary['tokens_in']} tokens in, {summary['tokens_out']} out"
    if estimate["cost_micros_most"] or summary["cost"]:
        costs = span(estimate["cost_micros_least"] / MILLION, estimate["cost_micros_most"] / MILLION, "{:.4f}")
        told, used = f"{told}, {costs} {currency}", f"{used}, {summary['cost']:.4f} {currency}"
    console.note(f"estimated {told}; used {used}")
