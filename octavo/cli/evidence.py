"""`octavo search`, `context`, `ask` and `measure`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from octavo.cli import complete, console, options
from pipeline.errors import UsageError
from pipeline.evidence import plot
from pipeline.ops.values import Json
from pipeline.spec import GrainSpec
from workers.evidence import answers, measure
from workers.evidence.chat import Chat, Counted, counting
from workers.evidence.context import ORDERS, Bundle, Placer, Wanted, replay
from workers.evidence.gather import chat_for, gather
from workers.evidence.index import refresh
from workers.evidence.search import Found, Searcher, scope_of
from workers.outputs.manifest import find_document
from workers.runtime import Runtime

SHOWN = 160  # characters of a hit

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="A question, or some words.")]
Documents = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        "-d",
        help="Look in this document (path, title, URI or id); may be repeated.",
        autocompletion=complete.documents,
    ),
]
Section = Annotated[str | None, typer.Option("--section", help="Look in sections whose title has this in it.")]
BudgetOption = Annotated[
    int | None, typer.Option("--budget", min=1, help="Tokens of evidence at most (default: what the model leaves).")
]
MaxSources = Annotated[int, typer.Option("--max-sources", min=1, max=1000, help="How many sources at most.")]
Order = Annotated[str, typer.Option("--order", help="search: by relevance; manifest: in reading order.")]
Thinking = Annotated[
    bool | None, typer.Option("--thinking/--no-thinking", help="Let the model think first, or not (its own default).")
]


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words to look for.")],
    documents: Documents = None,
    section: Section = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Hits on a page.")] = 10,
    cursor: Annotated[str | None, typer.Option("--cursor", help="The next page, as the page before names it.")] = None,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Chunks that have the words, best first (BM25); single characters and names of two are found in Chinese too."""
    with options.runtime(state) as runtime:
        _indexed(runtime)
        with runtime.database.read() as rows:
            scope = scope_of(rows, _documents(runtime, documents), section)
            found = Searcher(rows, scope).search(query, limit=limit, cursor=cursor)
            sources = Placer(rows).ranked(found.terms, found.hits).sources
        hits: list[dict[str, Json]] = [
            {
                "score": source.score,
                "document": source.title,
                "section": source.section,
                "chunk": source.chunk,
                "start_line": source.start_line,
                "end_line": source.end_line,
                "text": source.text,
            }
            for source in sources
        ]
        if as_json:
            console.print_json({"terms": list(found.terms), "hits": hits, "cursor": found.cursor})
            return
        _show_hits(runtime, query, found, hits)


def _show_hits(runtime: Runtime, query: str, found: Found, hits: list[dict[str, Json]]) -> None:
    for hit in hits:
        place = f"{hit['document']} · {hit['section']} · lines {hit['start_line']}–{hit['end_line']}"
        console.out().print(console.safe(place), style="bold")
        text = " ".join(_around(str(hit["text"]), found.terms).split())
        console.out().print(f"    {console.safe(text)}")
    if not hits:
        console.note(f"no chunk has {query!r}")
    elif found.cursor:
        console.note(f"more: {options.command(runtime, 'search', query, '--cursor', found.cursor)}")


def _around(text: str, terms: tuple[str, ...]) -> str:
    """The part of a text around the first of the terms."""
    folded = text.casefold()
    places = [at for at in (folded.find(term) for term in terms) if at >= 0]
    start = max(0, min(places, default=0) - SHOWN // 4)
    end = start + SHOWN
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def context(
    question: Annotated[str, typer.Argument(metavar="[QUESTION]", help="A question, or some words.")] = "",
    documents: Documents = None,
    section: Section = None,
    budget: BudgetOption = None,
    model: options.Model = None,
    max_sources: MaxSources = 3,
    order: Order = "search",
    replay_trace: Annotated[
        str | None, typer.Option("--replay", help="Rebuild what the model saw, from a trace's id, or 'last'.")
    ] = None,
    as_json: options.AsJson = False,
    tokenizer: options.Tokenizer = None,
    state: options.State = None,
) -> None:
    """Evidence for a question: whole chunks as sources S1, S2 …, exactly within a budget of tokens."""
    with options.runtime(state, model=model, tokenizer=tokenizer) as runtime:
        if replay_trace is not None:
            made = replay(runtime.database, replay_trace)
        else:
            made, _, _ = _bundle(runtime, _wanted(runtime, question, documents, section, max_sources, order), budget)
        _show_bundle(made, as_json=as_json)


def _show_bundle(made: Bundle, *, as_json: bool) -> None:
    if as_json:
        console.print_json(made.as_json())
        return
    if made.sources:
        console.out().print(console.safe_lines(made.evidence))
    else:
        console.note("no evidence: nothing that was ingested has these words, or the budget has no room for any")
    console.note(f"{len(made.sources)} sources, {made.tokens} tokens; trace {made.trace}")


def ask(
    question: Question,
    documents: Documents = None,
    section: Section = None,
    budget: BudgetOption = None,
    model: options.Model = None,
    max_sources: MaxSources = 3,
    order: Order = "search",
    thinking: Thinking = None,
    as_json: options.AsJson = False,
    tokenizer: options.Tokenizer = None,
    state: options.State = None,
) -> None:
    """Answer a question from the books, every statement with its source and lines."""
    with options.runtime(state, model=model, tokenizer=tokenizer) as runtime:
        wanted = _wanted(runtime, question, documents, section, max_sources, order)
        made, chat, _ = _bundle(runtime, wanted, budget, kind="ask", thinking=thinking)
        said = answers.answer(made, chat)
        if as_json:
            console.print_json(said.as_json() | {"trace": str(made.trace), "sources": made.as_json()["sources"]})
            return
    if not said.sufficient:
        console.out().print("The evidence does not suffice for an answer.")
        if said.reply is not None:
            console.out().print(console.safe_lines(said.text))
    else:
        console.out().print(console.safe_lines(said.text))
    for citation in said.citations:
        lines = f"lines {citation['start_line']}–{citation['end_line']}"
        place = f"[{citation['marker']}] {citation['title']} · {citation['section']} · {lines}"
        console.out().print(console.safe(place), style="dim")
    for marker in said.unknown:
        console.note(f"[{marker}] is cited, but no such source was shown: do not rely on what it stands behind")
    console.note(f"answered by {said.model}; trace {made.trace}")


def measure_command(
    question: Question,
    evidence_tokens: Annotated[
        str, typer.Option("--evidence-tokens", help="Budgets to measure, in tokens, separated by spaces or commas.")
    ] = "160 320 640",
    documents: Documents = None,
    section: Section = None,
    model: options.Model = None,
    max_sources: MaxSources = 100,
    order: Order = "search",
    thinking: Thinking = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count tokens only; ask nothing.")] = False,
    to_plot: Annotated[Path | None, typer.Option("--plot", help="Write a plot (SVG) to this file.")] = None,
    as_json: options.AsJson = False,
    tokenizer: options.Tokenizer = None,
    state: options.State = None,
) -> None:
    """What more evidence costs: tokens of the request for each budget and, live, time and answer."""
    budgets = _budgets(evidence_tokens)
    with options.runtime(state, model=model, tokenizer=tokenizer) as runtime:
        _indexed(runtime)
        wanted = _wanted(runtime, question, documents, section, max_sources, order)
        chat = chat_for(runtime, runtime.settings.model, thinking, "measure", console.note)
        counted, _ = counting(question, chat, runtime.cutting(GrainSpec()).counter)
        rows = list(measure.measure(runtime.database, wanted, budgets, counted, chat=chat, live=not dry_run))
    if to_plot is not None:
        console.write_file(to_plot, [plot.svg(question, rows).encode().rstrip() + b"\n"])
    if as_json:
        console.print_json({"question": question, "counter": counted.name, "rows": rows})
        return
    columns = ("budget", "sources", "evidence_tokens", "request_tokens", "tokens_out", "seconds", "answer")
    console.table(columns, [[row.get(name) for name in columns] for row in rows])
    console.note(f"tokens counted with {counted.name}, the chat template included")


def _budgets(text: str) -> list[int]:
    parts = text.replace(",", " ").split()
    if not parts or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise UsageError(f"--evidence-tokens takes whole numbers above 0, not {text!r}", hint='such as "160 320 640"')
    return [int(part) for part in parts]


def _indexed(runtime: Runtime) -> None:
    """Bring the index up to date, and say so when it takes a while."""
    told: list[int] = []

    def watch(chunks: int) -> None:
        if not told and chunks > 10_000:
            console.note("indexing what is new; an interrupted index goes on where it was …")
        told.append(chunks)

    refresh(runtime.database, watch)


def _documents(runtime: Runtime, names: list[str] | None) -> tuple[UUID, ...]:
    with runtime.database.read() as rows:
        return tuple(find_document(rows, name).id for name in names or ())


def _wanted(
    runtime: Runtime, question: str, documents: list[str] | None, section: str | None, most: int, order: str
) -> Wanted:
    if not question.strip():
        raise UsageError("A question is needed", hint='octavo context "Who keeps the lamp?"')
    if order not in ORDERS:
        raise UsageError(f"--order takes {' or '.join(ORDERS)}, not {order!r}")
    return Wanted(question=question, documents=_documents(runtime, documents), section=section, most=most, order=order)


def _bundle(
    runtime: Runtime, wanted: Wanted, budget: int | None, kind: str = "context", thinking: bool | None = None
) -> tuple[Bundle, Chat | None, Counted]:
    _indexed(runtime)
    return gather(runtime, wanted, budget=budget, kind=kind, thinking=thinking, tell=console.note)
