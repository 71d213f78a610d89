"""Search, evidence and answers for people who wait: a process of its own fills the index where that takes long."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any
from uuid import UUID

from db.database import Repositories
from db.sections import StoredSections
from pipeline.errors import NotFoundError, UsageError
from pipeline.ops.values import Json
from workers.evidence import answers
from workers.evidence.context import ORDERS, Bundle, Placer, Wanted
from workers.evidence.gather import gather
from workers.evidence.index import refresh
from workers.evidence.search import Searcher, scope_of
from workers.runtime import Runtime

AT_ONCE = 3_000  # chunks that are indexed while somebody waits: well under a second
LOOKED_AT = 20  # documents; more that are not indexed are many


def indexed(runtime: Runtime) -> bool:
    """Is the index up to date, or could it be brought so at once? Else a process of its own has to."""
    with runtime.database.read() as rows:
        stale = rows.search.stale(LOOKED_AT)
        chunks = sum(count for count, _ in rows.lists.chunk_counts([at for _, at in stale]).values()) if stale else 0
    if len(stale) < LOOKED_AT and chunks <= AT_ONCE:
        if stale:
            refresh(runtime.database)
        return True
    return False


def hits(
    rows: Repositories,
    query: str,
    *,
    documents: Sequence[UUID],
    section: str | None,
    limit: int,
    cursor: str | None,
    sections: MutableMapping[int, StoredSections] | None = None,
) -> dict[str, Json]:
    """Chunks that have the words, best first: `{terms, hits, cursor}`. Raises UsageError, NotFoundError."""
    known(rows, documents)
    found = Searcher(rows, scope_of(rows, documents, section)).search(query, limit=limit, cursor=cursor)
    sources = Placer(rows, sections).ranked(found.terms, found.hits).sources
    return {
        "terms": list(found.terms),
        "hits": [
            {
                "score": source.score,
                "document": source.document,
                "title": source.title,
                "section": source.section,
                "chunk": source.chunk,
                "start_line": source.start_line,
                "end_line": source.end_line,
                "text": source.text,
            }
            for source in sources
        ],
        "cursor": found.cursor,
    }


def known(rows: Repositories, documents: Sequence[UUID]) -> None:
    """See that documents are there. Raises NotFoundError."""
    for document in documents:
        if rows.documents.get(document) is None:
            raise NotFoundError(f"There is no document {document}")


def wanted_of(asked: dict[str, Any]) -> Wanted:
    """What is asked, from a body or an operation's request. Raises UsageError."""
    question = str(asked["question"])
    order = str(asked.get("order") or ORDERS[0])
    if not question.strip():
        raise UsageError("A question is needed")
    if order not in ORDERS:
        raise UsageError(f"The order is {' or '.join(ORDERS)}, not {order!r}")
    return Wanted(
        question=question,
        documents=tuple(UUID(str(document)) for document in asked.get("documents") or ()),
        section=asked.get("section"),
        most=int(asked.get("max_sources") or 3),
        order=order,
    )


def context(runtime: Runtime, asked: dict[str, Any], *, index: bool) -> Bundle:
    """Evidence for a question within a budget of tokens; its trace is stored."""
    wanted = wanted_of(asked)
    with runtime.database.read() as rows:
        known(rows, wanted.documents)
    made, _, _ = gather(runtime, wanted, budget=asked.get("budget"), model=asked.get("model"), index=index)
    return made


def ask(runtime: Runtime, asked: dict[str, Any]) -> dict[str, Json]:
    """An answer with its citations and the id of its trace: `octavo ask`. The sources are in the trace."""
    made, chat, _ = gather(
        runtime,
        wanted_of(asked),
        budget=asked.get("budget"),
        kind="ask",
        model=asked.get("model"),
        thinking=asked.get("thinking"),
    )
    return answers.answer(made, chat).as_json() | {"question": made.question, "trace": str(made.trace)}
