"""The merge of extracted names and terms into one glossary: pure functions over op outputs.

extract outputs → `partition` by shard → `merge_shard` → `summarise_shard` → `resolve` over all summaries →
`entries`, streamed most mentioned first.
"""

from pipeline.reduce.glossary.decisions import Decision, DecisionKind, decided, find
from pipeline.reduce.glossary.keys import canonical_key, partition, shard_of
from pipeline.reduce.glossary.merge import merge_shard, summarise_shard
from pipeline.reduce.glossary.near import INQUIRY, joined
from pipeline.reduce.glossary.resolve import GLOSSARY_VERSION, resolve
from pipeline.reduce.glossary.stream import Entry, Statement, entries, held_runs

__all__ = [
    "GLOSSARY_VERSION",
    "INQUIRY",
    "Decision",
    "DecisionKind",
    "Entry",
    "Statement",
    "canonical_key",
    "decided",
    "entries",
    "find",
    "held_runs",
    "joined",
    "merge_shard",
    "partition",
    "resolve",
    "shard_of",
    "summarise_shard",
]
