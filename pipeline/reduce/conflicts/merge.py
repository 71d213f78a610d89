"""Facts and stated aliases of all chunks, gathered by subject: sums that hold no position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.ops.values import Json
from pipeline.reduce.aliases import linked
from pipeline.reduce.conflicts.words import attribute_key, is_change, is_past, value_key
from pipeline.reduce.glossary.keys import canonical_key, shard_of

CONFLICTS_VERSION = 1
"""Changes whenever an output of `merge_shard`, `summarise_shard` or `resolve` can change for the same input."""

LISTS = ("items", "facts", "events", "aliases")
"""The lists of an output. Their items are numbered through in this order, as their spans are."""


def partition(output: Json, shards: int, *, fold: bool = False) -> Mapping[int, list[tuple[int, Json]]]:
    """The facts and aliases of one output by the shard of their subject, each as (number in the output, item).

    A fact whose quote was looked for and not found (`verified` false) is no evidence and falls out.
    """
    parts: dict[int, list[tuple[int, Json]]] = {}
    number = 0
    for name in LISTS:
        for item in output.get(name, ()):
            made = _fact(item, fold) if name == "facts" else _alias(item, fold) if name == "aliases" else None
            if made is not None:
                parts.setdefault(shard_of(made["key"], shards), []).append((number, made))
            number += 1
    return parts


def _fact(item: Json, fold: bool) -> Json | None:
    key = canonical_key({"name": item["subject"]}, fold=fold)
    if not key or item.get("verified") is False or item.get("value") in (None, ""):
        return None
    quote = str(item.get("quote", ""))
    return {
        "fact": True,
        "key": key,
        "subject": item["subject"],
        "attribute": attribute_key(str(item["attribute"]), fold=fold),
        "value": item["value"] if isinstance(item["value"], str) else str(item["value"]).lower(),
        "change": bool(item.get("change", is_change(quote))),
        "past": bool(item.get("past", is_past(quote))),
    }


def _alias(item: Json, fold: bool) -> Json | None:
    key = canonical_key({"name": item["alias"]}, fold=fold)
    name = canonical_key({"name": item["name"]}, fold=fold)
    if not key or not name or key == name or item.get("verified") is False:
        return None
    return {"fact": False, "key": key, "alias": item["alias"], "name": item["name"], "name_key": name}


def merge_shard(parts: Sequence[Sequence[tuple[int, Json]]], *, fold: bool = False) -> Json:
    """One shard, from the parts of its leaves in reading order; `fold` as they were partitioned by.

    Value: `{"facts": [{"key", "subject", "attribute", "value", "value_key", "cites": [[part, number, change, past],
    …]}, …], "aliases": [{"key", "alias", "name_key", "name", "cites": [[part, number], …]}, …]}`, both sorted.
    """
    facts: dict[tuple[str, str, str], dict[str, Json]] = {}
    aliases: dict[tuple[str, str], dict[str, Json]] = {}
    for at, part in enumerate(parts):
        for number, item in part:
            if item["fact"]:
                value = value_key(item["value"], fold=fold)
                entry = facts.setdefault(
                    (item["key"], item["attribute"], value),
                    {**{name: item[name] for name in ("key", "subject", "attribute", "value")}, "value_key": value},
                )
                entry.setdefault("cites", []).append([at, number, item["change"], item["past"]])
                for name in ("subject", "value"):  # of several spellings the least, whatever the order
                    entry[name] = min(entry[name], item[name])
            else:
                link = aliases.setdefault(
                    (item["key"], item["name_key"]),
                    {name: item[name] for name in ("key", "alias", "name_key", "name")},
                )
                link.setdefault("cites", []).append([at, number])
                for name in ("alias", "name"):
                    link[name] = min(link[name], item[name])
    return {"facts": [facts[key] for key in sorted(facts)], "aliases": [aliases[key] for key in sorted(aliases)]}


def summarise_shard(value: Json) -> Json:
    """What `resolve` needs: `{"aliases": [[alias key, name key, times stated], …], "subjects": {key: facts}}`."""
    subjects: dict[str, int] = {}
    for entry in value["facts"]:
        subjects[entry["key"]] = subjects.get(entry["key"], 0) + len(entry["cites"])
    return {
        "aliases": [[entry["key"], entry["name_key"], len(entry["cites"])] for entry in value["aliases"]],
        "subjects": subjects,
    }


def resolve(summaries: Sequence[Json]) -> Json:
    """Whose alias is whose: `{"links": [[alias key, name key, times stated], …]}`, sorted; in any order of shards."""
    weights: dict[str, int] = {}
    evidence: list[tuple[str, str, int]] = []
    for summary in summaries:
        weights |= summary["subjects"]
        evidence += [(alias, name, count) for alias, name, count in summary["aliases"]]
    return {"links": [[link.alias, link.root, link.stated] for link in linked(evidence, weights)]}
