"""Five million mentions through a real job, from planned chunks to the last streamed citation, in bounded memory."""

from __future__ import annotations

import hashlib
import logging
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from db import migrate
from db.database import Database
from db.engine import make_engine, sqlite_url
from octavo import map_op
from pipeline.states import JobState
from tests.integration.conftest import Laboratory
from workers.outputs.cite import Citation
from workers.outputs.export import canonical_lines
from workers.outputs.job import view
from workers.planning import merges
from workers.planning.context import load_context

ROOT = Path(__file__).resolve().parents[2]
NAMES, PER_CHUNK = 20_000, 100
PIPELINE = """
name = "many"
[grain]
limit = 1000
[[step]]
name = "mentions"
kind = "map"
op = "mentions"
[[step]]
name = "merge"
kind = "merge"
op = "glossary"
"""


@map_op(version=1)
def mentions(text: str) -> dict[str, object]:
    """A hundred mentions of names that the text's own bytes choose."""
    chosen = random.Random(text).sample(range(NAMES), PER_CHUNK)
    return {"items": [{"name": f"Name {at}", "kind": "person", "count": 1, "seen": {"mid": 1}} for at in chosen]}


def run(folder: Path, chunks: int) -> tuple[int, int, str, int]:
    """(entries, citations, hash of the canonical export, peak memory in MB) of a job over so many chapters."""
    folder.joinpath("state").mkdir(parents=True, exist_ok=True)
    url = sqlite_url(folder / "state" / "octavo.db")
    database = Database(make_engine(url))
    migrate.upgrade(database)
    database.close()
    lab = Laboratory(folder, url)
    lab.teach(mentions)
    job = lab.run(PIPELINE, lab.book("".join(f"Chapter {at}\n\nThe ship of {at}.\n\n" for at in range(chunks))))
    assert job.state is JobState.DONE
    context = load_context(lab.database, lab.ops, job.id, to_read=True)
    digest, entries, cited = hashlib.sha256(), 0, 0
    with lab.database.read() as rows:
        for piece in canonical_lines(view(rows, context, Citation.canonical, 0)):
            digest.update(piece)
            if b'"citation_count"' in piece:
                entries += 1
                cited += piece.count(b'"start_line"')
    for runtime in lab.runtimes:
        runtime.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return entries, cited, digest.hexdigest(), peak // (1024 * 1024 if sys.platform == "darwin" else 1024)


def child(folder: Path, chunks: int) -> tuple[int, int, str, int]:
    """The same in a process of its own, whose memory is its own."""
    code = (
        "from pathlib import Path; from tests.integration.test_merge_memory import run; "
        f"print(*run(Path({str(folder)!r}), {chunks}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    entries, cited, digest, peak = done.stdout.split()
    return int(entries), int(cited), digest, int(peak)


def test_shards_in_passes_and_entries_in_runs_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(tmp_path / "whole", 24)
    monkeypatch.setattr(merges, "PARTS_AT_ONCE", 500)
    monkeypatch.setattr("pipeline.reduce.glossary.stream.MOST_CITES", 700)
    monkeypatch.setattr("workers.outputs.merges.BATCH_CITES", 50)
    monkeypatch.setattr("workers.outputs.cite.AT_ONCE", 7)
    monkeypatch.setattr("workers.outputs.cite.HELD", 10)
    assert run(tmp_path / "parts", 24)[:3] == whole[:3]
    assert whole[1] == 24 * PER_CHUNK


@pytest.mark.nightly
def test_ten_times_the_mentions_need_hardly_more_memory(tmp_path: Path) -> None:
    entries, cited, _, small = child(tmp_path / "small", 5_000)
    assert (entries, cited) == (NAMES, 500_000)
    entries, cited, _, large = child(tmp_path / "large", 50_000)
    logging.getLogger(__name__).warning("peak memory: %d MB at 500,000 mentions, %d MB at 5,000,000", small, large)
    assert (entries, cited) == (NAMES, 5_000_000)
    assert large < 1.5 * small + 64
