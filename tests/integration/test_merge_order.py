"""A glossary and contradictions are the same bytes whatever the order, the shards, the retries and the doubles."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from db.database import Database
from db.engine import sqlite_url
from octavo import map_op
from pipeline.models.extractive import extract, facts
from pipeline.ops.values import OpOutput
from pipeline.retry import CallError, ErrorClass
from pipeline.states import JobState
from tests.integration.conftest import Laboratory, write_novel
from workers.planning import merges, partitions

PIPELINE = """
name = "merged"
[grain]
limit = 300
[[step]]
name = "read"
kind = "map"
op = "{op}"
attempts = 9
[[step]]
name = "merge"
kind = "merge"
op = "{merge}"
"""
BOOK = write_novel(24) + "".join(
    f'Chapter {at}\n\nOn the docks they called Edith Harrow "the Gull". The Gull looked up with {colour} eyes. '
    f"Samuel Quill looked up with {colour} eyes.\n\n"
    for at, colour in enumerate(("green", "brown", "green", "grey"), 25)
)


def merged(folder: Path, template: Path, merge: str, seed: int | None) -> bytes:
    """The canonical output; with a seed, reads fail by chance and are tried again."""
    chance, failed = random.Random(seed), set[str]()

    @map_op(version=1)
    def read(text: str) -> OpOutput:
        if seed is not None and text not in failed and chance.random() < 0.4:
            failed.add(text)
            raise CallError(ErrorClass.TRANSIENT, "by_chance", "Another time")
        found = extract(text) if merge == "glossary" else facts(text)
        return OpOutput(value={"items": []} | found.value, spans=found.spans)

    folder.joinpath("state").mkdir(parents=True)
    path = folder / "state" / "octavo.db"
    path.write_bytes(template.read_bytes())
    lab = Laboratory(folder, sqlite_url(path))
    lab.teach(read)
    job = lab.run(PIPELINE.format(op="read", merge=merge), lab.book(BOOK), retry_budget=10_000)
    assert job.state is JobState.DONE
    assert bool(failed) is (seed is not None)
    _, rest = lab.canonical(job).split(b"\n", 1)  # the head says how many shards there were
    for runtime in lab.runtimes:
        runtime.close()
    return rest


@pytest.mark.parametrize("merge", ["glossary", "conflicts"])
def test_order_shards_retries_and_doubles_change_no_byte(
    tmp_path: Path, sqlite_template: Path, monkeypatch: pytest.MonkeyPatch, merge: str
) -> None:
    expected = merged(tmp_path / "plain", sqlite_template, merge, None)
    assert (b"Harrow" if merge == "glossary" else b"brown") in expected
    complete = merges._complete

    def doubled(database: Database, step_id: int, feed: partitions.Feed) -> None:
        """Every partition is made and stored once more, in an order of chance."""
        complete(database, step_id, feed)
        with database.read() as rows:
            keys = list(rows.tasks.keys(step_id).values())
            outputs = rows.results.outputs(keys)
            hashes = rows.results.hashes(keys)
        made = [feed.partition(hashes[key], outputs[key]) for key in outputs]
        random.Random(1).shuffle(made)
        with database.write() as rows:
            rows.results.add_partitions(made)

    monkeypatch.setattr(merges, "_complete", doubled)
    for seed, shards in ((1, 1), (2, 64)):
        monkeypatch.setattr(partitions, "LEAST_SHARDS", shards)
        assert merged(tmp_path / str(seed), sqlite_template, merge, seed) == expected
