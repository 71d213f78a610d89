"""Adds up one shard: every sum is order-independent, so a retried or regrouped merge gives the same entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.ops.values import Json
from pipeline.reduce.glossary import han
from pipeline.reduce.glossary.candidates import Candidate, Family
from pipeline.reduce.glossary.keys import canonical_key

_NEIGHBOURS = 24  # distinct neighbouring characters kept


@dataclass(kw_only=True, slots=True)
class _Sum:
    """What is known of one (canonical key, kind) so far."""

    count: int = 0
    parts: int = 0
    forms: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    near: set[str] = field(default_factory=set)
    cites: list[list[int]] = field(default_factory=list)
    last_part: int = -1

    def add(self, part: int, index: int, item: Json) -> None:
        count = int(item.get("count", 1))
        self.count += count
        self.parts += part != self.last_part
        self.last_part = part
        self.forms[item["name"]] = self.forms.get(item["name"], 0) + count
        for feature, value in item.get("seen", {}).items():
            self.seen[feature] = self.seen.get(feature, 0) + int(value)
        if "near" in item:
            self.near = set(sorted(self.near.union(item["near"]))[:_NEIGHBOURS])
        self.cites.append([part, index])

    def entry(self, key: str, kind: str) -> Json:
        return {
            "key": key,
            "name": min(self.forms, key=lambda form: (-self.forms[form], form)),
            "kind": kind,
            "count": self.count,
            "parts": self.parts,
            "forms": dict(sorted(self.forms.items())),
            "seen": dict(sorted(self.seen.items())),
            "near": "".join(sorted(self.near)),
            "cites": self.cites,
        }


def merge_shard(parts: Sequence[Sequence[tuple[int, Json]]], *, fold: bool = False) -> Json:
    """One shard of the glossary; `fold` as the items were partitioned by.

    `parts` are in reading order, one for each leaf that has items in the shard, each a list of (item index, item).
    Value: `{"entries": [{"key", "name", "kind", "count", "parts", "forms": {surface: count}, "seen": {feature: sum},
    "near": characters, "cites": [[part, item], …]}, …]}`, sorted by key and kind. `name` is the most frequent
    surface form, ties broken by the text; `parts` counts the leaves. Only `cites` depends on the order of the parts.
    Where aliases are stated, `"aliases": [{"key", "alias", "name_key", "name", "cites"}, …]` too, sorted by the keys.
    """
    sums: dict[tuple[str, str], _Sum] = {}
    links: dict[tuple[str, str], dict[str, Json]] = {}
    for number, part in enumerate(parts):
        for index, item in part:
            if item.get("stated") is True:
                _add_link(links, number, index, item)
            else:
                sums.setdefault((canonical_key(item, fold=fold), item["kind"]), _Sum()).add(number, index, item)
    value: dict[str, Json] = {"entries": [sums[key].entry(*key) for key in sorted(sums)]}
    return value | ({"aliases": [links[key] for key in sorted(links)]} if links else {})


def _add_link(links: dict[tuple[str, str], dict[str, Json]], part: int, index: int, item: Json) -> None:
    names = ("key", "alias", "name_key", "name")
    link = links.setdefault((item["key"], item["name_key"]), {name: item[name] for name in names} | {"cites": []})
    link["cites"].append([part, index])
    for name in ("alias", "name"):  # of several spellings the least, whatever the order
        link[name] = min(link[name], item[name])


def summarise_shard(shard_value: Json) -> Json:
    """What `resolve` needs of a shard: the entries that may be names, without citations, and the counts of fragments.

    Value: `{"entries": [{"key", "name", "kind", "count", "parts", "seen", "near"}, …], "fragments": {key: count}}`,
    and `"aliases": [[alias key, alias, name key, times stated], …]` where some are stated.
    All kinds of a key meet in one shard, so what its own sums forbid is judged here; a fragment is a Chinese candidate
    that is no name but may show that a shorter one is not free either. All are small beside the shard.
    """
    candidates: dict[str, Candidate] = {}
    for entry in shard_value["entries"]:
        summary = {name: entry[name] for name in ("key", "name", "kind", "count", "parts", "seen", "near")}
        candidates.setdefault(entry["key"], Candidate(key=entry["key"])).add(summary)
    stated = shard_value.get("aliases", ())
    said = {link["key"] for link in stated}  # a name by the book's own word, whatever its sums
    entries: list[Json] = []
    fragments: dict[str, int] = {}
    for key, candidate in candidates.items():
        family = candidate.family
        if family is Family.HAN and key not in said and not han.possible_kind(candidate):
            if candidate.count > 1 and len(key) > 2:
                fragments[key] = candidate.count
        elif family is not Family.KANA or candidate.count > 1:
            entries += candidate.entries
    value: dict[str, Json] = {"entries": entries, "fragments": fragments}
    links = [[link["key"], link["alias"], link["name_key"], len(link["cites"])] for link in stated]
    return value | ({"aliases": links} if links else {})
