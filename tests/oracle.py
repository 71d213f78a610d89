"""An extractor that knows: it gives the facts, aliases and changes that a novel's truth file holds for a text.

With seeded noise, as real extractors have it: some facts are missed, some are told under an alias of their subject.
The noise of a fact depends on the seed and on the fact alone, so a chunk that is read twice gives the same.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import orjson

from pipeline.ops.values import Json, OpOutput, Span

MISSED, UNDER_ALIAS = 0.05, 0.05


@dataclass
class Oracle:
    """A truth file and a seed. Its sets say what the noise did, for whoever counts."""

    truth: Mapping[str, Json]
    seed: int = 1

    @classmethod
    def load(cls, path: Path, seed: int = 1) -> Oracle:
        """Of a truth file."""
        return cls(orjson.loads(path.read_bytes()), seed)

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of characters by id; all else is its own name."""
        return {character["id"]: character["name"] for character in self.truth["characters"]}

    @cached_property
    def aliases(self) -> dict[str, list[str]]:
        """Aliases by a character's id."""
        return {c["id"]: [alias["alias"] for alias in c["aliases"]] for c in self.truth["characters"]}

    @cached_property
    def changes(self) -> set[str]:
        """Facts whose sentence says that something became so: changes, ranks reached, things handed on, deaths."""
        stated = {fact for change in self.truth["changes"] for fact in change["facts"][1:2]}
        stated |= {step["fact"] for rank in self.truth["ranks"] for step in rank["timeline"]}
        stated |= {link["fact"] for item in self.truth["items"] for link in item["chain"]}
        return stated | {death["fact"] for death in self.truth["deaths"]}

    @cached_property
    def dropped(self) -> set[str]:
        """The facts that the extractor misses."""
        return {fact["id"] for fact in self.truth["facts"] if self._chance("missed", fact["id"]) < MISSED}

    @cached_property
    def lost_under_alias(self) -> set[str]:
        """Facts that are told under an alias whose every statement was missed: nobody can know whose they are."""
        stated = {f["value"] for f in self.truth["facts"] if f["attribute"] == "alias" and f["id"] not in self.dropped}
        return {
            fact["id"]
            for fact in self.truth["facts"]
            if (alias := self._told_as(fact)) is not None and alias not in stated
        }

    def _told_as(self, fact: Json) -> str | None:
        others = self.aliases.get(fact["subject"], [])
        return others[0] if others and self._chance("alias", fact["id"]) < UNDER_ALIAS else None

    def _chance(self, kind: str, fact: str) -> float:
        return random.Random(f"{self.seed}|{kind}|{fact}").random()

    def read(self, text: str) -> OpOutput:
        """What it finds in a text."""
        found = []
        for fact in self.truth["facts"]:
            start = text.find(fact["quote"])
            if start >= 0 and fact["id"] not in self.dropped:
                found.append((fact, start))
        facts = [(self._fact(fact), fact, at) for fact, at in found if fact["attribute"] not in ("alias", "identity")]
        aliases = [(self._alias(fact), fact, at) for fact, at in found if fact["attribute"] == "alias"]
        spans = [
            Span(item=number, start=at, end=at + len(fact["quote"]))
            for number, (_, fact, at) in enumerate([*facts, *aliases])
        ]
        value = {"items": [], "facts": [item for item, _, _ in facts], "aliases": [item for item, _, _ in aliases]}
        return OpOutput(value=value, spans=tuple(spans))

    def _fact(self, fact: Json) -> Json:
        subject = self._told_as(fact) or self.names.get(fact["subject"], fact["subject"])
        value = fact["value"]
        past = fact["attribute"] == "flashback"
        return {
            "subject": subject,
            "attribute": "alive" if past else fact["attribute"],
            "value": self.names.get(value, value) if isinstance(value, str) else str(value).lower(),
            "quote": fact["quote"],
            "change": fact["id"] in self.changes,
            "past": past,
        }

    def _alias(self, fact: Json) -> Json:
        return {"name": self.names[fact["subject"]], "alias": fact["value"], "quote": fact["quote"]}
