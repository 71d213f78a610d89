"""What more evidence costs: for each budget the tokens of evidence and of the request; live, time and answer too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from db.database import Database
from pipeline.evidence.bundle import pack, render
from pipeline.ops.values import Json
from workers.evidence.answers import answer
from workers.evidence.chat import Chat, Counted
from workers.evidence.context import Wanted, bundle, ranked


def measure(
    database: Database,
    wanted: Wanted,
    budgets: Sequence[int],
    counted: Counted,
    *,
    chat: Chat | None,
    live: bool,
) -> Iterator[dict[str, Json]]:
    """One row a budget: `{budget, sources, evidence_tokens, request_tokens}`, and live `{seconds, answer, tokens_in,
    tokens_out, sufficient, cited, unknown, trace}`. A dry run asks nothing and stores no trace."""
    found = ranked(database, wanted)
    for budget in budgets:
        if not live:
            sources = pack(found.sources, budget=budget, count=counted.evidence, most=wanted.most)
            evidence = render(sources)
            yield _row(budget, len(sources), counted, evidence)
            continue
        more: dict[str, Json] = {"measure": list(budgets)}
        made = bundle(
            database, wanted, found, budget=budget, count=counted.evidence, counter=counted.name, more=more,
            kind="measure",
        )  # fmt: skip
        said = answer(made, chat)
        row = _row(budget, len(made.sources), counted, made.evidence)
        row |= {
            "trace": str(made.trace),
            "answer": said.text,
            "sufficient": said.sufficient,
            "cited": [citation["marker"] for citation in said.citations],
            "unknown": list(said.unknown),
            "seconds": round(said.reply.seconds, 3) if said.reply else None,
            "tokens_in": said.reply.tokens_in if said.reply else None,
            "tokens_out": said.reply.tokens_out if said.reply else None,
        }
        yield row


def _row(budget: int, sources: int, counted: Counted, evidence: str) -> dict[str, Json]:
    return {
        "budget": budget,
        "sources": sources,
        "evidence_tokens": counted.evidence(evidence) if evidence else 0,
        "request_tokens": counted.request(evidence),
    }
