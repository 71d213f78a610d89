"""What the judges look at: one candidate for each canonical key, summed over the whole selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pipeline.ops.values import Json


class Family(StrEnum):
    """Which judge a candidate goes to, told by the sums that its extractor wrote down."""

    HAN = "han"
    KANA = "kana"
    SPACED = "spaced"
    TRUSTED = "trusted"  # no sums: its maker (a language model) has judged it


@dataclass(kw_only=True, slots=True)
class Candidate:
    """A canonical key with its entries of every kind, and the sums of all of them."""

    key: str
    name: str = ""
    count: int = 0
    entries: list[Json] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    near: set[str] = field(default_factory=set)

    def add(self, entry: Json) -> None:
        """Take in one entry of a shard summary."""
        self.entries.append(entry)
        self.count += entry["count"]
        for feature, value in entry["seen"].items():
            self.seen[feature] = self.seen.get(feature, 0) + value
        self.near.update(entry["near"])
        self.name = min(self.entries, key=lambda one: (-one["count"], one["name"]))["name"]

    @property
    def family(self) -> Family:
        """Which judge it goes to."""
        if "both" in self.seen:
            return Family.HAN
        if "particle" in self.seen:
            return Family.KANA
        return Family.SPACED if self.seen.keys() & {"mid", "start", "list", "term"} else Family.TRUSTED

    def sum(self, *features: str) -> int:
        """The sum of some features over all mentions."""
        return sum(self.seen.get(feature, 0) for feature in features)

    def share(self, *features: str) -> int:
        """The same in thousandths of the mentions."""
        return self.sum(*features) * 1000 // self.count


@dataclass(kw_only=True, slots=True)
class Kept:
    """An entry of the glossary in the making: a name with one kind, and the shard entries that are its mentions."""

    name: str
    kind: str
    count: int
    members: list[tuple[str, str]]  # (key, kind) of shard entries
    aliases: set[str] = field(default_factory=set)
    stated: list[tuple[str, str]] = field(default_factory=list)  # links that the book states: (alias key, name key)

    def absorb(self, other: Kept, alias: str | None) -> None:
        """Take over another entry's mentions; its name is shown as an alias if one is given."""
        self.count += other.count
        self.members += other.members
        self.aliases |= other.aliases
        self.stated += other.stated
        if alias is not None and alias != self.name:
            self.aliases.add(alias)

    def as_json(self) -> Json:
        """`{"name", "kind", "count", "aliases": [name, …], "members": [[key, kind], …]}`, all lists sorted."""
        value: dict[str, Json] = {
            "name": self.name,
            "kind": self.kind,
            "count": self.count,
            "aliases": sorted(self.aliases - {self.name}),
            "members": sorted([key, kind] for key, kind in self.members),
        }
        return value | ({"stated": sorted(map(list, self.stated))} if self.stated else {})


def gather(summaries: Iterable[Json]) -> dict[str, Candidate]:
    """Candidates by key, from the summaries of all shards (in any order)."""
    candidates: dict[str, Candidate] = {}
    for summary in summaries:
        for entry in summary["entries"]:
            candidates.setdefault(entry["key"], Candidate(key=entry["key"])).add(entry)
    return candidates


def fragments_of(summaries: Iterable[Json]) -> dict[str, int]:
    """Counts of the Chinese candidates that are no names, from the summaries of all shards."""
    return {key: count for summary in summaries for key, count in summary["fragments"].items()}


def whole(candidate: Candidate, kind: str, count: int | None = None) -> Kept:
    """The candidate as one entry, all its kinds together."""
    return Kept(
        name=candidate.name,
        kind=kind,
        count=candidate.count if count is None else count,
        members=members_of(candidate.entries),
    )


def members_of(entries: Sequence[Json]) -> list[tuple[str, str]]:
    """Which shard entries these are."""
    return [(entry["key"], entry["kind"]) for entry in entries]
