"""Partitions of outputs for the merges that will take them (ADR 5).

They are made with each output and committed with it, so that a merge can be planned the moment its last map ends: made
when it is planned they would keep it waiting for as long as the book is.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from db.values import NewPartition, NewResult
from pipeline import canonical
from pipeline.ops.kinds import MergeOp, Params

log = logging.getLogger(__name__)

CHUNKS_PER_SHARD = 512
LEAST_SHARDS, MOST_SHARDS = 8, 1024
_PART = struct.Struct("<H32s")  # shard, hash of the part
PART_BYTES = _PART.size


def shards_for(chunks: int) -> int:
    """How many shards a merge over so many chunks has: a power of two, so that it seldom changes as a book grows."""
    wanted = max(LEAST_SHARDS, -(-chunks // CHUNKS_PER_SHARD))
    return int(min(MOST_SHARDS, 1 << (wanted - 1).bit_length()))


@dataclass(frozen=True, slots=True)
class Feed:
    """A merge that takes the outputs of a map."""

    op: MergeOp
    shards: int
    params: Params

    @property
    def scheme(self) -> str:
        """The name under which the partitions of its outputs are stored."""
        keying = self.op.set_options(self.params, keying=True)
        more = "".join(f"/{name}={canonical.dumps(value).decode()}" for name, value in keying.items())
        return f"{self.op.name}/{self.op.version}/{self.shards}{more}"

    def partition(self, output_sha256: bytes, output: bytes) -> NewPartition:
        """The parts of one output, given as canonical JSON bytes."""
        found = self.op.partition(canonical.loads(output), self.shards, self.params)
        lines = bytearray()
        items: list[tuple[int, bytes]] = []
        for shard in sorted(found):
            part = canonical.dumps([[index, item] for index, item in found[shard]])
            items.append((shard, part))
            lines += _PART.pack(shard, canonical.sha256(part))
        return NewPartition(scheme=self.scheme, output_sha256=output_sha256, parts=bytes(lines), items=tuple(items))


def parts_of(stored: bytes) -> Iterator[tuple[int, bytes]]:
    """(shard, hash of the part) of a stored partition."""
    return _PART.iter_unpack(stored)


def partitions_for(feeds: Sequence[Feed], result: NewResult) -> tuple[NewPartition, ...]:
    """What the merges after a map will ask of a new output. Raises nothing."""
    try:
        return tuple(feed.partition(result.output_sha256, result.output) for feed in feeds)
    except Exception:  # a merge's code is a user's: its error is the merge's own and shows when that is planned
        log.debug("partition raised", exc_info=True)
        return ()
