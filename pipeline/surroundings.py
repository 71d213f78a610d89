"""What a step shows beside a chunk: its headings, the text before and behind it, a summary, the entities in it.

Each part enters the chunk's key by its hash, and only when it is there: a chunk that is shown nothing keeps the key
that it has in a step that shows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline import canonical
from pipeline.ops.values import Json

LEAVES = 2  # a chosen entity stays until it ranks below so many times the size of the set


@dataclass(frozen=True, kw_only=True, slots=True)
class Anchor:
    """An entity as windows are shown it: nothing that changes from mention to mention."""

    name: str
    kind: str
    aliases: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """`{"name", "kind", "aliases"}`."""
        return {"name": self.name, "kind": self.kind, "aliases": list(self.aliases)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What one chunk is shown with; empty parts are not there."""

    heading: str = ""
    overlap: str = ""  # what the grain shows before it, of the chunks before
    before: str = ""  # the end of the chunk before
    after: str = ""  # the beginning of the next
    summary: str = ""  # of the section that the chunk belongs to
    entities: tuple[Anchor, ...] = ()

    def parts(self) -> dict[str, Json]:
        """The parts that are there, as JSON: what an op gets as its parameter `context`."""
        told: dict[str, Json] = {
            name: value
            for name, value in (
                ("heading", self.heading),
                ("overlap", self.overlap),
                ("before", self.before),
                ("after", self.after),
                ("summary", self.summary),
            )
            if value
        }
        if self.entities:
            told["entities"] = [entity.as_json() for entity in self.entities]
        return told

    def digest(self) -> bytes | None:
        """The `extra` of the chunk's key: the hashes of the parts; None when there are none."""
        told = self.parts()
        return canonical.digest({name: canonical.digest(part).hex() for name, part in told.items()}) if told else None

    def render(self) -> str:
        """The same as text, for a language model's prompt."""
        lines = []
        if self.heading:
            lines.append(f"Heading: {self.heading}")
        if self.summary:
            lines.append(f"Summary of the section: {self.summary}")
        if self.entities:
            lines.append(f"Names in it: {'; '.join(_named(entity) for entity in self.entities)}")
        if self.overlap:
            lines.append(f"Text right before it: …{self.overlap}")
        if self.before:
            lines.append(f"Text before it: …{self.before}")
        if self.after:
            lines.append(f"Text after it: {self.after}…")
        return "\n".join(lines)


def _named(entity: Anchor) -> str:
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    return f"{entity.name} ({entity.kind}{also})"


def choose(ranked: Sequence[Anchor], before: Sequence[Anchor], most: int) -> list[Anchor]:
    """The entities that are shown: the first `most` of `ranked` (by spread, then count), with hysteresis.

    One that was chosen stays while it is among the first 2 × `most`, so that the set does not change with every
    mention; its kind and aliases are those of now. The order is that of the names.
    """
    rank = {entity.name: at for at, entity in enumerate(ranked)}
    kept = [entity.name for entity in before if rank.get(entity.name, LEAVES * most) < LEAVES * most]
    kept = sorted(kept, key=lambda name: rank[name])[:most]
    fresh = [entity.name for entity in ranked if entity.name not in set(kept)]
    chosen = {*kept, *fresh[: most - len(kept)]}
    return sorted((entity for entity in ranked if entity.name in chosen), key=lambda entity: (entity.name, entity.kind))


def anchors(body: Mapping[str, Json]) -> list[Anchor]:
    """The entities of a stored set."""
    return [Anchor(name=item["name"], kind=item["kind"], aliases=tuple(item["aliases"])) for item in body["entities"]]
