"""What a chunk says of each candidate, before anything is judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.ops.values import Json, OpOutput, Span

SPANS_PER_ITEM = 5
NEIGHBOURS = 8  # distinct neighbouring characters kept on the right


@dataclass(kw_only=True, slots=True)
class Mentions:
    """One candidate of a chunk: its mentions, and small sums that a merge can add up."""

    name: str
    kind: str = "name"
    count: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    right: set[str] = field(default_factory=set)

    def note(self, feature: str, times: int = 1) -> None:
        """Add to one of the sums."""
        if times:
            self.seen[feature] = self.seen.get(feature, 0) + times

    def at(self, start: int, end: int) -> None:
        """One more mention; the first few places are kept."""
        self.count += 1
        if len(self.places) < SPANS_PER_ITEM:
            self.places.append((start, end))

    def join(self, later: Mentions) -> None:
        """Add the mentions of the same candidate in the text that follows."""
        self.count += later.count
        self.places = (self.places + later.places)[:SPANS_PER_ITEM]
        for feature, times in later.seen.items():
            self.seen[feature] = self.seen.get(feature, 0) + times
        self.right |= later.right

    def item(self) -> Json:
        """`{"name", "kind", "count", "seen": {feature: sum}, "near": characters}`; empty parts are left out."""
        item: dict[str, Json] = {"name": self.name, "kind": self.kind, "count": self.count}
        if self.seen:
            item["seen"] = {key: self.seen[key] for key in sorted(self.seen)}
        if self.right:
            item["near"] = sketch(self.right)
        return item


def sketch(chars: Iterable[str]) -> str:
    """The distinct characters, sorted, at most NEIGHBOURS: the least ones, so that joining needs no order."""
    return "".join(sorted(set(chars))[:NEIGHBOURS])


def as_output(found: Iterable[Mentions]) -> OpOutput:
    """`{"items": […]}` sorted by name and kind, with the spans of each item's first mentions."""
    ordered = sorted(found, key=lambda mentions: (mentions.name, mentions.kind))
    spans = [
        Span(item=index, start=start, end=end)
        for index, mentions in enumerate(ordered)
        for start, end in mentions.places
    ]
    return OpOutput(value={"items": [mentions.item() for mentions in ordered]}, spans=tuple(spans))
