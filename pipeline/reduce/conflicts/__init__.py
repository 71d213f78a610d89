"""Contradictions: what a book says of one thing in two ways, without saying that it changed.

Outputs of a `facts` op → `partition` by subject → `merge_shard` → `summarise_shard` → `resolve` (whose alias is whose)
→ `detect`, on read, where the order of the places is known; `INQUIRY` asks a language model about what it finds.
"""

from pipeline.reduce.conflicts.detect import Conflict, Fact, Rules, detect
from pipeline.reduce.conflicts.gather import Gathered, Told, gather
from pipeline.reduce.conflicts.judge import CONFLICT, INQUIRY, changes
from pipeline.reduce.conflicts.merge import CONFLICTS_VERSION, merge_shard, partition, resolve, summarise_shard

__all__ = [
    "CONFLICT",
    "CONFLICTS_VERSION",
    "INQUIRY",
    "Conflict",
    "Fact",
    "Gathered",
    "Rules",
    "Told",
    "changes",
    "detect",
    "gather",
    "merge_shard",
    "partition",
    "resolve",
    "summarise_shard",
]
