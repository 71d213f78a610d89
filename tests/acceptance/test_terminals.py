"""What a book says reaches no terminal as anything but text, by whatever command; without its guard each would fail."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from unittest import mock

import pytest

from octavo.cli import console
from tests.acceptance.command import STORY, Cli

NAME = "evil\x1b[2J.md"
STEERS = {"\x1b", "\x07", "\x9b", "\u202e", "\r"}
BOOK = (
    "# The \x1b[31mFerry\x9b\n\n"
    "Tom \x1b[1mBell\x07 came\u202e to Port Averil, and Tom Bell stayed there with Anna Crane.\n\n"
    "# The Bridge\n\nAnna Crane of Port Averil saw Tom Bell.\n"
)
READING = [
    "results last",
    "chunks NAME",
    "diff NAME",
    "grain NAME --pipeline glossary",
    "explain NAME:0",
    "explain fold/1/0",
    "search Bell",
    "context Bell",
    "context --replay last",
    "ask 'Who is Tom Bell?'",
    "entities list NAME",
    "entities decisions NAME",
    "run NAME --pipeline summary",
    "view show names",
    "view list",
]
# What these print of a book is its name, which the file system gave and reading it made plain.
NAMES = ["status", "status last", "status names", "jobs", "plan NAME", "usage --by document", "ingest NAME", "sweep"]
EXACT = [
    "export --format markdown",
    "export --canonical",
    "results last --json",
    "chunks NAME --json",
    "context Bell --json",
]


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A book full of what steers terminals, edited once, with results, a view and decisions about it."""
    folder = tmp_path_factory.mktemp("evil")
    cli = Cli(folder, folder / "state")
    (folder / NAME).write_text(BOOK)
    cli.ok("run", NAME, "--pipeline", "summary")
    (folder / NAME).write_text(BOOK.replace("stayed", "went\u202e\x9b"))
    cli.ok("run", NAME, "--pipeline", "glossary")
    cli.ok("entities", "rename", NAME, "Anna Crane", "Anna \x1b[5mCrane")
    cli.ok("view", "add", "names", "--pipeline", "summary", "--documents", NAME)
    cli.ok("sweep")
    cli.ok("context", "Bell")
    return cli


def asked(evil: Cli, command: str, *, terminal: bool = False) -> str:
    """What a command prints, on both streams."""
    words = [word.replace("NAME", NAME) for word in shlex.split(command)]
    ended = evil.ok(*words, terminal=terminal)
    return ended.out + ended.err


@pytest.mark.parametrize("command", [*READING, *NAMES])
def test_what_steers_terminals_is_shown_and_not_obeyed(evil: Cli, command: str) -> None:
    assert not STEERS & set(asked(evil, command)), command
    if command in NAMES:
        return
    with mock.patch.object(console, "safe", str), mock.patch.object(console, "safe_lines", str):
        assert STEERS & set(asked(evil, command)), f"{command} shows nothing of the book: this proves nothing"


@pytest.mark.parametrize("command", EXACT)
def test_what_is_exact_in_a_file_is_harmless_on_a_terminal(evil: Cli, command: str) -> None:
    """JSON is the same value in both; Markdown shows as text what a terminal would obey."""
    exact, shown = asked(evil, command), asked(evil, command, terminal=True)
    assert STEERS & set(exact), f"{command} shows nothing of the book: this proves nothing"
    assert not STEERS & set(shown)
    if "markdown" not in command and "context" not in command:  # a bundle has a new trace each time
        assert [json.loads(line) for line in shown.split("\n") if line] == [
            json.loads(line) for line in exact.split("\n") if line
        ]
    with mock.patch.object(console, "for_terminal", bytes):
        assert STEERS & set(asked(evil, command, terminal=True))


def test_a_real_terminal_gets_no_more(evil: Cli, tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    running = subprocess.Popen(
        evil.command("export", "--format", "markdown"),
        cwd=evil.folder,
        env=evil.environment(),
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    said = b""
    try:
        while block := os.read(ours, 1 << 16):
            said += block
    except OSError:  # the other side is closed: that is how a terminal ends
        pass
    os.close(ours)
    assert running.wait(60) == 0
    assert "Bell" in said.decode()
    assert not STEERS & set(said.decode().replace("\r\n", "\n"))  # the terminal itself ends lines so


def test_emoji_and_joined_scripts_are_left_as_they_are() -> None:
    said = "नमस्\u200dते \U0001f469\u200d\U0001f680 青石渡"
    assert console.safe(said) == said
    assert console.for_terminal(said.encode()).decode() == said
    hidden = "a\U000e0041b"  # a tag character
    assert json.loads(console.for_terminal(json.dumps(hidden, ensure_ascii=False).encode())) == hidden


def test_the_story_is_plain(tmp_path: Path) -> None:
    """What holds nothing odd is not touched."""
    assert console.for_terminal(STORY.encode()) == STORY.encode()
