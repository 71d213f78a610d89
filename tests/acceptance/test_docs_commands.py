"""Every command in the documentation is run, block by block, as a reader would: in one folder, in its order."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.command import OCTAVO, Cli

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE_S = 180
DOCS = [path for folder in ("docs", "docs/adr") for path in (PROJECT / folder).glob("*.md")]
PAGES = ("README.md", *sorted(str(path.relative_to(PROJECT)) for path in DOCS))

# What is not run here, and where it is instead.
ELSEWHERE = {
    "python3 -m venv": "the project's CI installs it so",
    "pip install": "the project's CI installs it so",
    "docker compose": "tests/unit/deploy: the file is checked against its schema, each command against the program",
    "cp deploy/env.example": "tests/unit/deploy",
    "prometheus": "tests/unit/deploy: the rules are parsed",
    "octavo up": "tests/integration/test_up.py",
    "octavo worker": "tests/distributed",
    ". .octavo/up.env": "tests/integration/test_up.py",
    "octavo watch": "tests/acceptance/test_views.py",
    "octavo models test": "tests/acceptance/test_model_commands.py: it asks a server",
    "octavo models probe": "tests/acceptance/test_model_commands.py: it asks a server",
    "cd docs/examples": "tests/acceptance/test_examples.py",
    "octavo run BOOK --ops words": "tests/acceptance/test_examples.py",
}

STORY = """Chapter 1: The Ship

Captain Ahab stood upon the quarter deck. Ahab looked long at the sea, and Stubb looked at Ahab.
"Old Thunder!" said Stubb; for Old Thunder was what the men called Ahab. There was whale oil in the lamp,
and who keeps the lamp keeps the ship, said Stubb.

Chapter 2: The Lamp

Stubb kept the lamp with whale oil. Captain Ahab came and Stubb went. Old Thunder walked alone. Ahab said that Stubb was
to keep the lamp until the morning. In 1851 the lamp went out, and Old Thunder said so to Stubb and to Captain Ahab.
"""
STORY += "".join(
    f"\nChapter {number}: Night {number}\n\nStubb kept the lamp for the {number}th night, and Captain Ahab slept.\n"
    for number in range(3, 17)
)


def blocks() -> Iterator[tuple[str, list[str]]]:
    """(page and line, commands) of each block of commands."""
    for page in PAGES:
        text = (PROJECT / page).read_text(encoding="utf-8")
        for found in re.finditer(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            commands = re.findall(r"^\$ (.*)$", found[1], re.MULTILINE)
            if commands:
                yield f"{page}:{text.count(chr(10), 0, found.start()) + 1}", commands


BLOCKS = dict(blocks())


def elsewhere(command: str) -> bool:
    return any(command.startswith(begin) for begin in ELSEWHERE)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A folder in which all that the documentation names is there: one for all blocks, as a reader has one."""
    folder = tmp_path_factory.mktemp("reader")
    cli = Cli(folder, folder / "state")
    book = cli.folder / "BOOK"
    book.write_text(STORY)
    shutil.copy(book, cli.folder / "BOOK.txt")
    (cli.folder / "books").mkdir()
    shutil.copy(book, cli.folder / "books" / "one.txt")
    (cli.folder / "FOLDER").mkdir()
    shutil.copy(book, cli.folder / "FOLDER" / "two.txt")
    _shop(cli.folder)
    (cli.folder / "octavo.toml").write_text('[models.NAME]\nprovider = "extractive"\n')
    ops = (PROJECT / "docs" / "ops.md").read_text(encoding="utf-8")
    (cli.folder / "years.py").write_text(re.findall(r"```python\n(.*?)```", ops, re.DOTALL)[0])
    (cli.folder / "years.toml").write_text(re.findall(r"```toml\n(.*?)```", ops, re.DOTALL)[0])
    cli.ok("run", "BOOK", "--pipeline", "glossary")
    cli.ok("run", "BOOK")
    return cli


def _shop(folder: Path) -> None:
    connection = sqlite3.connect(folder / "shop.db")
    connection.execute("CREATE TABLE books (isbn TEXT PRIMARY KEY, body TEXT, name TEXT)")
    connection.execute("INSERT INTO books VALUES ('0-395-07122-4', ?, 'A ship')", (STORY,))
    connection.commit()
    connection.close()
    (folder / "books.jsonl").write_text('{"id": "7", "text": "Chapter 1\\n\\nA letter came."}\n')


def words_of(command: str) -> list[str]:
    """A command's words, without its comment."""
    return shlex.split(command, comments=True)


def test_a_command_that_is_not_run_here_is_still_in_the_documentation() -> None:
    every = [command for commands in BLOCKS.values() for command in commands]
    for begin in ELSEWHERE:
        assert any(command.startswith(begin) for command in every), begin


def test_no_command_stands_outside_of_a_block_that_is_run() -> None:
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", (PROJECT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        assert not re.findall(r"^ {4}(?:octavo|docker|pip|prometheus) .*$", text, re.MULTILINE), page


@pytest.mark.parametrize("where", list(BLOCKS))
def test_the_commands_of_the_documentation_run(desk: Cli, where: str) -> None:
    for command in BLOCKS[where]:
        if elsewhere(command):
            continue
        words = words_of(command)
        if words[0].endswith("/octavo"):
            words[0] = "octavo"  # of the environment that was just made
        assert words[0] == "octavo", command
        _prepare(desk, words)
        if words[1] == "web":
            _served(desk, words)
            continue
        done = desk.run(*words[1:])
        assert done.code == 0, f"{command}\n{done.out}\n{done.err}"


def _prepare(desk: Cli, words: list[str]) -> None:
    """What a command takes for granted: that something is there which an earlier page told of."""
    said = " ".join(words[1:])
    if said.startswith("diff"):
        book = desk.folder / "BOOK"
        book.write_text(book.read_text() + "\nIt was the end.\n")
        desk.ok("run", "BOOK")
    if said.startswith("explain fold/"):
        desk.ok("run", "BOOK")
    if said.startswith("entities undo"):
        desk.run("entities", "rename", "BOOK", "Stubb", "Mr. Stubb")
    if said.startswith(("chunks books:", "view add summaries", 'chunks "books:')):
        desk.ok("import", "sqlite:///shop.db", "--table", "books", "--id", "isbn", "--text", "body", "--title", "name")
    if said.startswith("db restore") and not (desk.folder / "octavo.backup").exists():
        desk.ok("db", "backup", "octavo.backup")


def _served(desk: Cli, words: list[str]) -> None:
    """A server: it says where it is, and ends when it is asked to."""
    arguments = [word for word in words[1:] if not word.isdecimal() and word != "--port"]
    process = subprocess.Popen(
        [OCTAVO, *arguments, "--port", "0"], cwd=desk.folder, env=desk.environment(), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    watchdog = threading.Timer(PATIENCE_S, process.kill)
    watchdog.start()
    try:
        address = process.stderr.readline().split()[-1].partition("/enter?code=")[0]
        assert urllib.request.urlopen(f"{address}/health", timeout=PATIENCE_S).read() == b"ok\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
        assert "has stopped" in said
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        process.stderr.close()
