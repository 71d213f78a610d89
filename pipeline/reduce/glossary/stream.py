"""The finished glossary, streamed from the shards in the order in which a reader wants it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from pipeline.ops.values import Json

MOST_CITES = 1_000_000  # citations that are held at once, 8 bytes each: of more entries the shards are read again

Cite = tuple[int, int, int]  # shard, part, item


class Cites(Sequence[Cite]):
    """Citations in order, eight bytes each: as tuples they would take twenty times the room."""

    __slots__ = ("_runs", "_size")

    def __init__(self) -> None:
        self._runs: list[tuple[int, array[int]]] = []  # (shard, part and item by turns)
        self._size = 0

    def add(self, shard: int, cites: Sequence[Sequence[int]]) -> None:
        """Take in those of one shard more, at the end."""
        found = [(part, item) for part, item in cites]
        if self._runs and self._runs[-1][0] == shard:
            _, before = self._runs.pop()
            found += zip(before[::2], before[1::2], strict=True)
        self._runs.append((shard, array("i", [number for pair in sorted(found) for number in pair])))
        self._size += len(cites)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Cite]:
        for shard, flat in self._runs:
            for at in range(0, len(flat), 2):
                yield shard, flat[at], flat[at + 1]

    @overload
    def __getitem__(self, at: int) -> Cite: ...
    @overload
    def __getitem__(self, at: slice) -> list[Cite]: ...
    def __getitem__(self, at: int | slice) -> Cite | list[Cite]:
        return list(self)[at]


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """What the book states of two of an entry's names, and where."""

    alias: str
    name: str
    cites: Cites


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry of the glossary."""

    name: str
    kind: str
    count: int
    aliases: tuple[str, ...]
    cites: Cites  # in the order of the shards' parts
    stated: tuple[Statement, ...] = ()
    near: tuple[tuple[str, str, str], ...] = ()  # (alias, name, quote) of alike names that were judged to be one


def entries(shard_values: Sequence[Json], resolved: Json) -> Iterator[Entry]:
    """The entries of a glossary, most mentioned first, then by name and kind.

    `shard_values` are the outputs of `merge_shard`, by shard number; `resolved` is that of `resolve`. Shards are read
    one at a time, and at most MOST_CITES citations are held (or those of one entry that has more): a sequence that
    loads its values when they are asked for keeps memory at one shard and those, however many mentions there are. A
    name inside a longer kept one (张三 in 张三丰) is cited where the longer one stands too, though not counted there.
    """
    keep = resolved["keep"]
    owner = {(key, kind): rank for rank, kept in enumerate(keep) for key, kind in kept["members"]}
    sizes = array("q", bytes(8 * len(keep)))
    said: dict[str, list[tuple[int, Json]]] = {}  # alias key → (shard, link)
    for shard in range(len(shard_values)):
        value = shard_values[shard]
        for link in value.get("aliases", ()):
            said.setdefault(link["key"], []).append((shard, link))
        for entry in value["entries"]:
            rank = owner.get((entry["key"], entry["kind"]))
            if rank is not None:
                sizes[rank] += len(entry["cites"])
    for ranks in held_runs(sizes):
        cites = _cited(shard_values, owner, ranks)
        for rank in ranks:
            if rank not in cites:
                continue
            kept = keep[rank]
            yield Entry(
                name=kept["name"],
                kind=kept["kind"],
                count=kept["count"],
                aliases=tuple(kept["aliases"]),
                cites=cites.pop(rank),
                stated=tuple(_statements(kept.get("stated", ()), said)),
                near=tuple((alias, name, quote) for alias, name, quote in kept.get("near", ())),
            )


def held_runs(sizes: Sequence[int]) -> Iterator[range]:
    """Runs of ranks that have at most MOST_CITES citations together, given how many each has."""
    first = held = 0
    for rank, size in enumerate(sizes):
        if held and held + size > MOST_CITES:
            yield range(first, rank)
            first, held = rank, 0
        held += size
    yield range(first, len(sizes))


def _cited(shard_values: Sequence[Json], owner: Mapping[tuple[str, str], int], ranks: range) -> dict[int, Cites]:
    """The citations of the entries of some ranks."""
    found: dict[int, Cites] = {}
    for shard in range(len(shard_values) if ranks else 0):
        for entry in shard_values[shard]["entries"]:
            rank = owner.get((entry["key"], entry["kind"]))
            if rank is not None and rank in ranks:
                found.setdefault(rank, Cites()).add(shard, entry["cites"])
    return found


def _statements(links: Sequence[Sequence[str]], said: Mapping[str, Sequence[tuple[int, Json]]]) -> Iterator[Statement]:
    names = {name for link in links for name in link}
    for alias, _ in links:
        for shard, link in said.get(alias, ()):
            if link["name_key"] in names:
                cites = Cites()
                cites.add(shard, link["cites"])
                yield Statement(alias=link["alias"], name=link["name"], cites=cites)
