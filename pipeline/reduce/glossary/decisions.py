"""What people decided about entities, put over what was judged: it holds through every rerun and every edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pipeline.ops.values import Json
from pipeline.reduce.glossary.keys import canonical_key

_SAID = ("stated", "near")  # what an entity holds of the sentences by which its names are one
Counts = Mapping[tuple[str, str], int]  # mentions by (key, kind) of the shards' entries


class DecisionKind(StrEnum):
    """What a person may decide."""

    MERGE = "merge"  # `name` is the entity `into`
    SPLIT = "split"  # `name` is not the entity `out_of`
    RENAME = "rename"  # the entity `name` is shown as `to`


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """One of them. Entities are named by any of their names, so a decision holds wherever that name is found."""

    kind: DecisionKind
    name: str
    other: str  # into, out_of, or to


def decided(resolved: Json, decisions: Sequence[Decision], counts: Counts, *, fold: bool = False) -> Json:
    """The judgement with decisions over it, in their order; one whose names are not there changes nothing.

    Same shape as `resolve` gives; sorted anew. `counts` are the mentions of the shards' entries, for those split off;
    `fold` as the items were partitioned by.
    """
    if not decisions:
        return resolved
    keep = [dict(entry) for entry in resolved["keep"]]
    for decision in decisions:
        if decision.kind is DecisionKind.MERGE:
            keep = _merged(keep, decision.name, decision.other, fold)
        elif decision.kind is DecisionKind.SPLIT:
            keep = _split(keep, decision.name, decision.other, counts, fold)
        else:
            keep = _renamed(keep, decision.name, decision.other, fold)
    keep.sort(key=lambda entry: (-entry["count"], entry["name"], entry["kind"]))
    return {"keep": keep}


def find(keep: Sequence[Json], name: str, *, fold: bool = False) -> Json | None:
    """The entity that has the name: as its own, as an alias, or as one of the spellings it was made of."""
    key = _key(name, fold)
    for names in (_own_name, _aliases, _spellings):
        found = [entry for entry in keep if key in names(entry, fold)]
        if found:
            return max(found, key=lambda entry: (entry["count"], entry["name"], entry["kind"]))
    return None


def _own_name(entry: Json, fold: bool) -> set[str]:
    return {_key(entry["name"], fold)}


def _aliases(entry: Json, fold: bool) -> set[str]:
    return {_key(alias, fold) for alias in entry["aliases"]}


def _spellings(entry: Json, _fold: bool) -> set[str]:
    return {member[0] for member in entry["members"]}


def _key(name: str, fold: bool) -> str:
    return canonical_key({"name": name}, fold=fold)


def _merged(keep: list[Json], name: str, into: str, fold: bool) -> list[Json]:
    one, other = find(keep, name, fold=fold), find(keep, into, fold=fold)
    if one is None or other is None or one is other:
        return keep
    joined = other | {
        "count": one["count"] + other["count"],
        "aliases": sorted({*one["aliases"], *other["aliases"], one["name"]} - {other["name"]}),
        "members": sorted(one["members"] + other["members"]),
    }
    for said in _SAID:
        if links := [*one.get(said, ()), *other.get(said, ())]:
            joined[said] = sorted(links)
    return [joined if entry is other else entry for entry in keep if entry is not one]


def _split(keep: list[Json], name: str, out_of: str, counts: Counts, fold: bool) -> list[Json]:
    whole = find(keep, out_of, fold=fold)
    if whole is None:
        return keep
    key = _key(name, fold)
    entity = _unstated(whole, key, fold)
    mine = [member for member in entity["members"] if member[0] == key]
    rest = [member for member in entity["members"] if member[0] != key]
    if not mine and key in _aliases(entity, fold):  # stated but never counted: nothing but the name goes
        left = entity | {"aliases": [alias for alias in entity["aliases"] if _key(alias, fold) != key]}
        return [left if entry is whole else entry for entry in keep]
    if not mine or not rest:
        return keep
    count = min(sum(counts.get((member[0], member[1]), 0) for member in mine), entity["count"])
    spelt = next((alias for alias in [entity["name"], *entity["aliases"]] if _key(alias, fold) == key), name)
    aliases = [alias for alias in entity["aliases"] if _key(alias, fold) != key]
    left = entity | {"count": entity["count"] - count, "members": rest, "aliases": aliases}
    if _key(left["name"], fold) == key:  # the name it was shown by goes with the part that is split off
        left["name"] = aliases[0] if aliases else rest[0][0]
        left["aliases"] = aliases[1:]
    kind = max(mine, key=lambda member: (counts.get((member[0], member[1]), 0), member[1]))[1]
    apart = {"name": spelt, "kind": kind, "count": count, "aliases": [], "members": mine}
    return [*(left if entry is whole else entry for entry in keep), apart]


def _unstated(entity: Json, key: str, fold: bool) -> Json:
    """The entity without what the book says of a name: a person knows better."""
    kept: dict[str, Json] = {
        "stated": [link for link in entity.get("stated", ()) if key not in (*_bare(link[0]), link[1])],
        "near": [link for link in entity.get("near", ()) if key not in (_key(link[0], fold), _key(link[1], fold))],
    }
    plain = {name: value for name, value in entity.items() if name not in _SAID}
    return plain | {name: links for name, links in kept.items() if links}


def _bare(key: str) -> tuple[str, str]:
    return key, key.removeprefix("the ")


def _renamed(keep: list[Json], name: str, to: str, fold: bool) -> list[Json]:
    entity = find(keep, name, fold=fold)
    if entity is None:
        return keep
    aliases = sorted({*entity["aliases"], entity["name"]} - {to})
    return [entry | {"name": to, "aliases": aliases} if entry is entity else entry for entry in keep]
