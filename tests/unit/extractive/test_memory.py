"""Five million mentions are merged in bounded memory: shard by shard, and the glossary streamed."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.ops.values import Json
from pipeline.reduce import glossary

SHARDS, NAMES, PER_CHUNK = 128, 20_000, 100
CHUNKS = 50_000  # × 100 items: five million mentions with a citation each
MOST_MB = 900


class Shards(Sequence[Json]):
    """Shards that are merged when they are asked for, from items made by a rule: nothing is kept."""

    def __init__(self, chunks: int) -> None:
        self.by_shard: dict[int, list[int]] = {}
        for name in range(NAMES):
            key = glossary.canonical_key({"name": f"Name {name}"})
            self.by_shard.setdefault(glossary.shard_of(key, SHARDS), []).append(name)
        self.chunks = chunks

    def __len__(self) -> int:
        return SHARDS

    def __getitem__(self, shard: int) -> Json:  # type: ignore[override]
        parts = [[] for _ in range(self.chunks)]  # type: ignore[var-annotated]
        for name in self.by_shard.get(shard, ()):
            chance = random.Random(name)
            item = {"name": f"Name {name}", "kind": "person", "count": 1, "seen": {"mid": 1}}
            for chunk in array("q", sorted(chance.sample(range(self.chunks), self.chunks * PER_CHUNK // NAMES))):
                parts[chunk].append((name % 97, item))
        return glossary.merge_shard([part for part in parts if part])


def run(chunks: int) -> tuple[int, int, int]:
    """(entries, mentions, peak memory in MB)."""
    values = Shards(chunks)
    resolved = glossary.resolve([glossary.summarise_shard(values[shard]) for shard in range(SHARDS)])
    entries = mentions = 0
    for entry in glossary.entries(values, resolved):
        entries += 1
        mentions += len(entry.cites)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return entries, mentions, peak // (1024 * 1024 if sys.platform == "darwin" else 1024)


def child(chunks: int) -> list[int]:
    """The same in a process of its own, whose memory is its own."""
    code = f"from tests.unit.extractive.test_memory import run; print(*run({chunks}))"
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def test_every_mention_keeps_its_citation() -> None:
    entries, mentions, _ = run(200)
    assert (entries, mentions) == (NAMES, 200 * PER_CHUNK)


@pytest.mark.nightly
def test_five_million_mentions_are_merged_in_bounded_memory() -> None:
    entries, mentions, peak = child(CHUNKS)
    assert (entries, mentions) == (NAMES, 5_000_000)
    assert peak < MOST_MB, f"{peak} MB"
