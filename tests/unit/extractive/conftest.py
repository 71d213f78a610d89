"""Texts of the project's own, and ways to put them through the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pipeline.ops.values import Json
from pipeline.reduce import glossary

TEXTS = Path(__file__).parent / "texts"
NAMES = ("english.txt", "chinese.txt", "japanese.txt", "spec.md")


@pytest.fixture(params=NAMES)
def text(request: pytest.FixtureRequest) -> str:
    """Each of the texts in turn."""
    return (TEXTS / request.param).read_text(encoding="utf-8")


@pytest.fixture
def read() -> Callable[[str], str]:
    """A text by its file name."""
    return lambda name: (TEXTS / name).read_text(encoding="utf-8")


@pytest.fixture
def merged() -> Callable[..., list[glossary.Entry]]:
    """Extract outputs through partition, merge, resolve and entries."""
    return run_glossary


def run_glossary(outputs: Sequence[Json], shards: int = 4, *, fold: bool = False) -> list[glossary.Entry]:
    """The entries of a glossary over some extract outputs."""
    parts: list[list[list[tuple[int, Json]]]] = [[] for _ in range(shards)]
    for output in outputs:
        for shard, part in glossary.partition(output, shards, fold=fold).items():
            parts[shard].append(part)
    values = [glossary.merge_shard(part, fold=fold) for part in parts]
    return list(glossary.entries(values, glossary.resolve([glossary.summarise_shard(value) for value in values])))
