"""Many sources at once: several processes, and what goes wrong with one costs that one alone."""

from __future__ import annotations

import io
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from db.database import Database
from pipeline import canonical
from pipeline.settings import Settings
from pipeline.spec import GrainSpec
from workers.ingest import pool
from workers.ingest.attempt import Attempt, Failed
from workers.ingest.find import Found, look
from workers.ingest.ingest import Ingested, Outcome
from workers.ingest.pool import ingest_parallel
from workers.ingest.serving import Task
from workers.outputs.manifest import manifest
from workers.runtime import Runtime

WAIT_S = 60.0


def _chapter(number: int) -> str:
    return f"Chapter {number}\n\n" + f"The keeper of lamp {number} rowed home at noon. " * 30 + "\n\n"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with twelve small books."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for number in range(1, 13):
        (folder / f"{number}.txt").write_text("".join(_chapter(number * 10 + each) for each in range(3)))
    return folder


def _runtime(folder: Path) -> Runtime:
    runtime = Runtime(Settings(state=folder, tokenizer="characters"))
    assert runtime.database
    return runtime


def _bring(runtime: Runtime, sources: list[Found], processes: int) -> list[Attempt]:
    task = Task(settings=runtime.settings, grain=GrainSpec(limit=400), encoding=None, collection="default")
    return ingest_parallel(task, sources, processes=processes, on_done=lambda at, outcome, held: None)


def _manifests(database: Database, outcomes: list[Attempt]) -> list[bytes]:
    assert all(isinstance(item, Ingested) for item in outcomes)
    with database.read() as rows:
        return [
            canonical.dumps(manifest(rows, item.document, item.chunking_id, canonical=True))
            for item in outcomes
            if isinstance(item, Ingested)
        ]


def _sources(shelf: Path, runtime: Runtime) -> list[Found]:
    return list(look([str(shelf)], runtime.spool, io.BytesIO()).sources)


def test_several_processes_store_what_one_does_and_say_it_in_order(shelf: Path, tmp_path: Path) -> None:
    one, many = _runtime(tmp_path / "one"), _runtime(tmp_path / "many")
    sources = _sources(shelf, one)
    alone, together = _bring(one, sources, 1), _bring(many, sources, 3)
    assert [item.document.title for item in together if isinstance(item, Ingested)] == [str(n) for n in range(1, 13)]
    assert _manifests(one.database, alone) == _manifests(many.database, together)
    again = _bring(many, sources, 3)
    assert {item.outcome for item in again if isinstance(item, Ingested)} == {Outcome.UNCHANGED}
    one.close()
    many.close()


def _pipe(folder: Path) -> Found:
    """A source that nothing comes out of."""
    path = folder / "silent.txt"
    os.mkfifo(path)
    return Found(path=path, uri=path.as_uri(), name=path.name)


def test_a_source_that_takes_too_long_is_given_up_and_the_others_are_read(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PATIENCE_S", 4.0)
    runtime = _runtime(tmp_path / "state")
    sources = _sources(shelf, runtime)[:3]
    outcomes = _bring(runtime, [sources[0], _pipe(tmp_path), *sources[1:]], 1)
    failed = outcomes[1]
    assert isinstance(failed, Failed)
    assert failed.message == "silent.txt: it was not read within 4 s and was given up"
    assert [isinstance(item, Ingested) for item in outcomes] == [True, False, True, True]
    assert not multiprocessing.active_children()
    runtime.close()


def test_a_process_that_dies_costs_its_source_and_no_other(shelf: Path, tmp_path: Path) -> None:
    runtime = _runtime(tmp_path / "state")
    sources = _sources(shelf, runtime)[:3]

    def kill() -> None:
        for child in multiprocessing.active_children():
            child.kill()

    def on_done(at: int, outcome: Attempt, held: int) -> None:
        if at == 0:
            threading.Timer(0.2, kill).start()  # the next source is the silent one: the process waits in it

    task = Task(settings=runtime.settings, grain=GrainSpec(limit=400), encoding=None, collection="default")
    outcomes = ingest_parallel(task, [sources[0], _pipe(tmp_path), *sources[1:]], processes=1, on_done=on_done)
    failed = outcomes[1]
    assert isinstance(failed, Failed)
    assert failed.message.startswith("silent.txt: the process that read it died (SIGKILL")
    assert [isinstance(item, Ingested) for item in outcomes] == [True, False, True, True]
    runtime.close()


def test_a_process_that_grew_is_replaced_and_nothing_is_lost(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "FULL_BYTES", 1)
    runtime = _runtime(tmp_path / "state")
    outcomes = _bring(runtime, _sources(shelf, runtime)[:3], 1)
    assert [isinstance(item, Ingested) for item in outcomes] == [True, True, True]
    runtime.close()


def test_processes_end_when_what_started_them_is_killed(shelf: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    os.mkfifo(shelf / "zz.txt")
    command = [sys.executable, "-c", _COMMAND, str(shelf), str(state)]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        assert len(_session(process.pid)) >= 3
        process.kill()
    deadline = time.monotonic() + WAIT_S
    while _session(process.pid):
        assert time.monotonic() < deadline, "processes were left behind"
    runtime = _runtime(state)
    outcomes = _bring(runtime, _sources(shelf, runtime), 2)
    assert len(outcomes) == 12
    assert Outcome.UNCHANGED in {item.outcome for item in outcomes if isinstance(item, Ingested)}
    runtime.close()


# A command that is killed while one of its processes reads and the other waits.
_COMMAND = """
import io, sys
from pathlib import Path
from pipeline.settings import Settings
from pipeline.spec import GrainSpec
from workers.ingest.find import Found, look
from workers.ingest.pool import ingest_parallel
from workers.ingest.serving import Task
from workers.runtime import Runtime
if __name__ == "__main__":
    shelf, state = map(Path, sys.argv[1:])
    runtime = Runtime(Settings(state=state, tokenizer="characters"))
    assert runtime.database
    pipe = shelf / "zz.txt"
    silent = Found(path=pipe, uri=pipe.as_uri(), name="zz.txt")
    sources = [silent, *look([str(shelf)], runtime.spool, io.BytesIO()).sources]
    task = Task(settings=runtime.settings, grain=GrainSpec(limit=400), encoding=None, collection="default")
    ingest_parallel(task, sources, processes=2, on_done=lambda at, outcome, held: print("done", flush=True))
"""


def _session(leader: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue
        if int(session) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found
