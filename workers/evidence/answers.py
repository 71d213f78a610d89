"""Answers from bundles: by a model that is asked, or in the words of the sources themselves."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pipeline.evidence.asking import evidence_of, judged, quoted, request
from pipeline.ops.values import Json
from workers.evidence.chat import Chat, Reply
from workers.evidence.context import Bundle

MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """An answer, its citations with lines, and what it cost."""

    text: str
    sufficient: bool
    citations: tuple[dict[str, Json], ...]
    unknown: tuple[str, ...]
    model: str
    reply: Reply | None

    def as_json(self) -> dict[str, Json]:
        """For programs."""
        cost = None
        if self.reply:
            cost = {
                "tokens_in": self.reply.tokens_in,
                "tokens_out": self.reply.tokens_out,
                "cost": self.reply.cost_micros / MILLION,
                "seconds": round(self.reply.seconds, 3),
            }
        return {
            "answer": self.text,
            "sufficient": self.sufficient,
            "citations": list(self.citations),
            "unknown": list(self.unknown),
            "model": self.model,
            "used": cost,
        }


def answer(bundle: Bundle, chat: Chat | None) -> Answered:
    """Answer a bundle's question. A citation of a source that is not in the bundle is told, not hidden."""
    places = {source.marker: source for source in bundle.sources}
    reply: Reply | None = None
    lines: dict[str, tuple[int, int]] = {
        source.marker: (source.start_line, source.end_line) for source in bundle.sources
    }
    if chat is None:
        text, quotes = quoted(bundle.question, bundle.sources)
        for marker in {quote.marker for quote in quotes}:
            mine = [quote for quote in quotes if quote.marker == marker]
            lines[marker] = (min(q.start_line for q in mine), max(q.end_line for q in mine))
    else:
        documents = {source.document for source in bundle.sources}
        one = UUID(documents.pop()) if len(documents) == 1 else None
        reply = chat.complete(request(bundle.question, evidence_of(bundle.sources)), one)
        text = reply.text
    found = judged(text, bundle.sources)
    citations = tuple(
        {
            "marker": marker,
            "chunk": places[marker].chunk,
            "document": places[marker].document,
            "title": places[marker].title,
            "section": places[marker].section,
            "start_line": lines[marker][0],
            "end_line": lines[marker][1],
        }
        for marker in found.cited
    )
    return Answered(
        text=found.text,
        sufficient=found.sufficient,
        citations=citations,
        unknown=found.unknown,
        model=chat.name if chat else "extractive",
        reply=reply,
    )
