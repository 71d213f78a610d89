"""Folders, archives and books in parts, from the command line: what became of each file, and nothing else read."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path

import pytest

from octavo.cli import ingest as ingest_module
from tests.acceptance.command import Cli

BODY = "Tom Bell kept the ferry at Port Averil for thirty years, and knew every sandbank to the sea.\n\n" * 3


def _chapter(number: int, name: str = "Tom Bell") -> str:
    return f"Chapter {number}\n\n{BODY.replace('Tom Bell', name)}{name} rowed home on day {number}.\n\n"


def _zip(*files: tuple[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in files:
            archive.writestr(name, text)
    return target.getvalue()


def _write(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.fixture
def mixed(cli: Cli) -> Path:
    """A folder with good books, bad ones, and things that are no books."""
    folder = cli.folder / "shelf"
    _write(folder / "1.txt", _chapter(1))
    _write(folder / "10.txt", _chapter(10))
    _write(folder / "2.md", f"# Two\n\n{BODY}")
    _write(folder / "deep/3.txt.gz", gzip.compress(_chapter(3).encode()))
    _write(folder / "empty.txt", "")
    _write(folder / "noise.txt", bytes(range(256)) * 64)
    _write(folder / "cover.png", b"\x89PNG\r\n\x1a\n")
    _write(folder / ".hidden.txt", _chapter(99))
    _write(cli.folder / "outside.txt", _chapter(98))
    (folder / "link.txt").symlink_to(cli.folder / "outside.txt")
    (folder / "up").symlink_to(cli.folder)
    os.mkfifo(folder / "pipe.txt")
    return folder


def test_each_file_of_a_folder_has_an_outcome_and_the_good_ones_are_in(cli: Cli, mixed: Path) -> None:
    ended = cli.run("ingest", "shelf", "--json")
    assert ended.code == 1
    assert "Traceback" not in ended.err
    rows = {row["document"]: row for row in ended.json}
    assert {name: row["what"] for name, row in rows.items()} == {
        "1": "read", "10": "read", "Two": "read", "3": "read", "empty.txt": "failed", "noise.txt": "failed",
        "shelf/cover.png": "skipped", "shelf/link.txt": "skipped", "shelf/up": "skipped", "shelf/pipe.txt": "skipped",
    }  # fmt: skip
    assert [row["document"] for row in ended.json if row["what"] == "read"] == ["1", "Two", "10", "3"]
    assert rows["empty.txt"]["reason"].endswith("empty.txt is empty")
    assert "symbolic link" in rows["shelf/link.txt"]["reason"]
    assert rows["shelf/pipe.txt"]["reason"] == "no regular file"
    again = cli.run("ingest", "shelf")
    assert again.code == 1
    assert "4 unchanged, 4 skipped, 2 failed" in again.err
    assert len(cli.ok("status", "--json").json["documents"]) == 4


def test_a_run_over_a_folder_with_a_bad_file_names_it_and_keeps_the_others(cli: Cli, mixed: Path) -> None:
    ended = cli.refused("run", "shelf", "--json", code=1, says="empty.txt is empty")
    assert "4 of 6 files are in already" in ended.err


def test_several_processes_and_one_say_the_same_of_a_folder(cli: Cli, mixed: Path, tmp_path: Path) -> None:
    keep = ("document", "what", "encoding", "sections", "chunks", "tokens", "reason")
    plain = cli.run("ingest", "shelf", "--json").json
    many = cli.run("ingest", "shelf", "--json", "--jobs", "2", "--state", tmp_path / "other").json
    assert [[row.get(name) for name in keep] for row in many] == [[row.get(name) for name in keep] for row in plain]


def test_a_bar_is_for_many_and_on_a_terminal_else_lines(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_module, "PLAIN_EVERY_S", 0.0)
    for number in range(1, ingest_module.TOLD_ONE_BY_ONE + 2):
        _write(cli.folder / f"many/{number}.txt", _chapter(number))
    ended = cli.ok("ingest", "many")
    assert f"ingest: {ingest_module.TOLD_ONE_BY_ONE + 1}/{ingest_module.TOLD_ONE_BY_ONE + 1}" in ended.err
    assert "chunks 1 added" not in ended.err


def test_a_folder_of_chapters_is_one_book_in_natural_order(cli: Cli) -> None:
    for number in (1, 2, 9, 10, 11):
        _write(cli.folder / f"novel/chapter {number}.txt", _chapter(number, name=f"Keeper {number}"))
    rows = cli.ok("ingest", "novel", "--as-book", "--json").json
    assert [(row["document"], row["what"], row["sections"]) for row in rows] == [("novel", "read", 5)]
    warnings = [warning["message"] for warning in rows[0]["warnings"]]
    assert warnings == ["chapters 3, 4, 5, 6, 7, 8 are missing before line 21"]
    titles = [section["title"] for section in cli.ok("manifest", "novel").json["sections"]]
    assert titles == [f"Chapter {number}" for number in (1, 2, 9, 10, 11)]
    assert cli.ok("ingest", "novel", "--as-book", "--json").json[0]["what"] == "unchanged"
    _write(cli.folder / "novel/chapter 3.txt", _chapter(3))
    changed = cli.ok("ingest", "novel", "--as-book", "--json").json[0]
    assert (changed["what"], changed["kept"], changed["added"]) == ("changed", 5, 1)


def test_chapters_in_an_archive_are_documents_or_one_book(cli: Cli) -> None:
    data = _zip(
        ("b/第十章.txt", _chapter(10)), ("b/第二章.txt", _chapter(2)), ("b/cover.jpg", "x"), ("../out.txt", "x")
    )
    _write(cli.folder / "novel.zip", data)
    rows = cli.ok("ingest", "novel.zip", "--json").json
    assert [(row["document"], row["what"]) for row in rows if row["what"] == "read"] == [
        ("第二章", "read"), ("第十章", "read"),
    ]  # fmt: skip
    assert sum(row["what"] == "skipped" for row in rows) == 2
    assert not (cli.folder.parent / "out.txt").exists()
    assert [row["what"] for row in cli.ok("ingest", "novel.zip", "--json").json][:2] == ["unchanged", "unchanged"]
    book = cli.ok("ingest", "novel.zip", "--as-book", "--json", "--state", cli.state / "other").json
    assert [(row["document"], row["sections"]) for row in book if row["what"] == "read"] == [("novel", 2)]


def test_what_names_a_file_itself_may_be_a_link_or_a_pipe_but_no_device(cli: Cli) -> None:
    _write(cli.folder / "real.txt", _chapter(1))
    (cli.folder / "link.txt").symlink_to("real.txt")
    assert cli.ok("ingest", "link.txt", "--json").json[0]["what"] == "read"
    cli.refused("ingest", "/dev/null", code=1, says="/dev/null is no file")
    piped = cli.ok("ingest", "/dev/stdin", "--json", stdin=_chapter(5).encode(), prefix=[])
    assert piped.json[0]["what"] == "read"


def test_a_damaged_archive_beside_good_files_fails_alone(cli: Cli) -> None:
    _write(cli.folder / "shelf/1.txt", _chapter(1))
    _write(cli.folder / "shelf/2.zip", _zip(("a.txt", _chapter(2)))[:60])
    _write(cli.folder / "shelf/3.gz", gzip.compress(_chapter(3).encode())[:-9])
    ended = cli.run("ingest", "shelf", "--json")
    assert ended.code == 1
    assert [row["what"] for row in ended.json] == ["read", "failed", "failed"]
    assert all("damaged" in row["reason"] for row in ended.json[1:])


def test_terminal_escapes_in_names_titles_and_text_are_shown_and_not_obeyed(cli: Cli) -> None:
    escape = "\x1b]0;owned\x07\x1b[2J"
    _write(cli.folder / f"shelf/a{escape}.txt", f"Chapter 1: {escape}Ebb\n\n{BODY}Tom Bell {escape} rowed home.\n")
    _write(cli.folder / f"shelf/b{escape}.txt", "")
    for command in (["ingest", "shelf"], ["run", f"shelf/a{escape}.txt"], ["chunks", "last"], ["status"]):
        ended = cli.run(*command)
        assert "\x1b" not in ended.out + ended.err
        assert "\x07" not in ended.out + ended.err
