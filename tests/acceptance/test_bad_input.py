"""Bad input: one clear line, an exit code, and nothing of what was there is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.acceptance.command import Cli, no_root

NO_STEP = 'name = "mine"\n[[step]]\nname = "a"\nkind = "map"\nop = "summarize"\n'


@pytest.fixture(autouse=True)
def _nothing_is_lost(request: pytest.FixtureRequest) -> object:
    yield
    if "kept" in request.fixturenames:
        cli: Cli = request.getfixturevalue("kept")
        assert cli.ok("manifest", "good.md").json["line_count"] == 9


def write(folder: Path, name: str, data: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return name


def test_a_missing_file_is_named(kept: Cli) -> None:
    kept.refused("run", "none.txt", code=1, says="none.txt")


def test_a_pattern_without_files_is_named(kept: Cli) -> None:
    kept.refused("run", "*.nothing", code=1, says="*.nothing")


def test_a_folder_without_readable_files_is_named(kept: Cli) -> None:
    write(kept.folder, "pictures/a.png", b"\x89PNG\r\n\x1a\n")
    kept.refused("ingest", "pictures", code=1, says="pictures has no readable files")


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 64, b"%PDF-1.7\n", b"\x7fELF\x02\x01\x01", b"PK\x03\x04\x14\0\0\0"], ids=repr
)
def test_a_binary_file_is_no_book(kept: Cli, data: bytes) -> None:
    kept.refused("run", write(kept.folder, "binary.txt", data), code=1, says="binary.txt is")


def test_an_empty_file_is_no_book(kept: Cli) -> None:
    kept.refused("run", write(kept.folder, "empty.txt", b""), code=1, says="empty.txt is empty")
    kept.refused("run", "-", code=1, says="is empty")


def test_a_good_file_beside_a_bad_one_is_in_already(cli: Cli) -> None:
    write(cli.folder, "books/1.txt", "Chapter 1\n\nTom Bell came home.\n")
    write(cli.folder, "books/2.txt", bytes(range(256)) * 64)
    ended = cli.run("ingest", "books", "--json")
    assert (ended.code, [row["what"] for row in ended.json]) == (1, ["read", "failed"])
    assert "2.txt is not text" in ended.json[1]["reason"]
    ended = cli.refused("run", "books", "--json", code=1, says="2.txt is not text")
    assert "1 of 2 files are in already" in ended.err
    assert len(cli.ok("status", "--json").json["documents"]) == 1


def test_a_bad_edit_leaves_the_revision_before(cli: Cli) -> None:
    name = write(cli.folder, "book.txt", "Chapter 1\n\nTom Bell came home.\n")
    before = cli.ok("ingest", name).code, cli.ok("manifest", name).out
    write(cli.folder, name, bytes(range(256)) * 64)
    cli.refused("ingest", name, code=1, says="book.txt")
    assert (0, cli.ok("manifest", name).out) == before


def test_a_file_one_may_not_read_is_named(cli: Cli) -> None:
    user = no_root()
    name = write(cli.folder, "secret.txt", "Chapter 1\n\nHush.\n")
    (cli.folder / name).chmod(0)
    cli.refused("run", name, code=1, says="secret.txt", **user)


def test_a_folder_one_may_not_read_is_named(cli: Cli) -> None:
    user = no_root()
    write(cli.folder, "closed/a.txt", "Chapter 1\n\nHush.\n")
    (cli.folder / "closed").chmod(0)
    cli.refused("run", "closed", code=1, says="closed", **user)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--pipeline", "nope", "'nope'"),
        ("--pipeline", "nope.toml", "nope.toml"),
        ("--model", "nope", "'nope'"),
        ("--ops", "nope", "'nope'"),
        ("--encoding", "nope", "'nope'"),
        ("--tokenizer", "nope.json", "nope.json"),
        ("--limit", "0", "limit"),
        ("--limit", "many", "--limit"),
        ("--nope", "1", "--nope"),
        ("--citations", "-1", "--citations"),
    ],
)
def test_an_option_that_names_nothing_is_told(kept: Cli, option: str, value: str, says: str) -> None:
    kept.refused("run", "good.md", option, value, code=2, says=says)


def test_an_unknown_command_is_told(kept: Cli) -> None:
    kept.refused("frobnicate", code=2, says="frobnicate")
    kept.refused("run", code=2, says="BOOK")


def test_an_unknown_op_is_told_with_those_there_are(kept: Cli) -> None:
    name = write(kept.folder, "op.toml", NO_STEP.replace("summarize", "sumarize"))
    assert "summarize" in kept.refused("run", "good.md", "-p", name, code=2, says="'sumarize'").err


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[pipeline\nname = 1", ["is not TOML", "line 1"]),
        (NO_STEP.replace("[[step]]", "grian = 1\n[[step]]"), ["grian", "name, description, grain, step"]),
        (NO_STEP + "timeout = 3\n", ["step, number 1, timeout", "timeout_s"]),
        (NO_STEP.replace('"map"', '"mop"'), ["step, number 1, kind", "'map', 'merge' or 'fold'"]),
        (NO_STEP + 'after = "z"\n', ["'a' comes after 'z'"]),
        (NO_STEP + 'on_hole = "cry"\n', ["on_hole", "'wait', 'fail' or 'continue'"]),
        (NO_STEP.replace("[[step]]", "[grain]\nlimit = 5\noverlap = 5\n[[step]]"), ["grain", "overlap 5", "limit 5"]),
        ('name = "mine"\n', ["step"]),
        (NO_STEP.replace("op =", "params = {sentenses = 2}\nop ="), ["'sentenses'"]),
        (NO_STEP.replace("op =", "params = {sentences = true}\nop ="), ["'sentences'", "int"]),
    ],
)
def test_a_wrong_pipeline_is_told_by_file_key_and_allowed_values(kept: Cli, text: str, parts: list[str]) -> None:
    name = write(kept.folder, "mine.toml", text)
    ended = kept.refused("run", "good.md", "--pipeline", name, code=2, says=parts[0])
    assert all(part in ended.err for part in parts)


def test_wrong_settings_are_told_by_file_and_key(cli: Cli) -> None:
    write(cli.folder, "octavo.toml", "lease = 3\n")
    assert "lease_s" in cli.refused("status", code=2, says="lease").err
    write(cli.folder, "octavo.toml", "lease_s = \n")
    cli.refused("status", code=2, says="octavo.toml is not TOML")
    (cli.folder / "octavo.toml").unlink()
    cli.refused("status", code=2, says="lease_s", environment={"OCTAVO_LEASE_S": "soon"})


def test_a_tokenizer_that_is_none_is_told(kept: Cli) -> None:
    kept.refused("run", "good.md", "--tokenizer", write(kept.folder, "t.json", '{"a": 1}'), code=2, says="t.json")
    kept.refused("run", "good.md", "--tokenizer", write(kept.folder, "u.json", b"\xff\xfe\0"), code=2, says="u.json")


def test_an_overlap_must_be_below_the_limit(kept: Cli) -> None:
    kept.refused("run", "good.md", "--limit", "20", "--overlap", "20", code=2, says="overlap 20 must be below limit 20")


@pytest.mark.parametrize("command", ["status", "pause", "resume", "cancel", "retry", "waive", "results", "export"])
def test_an_unknown_job_is_told(kept: Cli, command: str) -> None:
    kept.refused(command, "no-such-job", code=5, says="no-such-job")


def test_unknown_documents_and_chunks_are_told(kept: Cli) -> None:
    for command in ("manifest", "chunks"):
        kept.refused(command, "no-such-book", code=5, says="no-such-book")
    kept.refused("chunks", "good.md", "--limit", "7", code=5, says="was not cut like that")
    kept.refused("explain", "no-such-chunk", code=5, says="no-such-chunk")
    kept.refused("explain", "good.md:99", code=5, says="99")
    kept.refused("results", "--step", "nope", code=5, says="'nope'")


def test_names_that_are_no_text_are_refused_or_found(kept: Cli) -> None:
    odd = os.fsdecode(b"b\xffk")
    looking = ["manifest", "chunks", "explain", "status", "diff", "sweep", "results", "view show", "entities list"]
    for command in looking:
        kept.refused(*command.split(), odd, code=5, says="b")
    kept.refused("run", odd, code=1, says="b\N{REPLACEMENT CHARACTER}k")
    kept.refused("run", "good.md", "-p", odd, code=2, says="b")
    kept.refused("run", "", code=2, says="''")
