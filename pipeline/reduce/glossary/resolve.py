"""The global judgement: which candidates are entries, of what kind, and under which names."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.ops.values import Json
from pipeline.reduce.glossary import aliases, evidence, han, kana, spaced, starts
from pipeline.reduce.glossary.candidates import Candidate, Family, Kept, fragments_of, gather

GLOSSARY_VERSION = 5
"""Changes whenever an output of `merge_shard`, `summarise_shard` or `resolve` can change for the same input."""


def resolve(summaries: Sequence[Json]) -> Json:
    """Judge all candidates, given the summaries of all shards in any order.

    Value: `{"keep": [{"name", "kind", "count", "aliases": [name, …], "members": [[key, kind], …],
    "stated": [[alias key, name key], …]}, …]}`, most
    mentioned first, then by name and kind. `members` are the shard entries whose mentions the
    entry has; `stated` (left out when empty) are the links that the book itself states. Nothing holds a position.
    Items that came without the extractive model's sums (from a language model) were judged by their maker: they stay.
    """
    candidates = starts.settled(gather(summaries))
    families: dict[Family, dict[str, Candidate]] = {family: {} for family in Family}
    for key, candidate in candidates.items():
        families[candidate.family][key] = candidate
    kept: list[Kept] = [
        *spaced.judge(families[Family.SPACED]),
        *spaced.trust(families[Family.TRUSTED]),
        *han.judge(families[Family.HAN], fragments_of(summaries)),
        *kana.judge(families[Family.KANA]),
    ]
    joined = evidence.join(aliases.join(kept, candidates), candidates, summaries)
    joined.sort(key=lambda entry: (-entry.count, entry.name, entry.kind))
    return {"keep": [entry.as_json() for entry in joined]}
