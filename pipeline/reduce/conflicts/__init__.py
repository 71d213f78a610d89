"""Contradictions: what a book says of one thing in two ways, without saying that it changed.

Outputs of a `facts` op → `partition` by subject → `merge_shard` → `summarise_shard` → `resolve` (whose alias is whose)
→ `detect`, on read, where the order of the places is known.
"""

from pipeline.reduce.conflicts.detect import Conflict, Fact, Rules, detect
from pipeline.reduce.conflicts.merge import CONFLICTS_VERSION, merge_shard, partition, resolve, summarise_shard

__all__ = [
    "CONFLICTS_VERSION",
    "Conflict",
    "Fact",
    "Rules",
    "detect",
    "merge_shard",
    "partition",
    "resolve",
    "summarise_shard",
]
