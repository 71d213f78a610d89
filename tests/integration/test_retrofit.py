"""Documents of another program: brought in with their ids, again only where they changed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.acceptance.command import Cli
from tests.integration.conftest import PostgresServer, write_novel

UUIDS = ["01900000-0000-7000-8000-00000000000a", "5f8f0b1e-8c1d-4a53-9d5f-0d5f6a3f0b1e"]


@pytest.fixture
def cli(tmp_path: Path, state: Path) -> Cli:
    return Cli(tmp_path, state)


def shop(path: Path) -> str:
    """A table of a shop that sells books."""
    with sqlite3.connect(path) as table:
        table.execute("CREATE TABLE books (isbn TEXT PRIMARY KEY, body TEXT, name TEXT)")
        rows = [(f"978-{at}/x", write_novel([at, at + 1]), f"Novel {at}") for at in range(1, 4)]
        table.executemany("INSERT INTO books VALUES (?, ?, ?)", [*rows, ("978-twin", rows[0][1], "A twin")])
    return f"sqlite:///{path}"


def test_a_table_comes_in_with_its_ids_and_again_only_where_it_changed(cli: Cli, tmp_path: Path) -> None:
    url = shop(tmp_path / "shop.db")
    words = ("import", url, "--table", "books", "--id", "isbn", "--text", "body", "--title", "name", "--json")
    first = [json.loads(line) for line in cli.ok(*words).out.splitlines()]
    assert [item["id"] for item in first] == ["978-1/x", "978-2/x", "978-3/x", "978-twin"]
    assert first[0]["uri"] == "books:978-1%2Fx"
    assert len({item["document"] for item in first}) == 4  # equal texts are two documents all the same
    assert {item["what"] for item in first} == {"read"}
    with sqlite3.connect(tmp_path / "shop.db") as table:
        table.execute("UPDATE books SET body = body || ? WHERE isbn = '978-2/x'", (write_novel([9]),))
    again = [json.loads(line) for line in cli.ok(*words).out.splitlines()]
    assert [item["what"] for item in again] == ["unchanged", "changed", "unchanged", "unchanged"]
    assert [item["document"] for item in again] == [item["document"] for item in first]
    assert again[1]["revision"] == 2
    titles = {item["title"] for item in cli.ok("status", "--json").json["documents"]}
    assert titles == {"Novel 1", "Novel 2", "Novel 3", "A twin"}


def test_what_came_from_a_table_is_run_like_any_book(cli: Cli, tmp_path: Path) -> None:
    cli.ok("import", shop(tmp_path / "shop.db"), "--table", "books", "--id", "isbn", "--text", "body")
    assert cli.ok("chunks", "books:978-3%2Fx", "--json").json


def test_json_lines_keep_uuids_as_the_documents_own_ids(cli: Cli, tmp_path: Path) -> None:
    lines = [{"id": uuid, "text": write_novel([at + 1]), "title": f"{at}"} for at, uuid in enumerate(UUIDS)]
    path = tmp_path / "books.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n", encoding="utf-8")
    found = [json.loads(line) for line in cli.ok("import", str(path), "--json").out.splitlines()]
    assert [item["document"] for item in found] == UUIDS


def test_a_postgresql_table_comes_in_too(cli: Cli, postgres: PostgresServer) -> None:
    postgres.sql("CREATE TABLE IF NOT EXISTS letters (id bigint PRIMARY KEY, text text)")
    postgres.sql("INSERT INTO letters VALUES (7, 'Chapter 1\n\nA letter came.') ON CONFLICT DO NOTHING")
    found = json.loads(cli.ok("import", postgres.url("postgres"), "--table", "letters", "--json").out)
    assert (found["id"], found["uri"]) == ("7", "letters:7")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("books.jsonl",), "can not be read"),
        (("sqlite:///shop.db",), "needs --table"),
        (("nonsense://x", "--table", "t"), "no database's address"),
        (("sqlite:///shop.db", "--table", "nothing"), "There is no table nothing"),
        (("sqlite:///shop.db", "--table", "books"), "has no column 'id'"),
        (("bad.jsonl",), "bad.jsonl line 2 is not JSON"),
        (("list.jsonl",), "no JSON object"),
        (("field.jsonl",), "has no field 'text'"),
        (("null.jsonl",), "has no id"),
        (("number.jsonl",), "has no text"),
        (("good.jsonl", "--name", "../x"), "can not name a source"),
        (("good.jsonl", "--type", "application/pdf"), "can not be brought in"),
    ],
)
def test_what_can_not_be_brought_in_is_told_in_a_line(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    shop(tmp_path / "shop.db")
    (tmp_path / "bad.jsonl").write_text('{"id": 1, "text": "a"}\n{"id":\n')
    (tmp_path / "list.jsonl").write_text("[1]\n")
    (tmp_path / "field.jsonl").write_text('{"id": 1}\n')
    (tmp_path / "null.jsonl").write_text('{"id": null, "text": "a"}\n')
    (tmp_path / "number.jsonl").write_text('{"id": 1, "text": 7}\n')
    (tmp_path / "good.jsonl").write_text('{"id": 1, "text": "a"}\n')
    ended = cli.run("import", *words)
    assert ended.code in (1, 2)
    assert says in ended.err
    assert "Traceback" not in ended.err
    assert "did not expect" not in ended.err
