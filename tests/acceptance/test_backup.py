"""Backed up while it runs, restored on another machine, resumed there: nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.processes import Desk, make_desk
from tests.distributed.servers import Postgres

BOOK = {"chapters": 12, "paragraphs": 60, "limit": 2_000}  # some 90 chunks


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


def half_done(desk: Desk, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run slowly, back up in the middle of it, kill."""
    monkeypatch.setenv("PAUSE_S", "2")
    process = desk.start_run()
    monkeypatch.delenv("PAUSE_S")
    until(lambda: sum(desk.calls("map").values()) >= 12)
    told = json.loads(desk.finish(desk.start("db", "backup", str(backup), "--json")))
    assert told["bytes"] == backup.stat().st_size > 10_000
    assert process.poll() is None, "the job was to be at work while it was backed up"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def elsewhere(desk: Desk, folder: Path) -> Desk:
    """Another machine: the ops and the pipeline are there, the book and the state are not."""
    folder.mkdir()
    for name in ("desk_ops.py", desk.pipeline):
        shutil.copy(desk.folder / name, folder / name)
    return Desk(folder, desk.pipeline, folder / "book.txt")


def undisturbed(folder: Path) -> Desk:
    desk = make_desk(folder, "summary", **BOOK)
    desk.run()
    return desk


def test_sqlite_is_backed_up_at_work_restored_elsewhere_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(tmp_path / "here", "summary", **BOOK)
    backup = tmp_path / "octavo.backup"
    half_done(desk, backup, monkeypatch)
    there = elsewhere(desk, tmp_path / "there")
    there.finish(there.start("db", "restore", str(backup)))
    shutil.rmtree(desk.folder)
    done = json.loads(there.finish(there.start("resume", "--json")))
    assert done["state"] == "done"
    whole = undisturbed(tmp_path / "whole")
    assert there.export() == whole.export()
    assert sum(there.calls("map").values()) < sum(whole.calls("map").values()) - 4
    again = there.start("db", "restore", str(backup))
    _, told = again.communicate(timeout=60)
    assert again.returncode == 2
    assert b"already" in told


@pytest.mark.nightly
def test_postgresql_is_backed_up_at_work_restored_elsewhere_and_resumed(
    tmp_path: Path, postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        postgres_server.sql(f"CREATE DATABASE backup_{name}")
    monkeypatch.setenv("OCTAVO_DATABASE_URL", postgres_server.url("backup_here"))
    desk = make_desk(tmp_path / "here", "summary", **BOOK)
    backup = tmp_path / "octavo.backup"
    half_done(desk, backup, monkeypatch)
    postgres_server.sql("DROP DATABASE backup_here WITH (FORCE)")
    monkeypatch.setenv("OCTAVO_DATABASE_URL", postgres_server.url("backup_there"))
    monkeypatch.setenv("OCTAVO_LEASE_S", "5")
    there = elsewhere(desk, tmp_path / "there")
    there.finish(there.start("db", "restore", str(backup)))
    shutil.rmtree(desk.folder)
    done = json.loads(there.finish(there.start("resume", "--json")))
    assert done["state"] == "done"
    monkeypatch.delenv("OCTAVO_DATABASE_URL")
    whole = undisturbed(tmp_path / "whole")
    monkeypatch.setenv("OCTAVO_DATABASE_URL", postgres_server.url("backup_there"))
    assert there.export() == _export(whole, monkeypatch)
    assert sum(there.calls("map").values()) < sum(whole.calls("map").values()) - 4


def _export(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.delenv("OCTAVO_DATABASE_URL")
    return desk.export()


def test_what_is_no_backup_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    desk = make_desk(tmp_path / "here", "summary", **BOOK)
    for name, content in (("text", b"not a database"), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
        process = desk.start("db", "restore", str(tmp_path / name))
        _, told = process.communicate(timeout=60)
        assert process.returncode == 2, told
        assert b"no backup" in told
        assert not (desk.state / "octavo.db").exists()
    process = desk.start("db", "backup", str(tmp_path / "text"))
    assert b"there already" in process.communicate(timeout=60)[1]
    assert (tmp_path / "text").read_bytes() == b"not a database"
