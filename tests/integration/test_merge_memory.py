"""Five million mentions through a real job, from planned chunks to the last streamed citation, in bounded memory."""

from __future__ import annotations

import hashlib
import logging
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from db import migrate
from db.database import Database
from db.engine import make_engine, sqlite_url
from db.values import Job
from octavo import map_op
from pipeline.states import JobState
from tests.integration.conftest import Laboratory
from workers import transitions
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


def laboratory(folder: Path) -> Laboratory:
    """The engine over a database in a folder, new or as it was left. Leases outlast a machine that is busy."""
    folder.joinpath("state").mkdir(parents=True, exist_ok=True)
    url = sqlite_url(folder / "state" / "octavo.db")
    database = Database(make_engine(url))
    migrate.upgrade(database)
    database.close()
    lab = Laboratory(folder, url)
    lab.options["lease_s"] = 120
    lab.teach(mentions)
    return lab


def begun(lab: Laboratory, chunks: int) -> Job:
    """A job over a book of so many chapters, of a few words each."""
    book = "".join(f"Chapter {at}\n\nThe ship of {at}.\n\n" for at in range(chunks))
    return lab.begin(PIPELINE, lab.book(book))


def map_and_die(folder: Path, chunks: int) -> None:
    """Everything up to where the merge would be planned; there the process ends."""
    transitions.plan_merge = lambda *_: os._exit(0)
    lab = laboratory(folder)
    lab.work(begun(lab, chunks))


def merge(lab: Laboratory, job: Job) -> tuple[int, int, str, int]:
    """(entries, citations, hash of the canonical export, peak memory in MB) of a job that is worked on to its end."""
    assert lab.work(job).state is JobState.DONE
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


def merge_what_is_left(folder: Path) -> tuple[int, int, str, int]:
    """The rest of the job that `map_and_die` left."""
    lab = laboratory(folder)
    with lab.database.read() as rows:
        (job,) = rows.jobs.latest(1)
    return merge(lab, job)


def child(call: str) -> list[str]:
    """A call in a process of its own, whose memory is its own."""
    known = "from pathlib import Path; from tests.integration import test_merge_memory as test"
    code = f"{known}; print(*(test.{call} or ()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def peak_of(folder: Path, chunks: int) -> int:
    """Peak memory, in MB, of a process that merges the mentions of so many chunks and streams all citations."""
    child(f"map_and_die(Path({str(folder)!r}), {chunks})")
    entries, cited, _, peak = child(f"merge_what_is_left(Path({str(folder)!r}))")
    assert (int(entries), int(cited)) == (NAMES, chunks * PER_CHUNK)
    return int(peak)


def test_shards_in_passes_and_entries_in_runs_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = laboratory(tmp_path / "whole")
    whole = merge(lab, begun(lab, 24))
    assert whole[1] == 24 * PER_CHUNK
    monkeypatch.setattr(merges, "PARTS_AT_ONCE", 500)
    monkeypatch.setattr("pipeline.reduce.glossary.stream.MOST_CITES", 700)
    monkeypatch.setattr("workers.outputs.merges.BATCH_CITES", 50)
    monkeypatch.setattr("workers.outputs.cite.AT_ONCE", 7)
    monkeypatch.setattr("workers.outputs.cite.HELD", 10)
    lab = laboratory(tmp_path / "parts")
    assert merge(lab, begun(lab, 24))[:3] == whole[:3]


@pytest.mark.nightly
def test_ten_times_the_mentions_need_hardly_more_memory(tmp_path: Path) -> None:
    small, large = peak_of(tmp_path / "small", 5_000), peak_of(tmp_path / "large", 50_000)
    told = f"peak memory: {small} MB at 500,000 mentions, {large} MB at 5,000,000"
    logging.getLogger(__name__).warning(told)
    assert large < 1.5 * small + 64, told
