"""The shards of a merge and its judgement, as far as they are made."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import overload

from db.database import Repositories
from db.layout import unpack
from db.values import Step
from pipeline import canonical
from pipeline.ops.values import Json


class ShardValues(Sequence[Json]):
    """The values of a merge's shards, each loaded when it is asked for: a large merge is never in memory whole."""

    def __init__(self, rows: Repositories, keys: Sequence[bytes]) -> None:
        self._rows = rows
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> Json: ...
    @overload
    def __getitem__(self, at: slice) -> list[Json]: ...
    def __getitem__(self, at: int | slice) -> Json | list[Json]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        key = self._keys[at]
        return canonical.loads(self._rows.results.outputs([key])[key])


def shards_of(rows: Repositories, level: Step) -> tuple[Sequence[Json], list[array[int]]]:
    """The values of a merge's finished shards, and each one's leaf ordinals."""
    found = list(rows.nodes.inputs(level.id))
    values = ShardValues(rows, [key for _, key, _, _ in found])
    return values, [array("q", unpack(data or b"", 1)[0]) for *_, data, _ in found]


def judgement_of(rows: Repositories, level: Step) -> Json | None:
    """The judgement of a merge; None while it is not made, or a hole."""
    keys = list(rows.tasks.keys(level.id).values())
    return canonical.loads(rows.results.outputs(keys)[keys[0]]) if keys else None
