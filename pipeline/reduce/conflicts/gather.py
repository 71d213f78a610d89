"""The facts of all shards in the order of their places, once it is known whose alias is whose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.ops.values import Json
from pipeline.reduce.conflicts.detect import Fact


@dataclass(frozen=True, slots=True)
class Told:
    """A fact as it was said: its subject and value in the book's own words, and where."""

    subject: str
    value: str
    leaf: int
    item: int


@dataclass(kw_only=True, slots=True)
class Gathered:
    """Facts for `detect`; `told[fact.ref]` is how a fact was said, `names` how often each subject is called what."""

    facts: list[Fact] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    names: dict[str, dict[str, int]] = field(default_factory=dict)

    def name(self, fact: Fact) -> str:
        """What the subject of a fact is called most; of one that is never called by its own name, what is said."""
        forms = self.names.get(fact.subject)
        return min(forms, key=lambda form: (-forms[form], form)) if forms else self.told[fact.ref].subject


def gather(values: Iterable[Json], leaves: Sequence[Sequence[int]], links: Mapping[str, str]) -> Gathered:
    """The facts of the shards' values; `leaves` are each shard's leaf ordinals, `links` lead from aliases to names."""
    found = Gathered()
    for shard, value in enumerate(values):
        for entry in value["facts"]:
            subject = links.get(entry["key"], entry["key"])
            if subject == entry["key"]:
                by_name = found.names.setdefault(subject, {})
                by_name[entry["subject"]] = by_name.get(entry["subject"], 0) + len(entry["cites"])
            for part, item, change, past in entry["cites"]:
                leaf = leaves[shard][part]
                fact = Fact(
                    subject=subject,
                    attribute=entry["attribute"],
                    value=links.get(entry["value_key"], entry["value_key"]),
                    order=(leaf, item),
                    change=change,
                    past=past,
                    ref=len(found.told),
                )
                found.facts.append(fact)
                found.told.append(Told(entry["subject"], entry["value"], leaf, item))
    return found
