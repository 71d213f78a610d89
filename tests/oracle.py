"""An extractor that knows: it gives the facts, aliases and changes that a novel's truth file holds for a text.

With seeded noise, as real extractors have it: some facts are missed, some are told under an alias of their subject.
The noise of a fact depends on the seed and on the fact alone, so a chunk that is read twice gives the same. A fact is
told where it stands and nowhere else: a sentence that stands in two chapters is two facts, each missed by itself.
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
    """A truth file, its book and a seed. Its sets say what the noise did, for whoever counts."""

    truth: Mapping[str, Json]
    book: str
    seed: int = 1
    noise: bool = True

    @classmethod
    def load(cls, folder: Path, language: str, seed: int = 1, *, noise: bool = True) -> Oracle:
        """Of a novel and its truth file in a folder."""
        truth = orjson.loads((folder / f"webnovel_{language}.truth.json").read_bytes())
        return cls(truth, (folder / f"webnovel_{language}.txt").read_text(encoding="utf-8"), seed, noise)

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of characters by id; all else is its own name."""
        return {character["id"]: character["name"] for character in self.truth["characters"]}

    @cached_property
    def changes(self) -> set[str]:
        """Facts whose sentence says that something became so: changes, ranks reached, things handed on, deaths."""
        stated = {fact for change in self.truth["changes"] for fact in change["facts"][1:2]}
        stated |= {step["fact"] for rank in self.truth["ranks"] for step in rank["timeline"]}
        stated |= {link["fact"] for item in self.truth["items"] for link in item["chain"]}
        return stated | {death["fact"] for death in self.truth["deaths"]}

    @cached_property
    def missed(self) -> set[str]:
        """The facts that the extractor misses."""
        return {fact["id"] for fact in self.truth["facts"] if self._chance("missed", fact["id"]) < MISSED}

    @cached_property
    def under_alias(self) -> dict[str, str]:
        """The alias under which a fact is told, by fact."""
        aliases = {c["id"]: c["aliases"][0]["alias"] for c in self.truth["characters"] if c["aliases"]}
        facts = [fact for fact in self.truth["facts"] if fact["subject"] in aliases]
        return {f["id"]: aliases[f["subject"]] for f in facts if self._chance("alias", f["id"]) < UNDER_ALIAS}

    @cached_property
    def reaching(self) -> set[str]:
        """Facts that reach the reducer as their subject's: told, by name or by an alias that is stated somewhere."""
        told = [fact for fact in self.truth["facts"] if fact["id"] not in self.missed]
        stated = {fact["value"] for fact in told if fact["attribute"] == "alias"}
        return {fact["id"] for fact in told if self.under_alias.get(fact["id"]) in {None, *stated}}

    def _chance(self, kind: str, fact: str) -> float:
        return random.Random(f"{self.seed}|{kind}|{fact}").random() if self.noise else 1.0

    @cached_property
    def _by_place(self) -> list[Mapping[str, Json]]:
        return sorted((fact for fact in self.truth["facts"] if "offset" in fact), key=lambda fact: fact["offset"])

    def read(self, text: str) -> OpOutput:
        """What it finds in a text, which is a part of the book."""
        start = self.book.find(text)
        inside = [
            (fact, fact["offset"] - start)
            for fact in self._by_place
            if start >= 0 and start <= fact["offset"] < start + len(text) and fact["id"] not in self.missed
        ]
        facts = [(self._fact(fact), fact, at) for fact, at in inside if fact["attribute"] not in ("alias", "identity")]
        aliases = [(self._alias(fact), fact, at) for fact, at in inside if fact["attribute"] == "alias"]
        spans = [
            Span(item=number, start=at, end=min(len(text), at + len(fact["quote"])))
            for number, (_, fact, at) in enumerate([*facts, *aliases])
        ]
        value = {"items": [], "facts": [item for item, _, _ in facts], "aliases": [item for item, _, _ in aliases]}
        return OpOutput(value=value, spans=tuple(spans))

    def _fact(self, fact: Json) -> Json:
        value = fact["value"]
        past = fact["attribute"] == "flashback"
        return {
            "subject": self.under_alias.get(fact["id"]) or self.names.get(fact["subject"], fact["subject"]),
            "attribute": "alive" if past else fact["attribute"],
            "value": self.names.get(value, value) if isinstance(value, str) else str(value).lower(),
            "quote": fact["quote"],
            "change": fact["id"] in self.changes,
            "past": past,
        }

    def _alias(self, fact: Json) -> Json:
        return {"name": self.names[fact["subject"]], "alias": fact["value"], "quote": fact["quote"]}
