"""A state folder that can not be used: full, read-only, damaged, newer, or no folder at all. What was there stays."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.command import STORY, Cli, no_root


def copied(kept: Cli, tmp_path: Path) -> Cli:
    """A copy of the good state, to be spoilt."""
    folder = tmp_path / "copy"
    shutil.copytree(kept.folder, folder)
    return Cli(folder, folder / "state")


def no_file_above(size: int) -> None:
    """A disk that is full: no file of this process may grow above a size (POSIX RLIMIT_FSIZE)."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def big_book(folder: Path) -> str:
    chapters = (f"# Part {number}\n\n" + STORY.replace("Bell", f"Bell{number}") for number in range(150))
    (folder / "big.md").write_text("\n".join(chapters))
    return "big.md"


def test_a_full_disk_is_told_and_what_was_there_stays(kept: Cli, tmp_path: Path) -> None:
    cli = copied(kept, tmp_path)
    before = cli.ok("manifest", "good.md").out
    size = (cli.state / "octavo.db").stat().st_size
    name = big_book(cli.folder)
    cli.refused("run", name, code=1, says="", preexec_fn=lambda: no_file_above(size + 40_000))
    assert cli.ok("manifest", "good.md").out == before
    ended = cli.ok("run", name, "--json")
    assert ended.json["state"] == "done"


def test_a_disk_that_is_full_from_the_start_is_told(cli: Cli) -> None:
    (cli.folder / "good.md").write_text(STORY)
    cli.refused("run", "good.md", code=1, says="octavo.db", preexec_fn=lambda: no_file_above(20_000))
    cli.ok("run", "good.md")


def test_a_small_file_system_that_fills_up_is_told(cli: Cli, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a small file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("this system mounts nothing")
    try:
        name = big_book(cli.folder)
        ended = cli.refused("run", name, "--state", disk / "state", code=1, says="full")
        assert "what was committed is kept" in ended.err
        cli.ok("status", "--state", disk / "state")
        cli.refused("ingest", "-", "--state", disk / "state", code=1, says="", stdin=STORY.encode() * 3000)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_an_export_that_can_not_be_written_leaves_the_file_before(kept: Cli, tmp_path: Path) -> None:
    target = tmp_path / "closed" / "out.jsonl"
    target.parent.mkdir()
    target.write_text("before")
    target.parent.chmod(0o555)
    kept.refused("export", "--to", target, code=1, says="out.jsonl can not be written", **no_root())
    target.parent.chmod(0o755)
    assert target.read_text() == "before"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no full device")
def test_an_output_that_can_not_be_written_is_told(kept: Cli) -> None:
    for command in (["export"], ["status"], ["manifest", "good.md"]):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                kept.command(*command), cwd=kept.folder, env=kept.environment(), stdout=full, stderr=subprocess.PIPE
            )
        assert done.returncode == 1
        assert done.stderr.startswith(b"error: ")
        assert b"Traceback" not in done.stderr
    kept.refused("export", "--to", "/dev/full", code=1, says="/dev/full can not be written")
    assert Path("/dev/full").is_char_device()


def test_a_read_only_state_is_told(kept: Cli, tmp_path: Path) -> None:
    cli = copied(kept, tmp_path)
    user = no_root()
    for path in [cli.state, *cli.state.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        for command in (["run", "good.md"], ["status"], ["ingest", "good.md"]):
            ended = cli.refused(*command, code=1, says="can not be written", **user)
            assert "--state" in ended.err
    finally:
        for path in [cli.state, *cli.state.rglob("*")]:
            path.chmod(0o755)
    cli.ok("manifest", "good.md")


def test_a_database_that_is_read_only_is_told(kept: Cli, tmp_path: Path) -> None:
    cli = copied(kept, tmp_path)
    user = no_root()
    cli.state.chmod(0o777)
    (cli.state / "octavo.db").chmod(0o444)
    (cli.folder / "new.md").write_text(STORY)
    cli.refused("ingest", "new.md", code=1, says="can not be written", **user)
    assert cli.ok("status", "--json").json["documents"][0]["title"]


@pytest.mark.parametrize("command", [["status"], ["run", "good.md"], ["export"], ["db", "upgrade"]], ids=" ".join)
def test_a_file_that_is_no_database_is_told(cli: Cli, command: list[str]) -> None:
    (cli.folder / "good.md").write_text(STORY)
    cli.state.mkdir()
    (cli.state / "octavo.db").write_bytes(bytes(range(1, 250)) * 40)
    cli.refused(*command, code=1, says="damaged")
    assert (cli.state / "octavo.db").read_bytes() == bytes(range(1, 250)) * 40


def test_a_damaged_database_is_told(kept: Cli, tmp_path: Path) -> None:
    cli = copied(kept, tmp_path)
    path = cli.state / "octavo.db"
    data = bytearray(path.read_bytes())
    data[3 * 4096 :] = bytes((7 * at) % 251 for at in range(len(data) - 3 * 4096))
    path.write_bytes(data)
    ended = cli.refused("run", "good.md", code=1, says="damaged")
    assert "restore it from a backup" in ended.err


def test_a_state_of_a_newer_version_is_refused_untouched(kept: Cli, tmp_path: Path) -> None:
    cli = copied(kept, tmp_path)
    connection = sqlite3.connect(cli.state / "octavo.db")
    with connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    for command in (["run", "good.md"], ["status"], ["db", "upgrade"]):
        ended = cli.refused(*command, code=1, says="newer Octavo")
        assert "9999" in ended.err
        assert "upgrade Octavo" in ended.err
    ended = cli.run("doctor", "--json")
    assert ended.code == 1
    assert [item["ok"] for item in ended.json if item["check"] == "database"] == [False]


def test_a_database_of_something_else_is_refused(cli: Cli) -> None:
    cli.state.mkdir()
    connection = sqlite3.connect(cli.state / "octavo.db")
    with connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    cli.refused("status", code=1, says="is not Octavo's")


def test_a_state_folder_that_is_a_file_is_told(cli: Cli) -> None:
    (cli.folder / "file").write_text("I am a file")
    cli.refused("status", "--state", "file", code=1, says="file is a file")
    cli.refused("status", "--state", "file/below", code=1, says="lies in one")
    assert (cli.folder / "file").read_text() == "I am a file"


@pytest.mark.parametrize("name", ["a?b", "a%20b", "a#b;c", "书 库", "it's", "-dash"])
def test_a_state_folder_may_have_any_name(cli: Cli, name: str) -> None:
    (cli.folder / "good.md").write_text(STORY)
    cli.ok("ingest", "good.md", f"--state={name}")
    assert (cli.folder / name / "octavo.db").is_file()
    assert sorted(path.name for path in cli.folder.iterdir()) == sorted([name, "good.md"])


def test_a_state_folder_whose_name_is_no_text_is_told(cli: Cli) -> None:
    odd = os.fsdecode(b"b\xffk")
    cli.refused("status", "--state", odd, code=2, says="not UTF-8")
    assert not (cli.folder / odd).exists()
