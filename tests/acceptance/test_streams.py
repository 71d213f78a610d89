"""Ctrl-C, closed pipes, standard input, and streams that hold what they should."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import threading
import uuid
from pathlib import Path

import pytest

from tests.acceptance.command import STORY, Cli
from tests.acceptance.served import ServedCli

SLOW = """
import threading
from pathlib import Path

from octavo import map_op


@map_op(version=1)
def slowly(text, pause_s=0.02):
    Path("begun").touch()
    threading.Event().wait(pause_s)
    for _ in range(600):
        if not Path("held").exists():
            break
        threading.Event().wait(0.05)
    return {"characters": len(text)}
"""
PIPELINE = 'name = "slow"\n[grain]\nlimit = 40\n[[step]]\nname = "slow"\nkind = "map"\nop = "slowly"\n'


@pytest.fixture(scope="module")
def kept(either: Cli) -> Cli:
    """The command with one good book that was run, in each mode. Tests look at it and leave it as it is."""
    (either.folder / "good.md").write_text(STORY)
    either.ok("run", "good.md", "--pipeline", "glossary")
    return either


def until(there: Path, running: subprocess.Popen[bytes]) -> None:
    """Wait for a file that a running command makes."""
    for _ in range(600):
        if there.exists():
            return
        assert running.poll() is None, running.communicate()
        threading.Event().wait(0.05)
    raise AssertionError(f"{there} was never made")


def begun(cli: Cli, *more: str) -> subprocess.Popen[bytes]:
    """A run that is in the middle of its work."""
    (cli.folder / "slow.py").write_text(SLOW)
    (cli.folder / "slow.toml").write_text(PIPELINE)
    (cli.folder / "begun").unlink(missing_ok=True)
    salt = uuid.uuid4().hex[:6]  # nothing of it is in the memo
    (cli.folder / "book.md").write_text("\n".join(STORY.replace("Bell", f"Bell{salt}{number}") for number in range(60)))
    command = cli.command("run", "book.md", "--pipeline", "slow.toml", "--ops", "slow", *more)
    running = subprocess.Popen(
        command, cwd=cli.folder, env=cli.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until(cli.folder / "begun", running)
    return running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on_and_that_command_finishes(either: Cli, number: signal.Signals) -> None:
    """What runs in the process itself stops; workers go on, and who comes back finds the job where it then is."""
    workers = isinstance(either, ServedCli)
    state = [] if workers else ["--state", "my state"]
    running = begun(either, *state, "--json")
    running.send_signal(number)
    out, err = (stream.decode() for stream in running.communicate(timeout=60))
    assert running.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert ("left: the workers go on" if workers else "tasks are done and kept") in err
    command = shlex.split(err.strip().rpartition(": octavo resume ")[2].partition(",")[0])
    ended = either.ok("resume", *command, "--json")
    assert ended.json["state"] == "done"
    assert 0 < ended.json["calls"] <= ended.json["tasks"]
    again = either.ok("run", "book.md", "-p", "slow.toml", "--ops", "slow", *state, "--json").json
    assert (again["calls"], again["hits"]) == (0, again["tasks"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_ingest_leaves_the_revision_before(cli: Cli, number: signal.Signals) -> None:
    (cli.folder / "book.md").write_text(STORY)
    cli.ok("ingest", "book.md")
    before = cli.ok("manifest", "book.md").out
    (cli.folder / "book.md").write_text("\n".join(STORY.replace("Bell", f"Bell{at}") for at in range(40_000)))
    running = subprocess.Popen(
        cli.command("ingest", "book.md"), cwd=cli.folder, env=cli.environment(), stderr=subprocess.PIPE
    )
    until(cli.state / "octavo.db-wal", running)
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    assert b"Traceback" not in err
    assert running.returncode == 130
    assert b"the same command goes on" in err
    assert cli.ok("manifest", "book.md").out == before


@pytest.mark.parametrize("command", ["export", "chunks good.md", "manifest good.md", "status", "results", "--help"])
def test_a_reader_that_went_away_is_no_error(kept: Cli, command: str) -> None:
    running = subprocess.Popen(
        kept.command(*command.split()),
        cwd=kept.folder,
        env=kept.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait(60) in (0, 1)


READING = [
    "status",
    "status last",
    "jobs",
    "results",
    "chunks good.md",
    "manifest good.md",
    "explain good.md:0",
    "doctor",
]


@pytest.mark.parametrize("command", READING)
def test_json_is_all_there_is_on_stdout(kept: Cli, command: str) -> None:
    ended = kept.ok(*command.split(), "--json")
    assert isinstance(ended.json, dict | list)
    assert ended.out.count("\n") == 1
    assert ended.err == ""


def test_json_of_commands_that_act_is_all_there_is_on_stdout(cli: Cli) -> None:
    (cli.folder / "good.md").write_text(STORY)
    for command in ("ingest good.md", "plan good.md", "run good.md", "resume last", "retry last", "waive last"):
        ended = cli.ok(*command.split(), "--json")
        assert isinstance(ended.json, dict | list), command
        assert ended.err == "", command
    cli.refused("pause", "last", code=1, says="is done: it can not be paused")
    cli.refused("cancel", "last", code=1, says="is done: it can not be cancelled")


def test_lists_without_anything_are_empty_lists(cli: Cli) -> None:
    assert cli.ok("jobs", "--json").json == []
    assert cli.ok("status", "--json").json == {"documents": [], "jobs": [], "views": []}


def test_a_book_by_standard_input_is_a_book(either: Cli) -> None:
    ended = either.ok("run", "-", "--pipeline", "glossary", "--json", stdin=STORY.encode())
    assert ended.json["output"]["entries"][0]["name"] == "Tom Bell"


def test_a_job_paused_from_outside_stops_and_goes_on(either: Cli) -> None:
    (either.folder / "held").touch()
    running = begun(either)
    either.ok("pause", "last")
    (either.folder / "held").unlink()
    _, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert b"paused" in err
    assert either.ok("status", "last", "--json").json["state"] == "paused"
    assert either.ok("resume", "last", "--ops", "slow", "--json").json["state"] == "done"


def test_nul_and_surrogates_are_kept_or_told(cli: Cli) -> None:
    (cli.folder / "odd.txt").write_bytes(b"Chapter 1\n\nTom\0Bell \xed\xa0\x80 came home to Port Averil.\n")
    ended = cli.ok("run", "odd.txt")
    assert "NUL character(s) are kept" in ended.err
    assert "surrogates" in ended.err
    (chunk,) = cli.ok("chunks", "odd.txt", "--json").json
    assert chunk["text"] == "Chapter 1\n\nTom\0Bell \ufffd came home to Port Averil.\n"
    assert cli.ok("export", "--canonical").out.count("\n") == 3
    assert json.loads(cli.ok("manifest", "odd.txt").out)["warnings"]


def test_debug_shows_where_an_error_came_from(cli: Cli) -> None:
    ended = cli.run("--debug", "run", "none.txt")
    assert ended.code == 1
    assert "Traceback" in ended.err
    assert "Traceback" in cli.run("run", "none.txt", environment={"OCTAVO_DEBUG": "1"}).err
    cli.refused("run", "none.txt", code=1, says="none.txt")
