"""Views by command: added, swept, watched, looked at, removed; embedded and by workers alike."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.command import STORY, Cli

EDITED = STORY.replace("thirty years", "forty years")


def until(holds: Callable[[], bool], running: subprocess.Popen[bytes] | None = None) -> None:
    for _ in range(1200):
        if holds():
            return
        assert running is None or running.poll() is None, running.communicate()
        threading.Event().wait(0.05)
    raise AssertionError("it never came")


def test_a_view_is_added_swept_shown_and_renewed(either: Cli) -> None:
    cli = either
    folder = cli.folder / "books"
    folder.mkdir()
    (folder / "ferry.md").write_text(STORY)
    cli.ok("view", "add", "names", "--pipeline", "glossary", "--documents", "books")
    cli.refused("view", "show", "names", code=5, says="serves nothing yet")
    (row,) = cli.ok("sweep", "--json").json
    assert (row["view"], row["state"], row["missing"], row["troubles"]) == ("names", "done", 1, [])
    assert row["calls"] > 0
    before = cli.ok("view", "show", "names", "--json").json
    assert "Tom Bell" in {entry["name"] for entry in before["entries"]}
    (again,) = cli.ok("sweep", "names", "--json").json
    assert (again["fresh"], again["job"], again["calls"]) == (True, None, 0)

    (folder / "ferry.md").write_text(EDITED.replace("Tom Bell", "Agnes Thorn"))
    status = cli.ok("status", "names", "--json").json
    assert (status["state"], status["stale"], status["why"]) == ("stale", 1, ["source"])
    assert cli.ok("view", "show", "names", "--json").json == before
    said = cli.ok("sweep").err
    assert "1 stale by source" in said
    assert "fresh again with" in said
    after = cli.ok("view", "show", "names", "--json").json
    assert "Agnes Thorn" in {entry["name"] for entry in after["entries"]}
    assert "Tom Bell" not in {entry["name"] for entry in after["entries"]}
    assert "names" in cli.ok("status").out
    assert cli.ok("export", "names", "--format", "markdown").out.startswith("# glossary")
    assert cli.ok("view", "list", "--json").json[0]["refresh"] == 2
    cli.ok("view", "remove", "names")
    assert cli.ok("view", "list", "--json").json == []
    assert cli.ok("sweep", "--json").json == []


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("view", "add", "9", "--documents", "good.md"), 2, "no name for a view"),
        (("view", "add", "x", "--documents", "nowhere.md"), 5, "no file and no document nowhere.md"),
        (("view", "add", "x", "--documents", "-"), 2, "can not read standard input"),
        (("view", "add", "x", "--documents", "good.md", "--pipeline", "nosuch"), 2, "There is no pipeline"),
        (("view", "add", "x", "--documents", "good.md", "--every", "often"), 2, "no span of time"),
        (("view", "show", "nosuch"), 5, "There is no view 'nosuch'"),
        (("view", "remove", "nosuch"), 5, "There is no view 'nosuch'"),
        (("sweep", "nosuch"), 5, "There is no view 'nosuch'"),
        (("watch", "."), 2, "No view is over anything in"),
        (("watch",), 2, "There is no folder to watch"),
        (("diff", "good.md"), 5, "has one revision"),
        (("diff", "good.md", "1"), 2, "Name two revisions"),
        (("diff", "good.md", "1", "9"), 5, "has no revision 9"),
    ],
)
def test_what_can_not_be_is_told_in_one_line(kept: Cli, arguments: tuple[str, ...], code: int, says: str) -> None:
    kept.refused(*arguments, code=code, says=says)


def test_a_view_of_a_name_that_is_taken_is_refused_and_the_first_stays(cli: Cli) -> None:
    (cli.folder / "a.md").write_text(STORY)
    cli.ok("view", "add", "x", "--documents", "a.md", "--pipeline", "outline")
    cli.refused("view", "add", "x", "--documents", "a.md", code=2, says="There is a view 'x' already")
    assert [row["pipeline"] for row in cli.ok("view", "list", "--json").json] == ["outline"]


def test_a_sweep_from_another_folder_finds_the_same_files(cli: Cli) -> None:
    (cli.folder / "a.md").write_text(STORY)
    cli.ok("view", "add", "x", "--documents", "*.md")
    (cli.folder / "b.md").write_text(EDITED)
    elsewhere = Cli(cli.folder / "deep", cli.state)
    elsewhere.folder.mkdir()
    (row,) = elsewhere.ok("sweep", "--json").json
    assert row["documents"] == 2


def test_a_source_that_can_not_be_read_is_told_and_the_exit_code_says_so(cli: Cli) -> None:
    for name in ("a.md", "b.md"):
        (cli.folder / name).write_text(STORY)
    cli.ok("view", "add", "x", "--documents", "*.md")
    cli.ok("sweep")
    (cli.folder / "b.md").write_bytes(bytes(range(256)) * 50)
    ended = cli.run("sweep")
    assert ended.code == 1
    assert "warning: view x:" in ended.err
    assert "Traceback" not in ended.err
    assert cli.ok("view", "show", "x", "--json").json


def test_watch_renews_a_view_when_its_files_come_to_rest_and_ends_on_ctrl_c(cli: Cli) -> None:
    folder = cli.folder / "books"
    folder.mkdir()
    book = folder / "ferry.md"
    book.write_text(STORY)
    cli.ok("view", "add", "names", "--pipeline", "glossary", "--documents", "books")

    def refresh() -> int:
        return int(cli.ok("view", "list", "--json").json[0]["refresh"])

    log = cli.folder / "log"
    with log.open("wb") as out:
        command = cli.command("watch", "books", "--rest", "0.2")
        running = subprocess.Popen(command, cwd=cli.folder, env=cli.environment(), stderr=out)
    try:
        until(lambda: refresh() == 1, running)
        for number in range(5):  # written bit by bit, as editors and downloads do
            book.write_text(EDITED[: len(EDITED) * (number + 1) // 5])
        until(lambda: refresh() >= 2, running)
        until(lambda: "forty" in str(cli.ok("chunks", "books/ferry.md", "--json").json), running)
        (folder / "second.md").write_text(STORY.replace("Tom Bell", "Agnes Thorn"))
        until(lambda: "Agnes Thorn" in cli.ok("view", "show", "names", "--json").out, running)
        (folder / "second.md").unlink()
        until(lambda: "Agnes Thorn" not in cli.ok("view", "show", "names", "--json").out, running)
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(timeout=60)
    assert running.returncode == 0, log.read_text()
    assert "Traceback" not in log.read_text()


def test_diff_prints_what_changed(cli: Cli) -> None:
    book = cli.folder / "ferry.md"
    for text in (STORY, EDITED):
        book.write_text(text)
        cli.ok("ingest", "ferry.md")
    out = cli.ok("diff", "ferry.md").out
    assert "revision 1 → 2: 1 kept, 1 edited" in out
    assert "thirty years" in out
    assert "forty years" in out
    assert cli.ok("diff", "ferry.md", "2", "1", "--json").json["counts"]["edited"] == 1


def test_a_moved_book_is_the_same_book(cli: Cli) -> None:
    book = cli.folder / "ferry.md"
    book.write_text(STORY)
    first = cli.ok("run", "ferry.md", "--json").json
    Path(book).rename(cli.folder / "renamed.md")
    second = cli.ok("run", "renamed.md", "--json").json
    assert (first["calls"] > 0, second["calls"]) == (True, 0)
    assert len(cli.ok("status", "--json").json["documents"]) == 1
