"""The finished glossary, streamed from the shards in the order in which a reader wants it."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.ops.values import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """What the book states of two of an entry's names, and where."""

    alias: str
    name: str
    cites: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry of the glossary."""

    name: str
    kind: str
    count: int
    aliases: tuple[str, ...]
    cites: tuple[tuple[int, int, int], ...]  # (shard, part, item), in the order of the shards' parts
    stated: tuple[Statement, ...] = ()
    near: tuple[tuple[str, str, str], ...] = ()  # (alias, name, quote) of alike names that were judged to be one


def entries(shard_values: Sequence[Json], resolved: Json) -> Iterator[Entry]:
    """The entries of a glossary, most mentioned first, then by name and kind.

    `shard_values` are the outputs of `merge_shard`, by shard number; `resolved` is that of `resolve`. Each shard is
    read twice, one at a time, and only the citations of kept entries are held, 16 bytes each: a sequence that loads its
    values when they are asked for keeps memory at one shard and those. A name inside a longer kept one (张三 in
    张三丰) is cited where the longer one stands too, though not counted there.
    """
    keep = resolved["keep"]
    owner = {(key, kind): rank for rank, kept in enumerate(keep) for key, kind in kept["members"]}
    home: dict[int, int] = {}  # rank → the first shard that has a member
    away: dict[int, list[tuple[int, array[int]]]] = {}
    said: dict[str, list[tuple[int, Json]]] = {}  # alias key → (shard, link)
    for shard in range(len(shard_values)):
        value = shard_values[shard]
        for link in value.get("aliases", ()):
            said.setdefault(link["key"], []).append((shard, link))
        for entry in value["entries"]:
            rank = owner.get((entry["key"], entry["kind"]))
            if rank is not None and home.setdefault(rank, shard) != shard:
                away.setdefault(rank, []).append((shard, _flat(entry["cites"])))
    streams = [_ranked(shard, shard_values, owner, home) for shard in range(len(shard_values))]
    for rank, cites in heapq.merge(*streams, key=lambda pair: pair[0]):
        kept = keep[rank]
        yield Entry(
            name=kept["name"],
            kind=kept["kind"],
            count=kept["count"],
            aliases=tuple(kept["aliases"]),
            cites=tuple(cite for shard, flat in (cites, *away.get(rank, ())) for cite in _cites(shard, flat)),
            stated=tuple(_statements(kept.get("stated", ()), said)),
            near=tuple((alias, name, quote) for alias, name, quote in kept.get("near", ())),
        )


def _statements(links: Sequence[Sequence[str]], said: Mapping[str, Sequence[tuple[int, Json]]]) -> Iterator[Statement]:
    names = {name for link in links for name in link}
    for alias, _ in links:
        for shard, link in said.get(alias, ()):
            if link["name_key"] in names:
                cites = tuple(_cites(shard, _flat(link["cites"])))
                yield Statement(alias=link["alias"], name=link["name"], cites=cites)


def _ranked(
    shard: int, shard_values: Sequence[Json], owner: dict[tuple[str, str], int], home: dict[int, int]
) -> Iterator[tuple[int, tuple[int, array[int]]]]:
    """(rank, (shard, citations)) of the entries at home in a shard, by rank."""
    cites: dict[int, array[int]] = {}
    for entry in shard_values[shard]["entries"]:
        rank = owner.get((entry["key"], entry["kind"]))
        if rank is not None and home[rank] == shard:
            cites.setdefault(rank, array("q")).extend(_flat(entry["cites"]))
    for rank in sorted(cites):
        yield rank, (shard, cites.pop(rank))


def _flat(cites: Sequence[Sequence[int]]) -> array[int]:
    """Citations as numbers in a row: a list of pairs takes ten times the room."""
    return array("q", [number for pair in cites for number in pair])


def _cites(shard: int, flat: array[int]) -> list[tuple[int, int, int]]:
    """(shard, part, item), in order."""
    return sorted((shard, part, item) for part, item in zip(flat[::2], flat[1::2], strict=True))
