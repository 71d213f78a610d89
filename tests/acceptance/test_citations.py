"""A citation that Octavo printed, followed by hand in the source: there the quoted words stand."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command import Cli

ENGLISH = {
    "Chapter 1": "Tom Bell kept the ferry at Port Averil for thirty years.\nHe knew every sandbank\nup to the sea.",
    "Chapter 2": "In the storm Tom Bell rowed over four times.\n\nHe brought eleven men,\nand never spoke of it.",
    "Chapter 3": "Anna Crane painted the last picture of the ferry.\n\nIt hangs in the toll house to this day.",
}
CHINESE = {
    "第一章 渡口": "渡船已经走了，老人还坐在岸边的石头上。\n\n　　他说，明天还会有船来的。",
    "第二章 风雨": "那一夜风雨大作，沈怀瑾四次渡江。\n\n　　他带回了十一个人，从此绝口不提。",
}


def _book(chapters: dict[str, str], mark: str = "") -> str:
    return "".join(f"{mark}{head}\n\n{body}\n\n" for head, body in chapters.items())


def _zip(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def _lines(data: bytes, encoding: str) -> list[str]:
    """The lines of a file as any editor numbers them."""
    return re.split(r"\r\n|\r|\n", data.decode(encoding).removeprefix("\ufeff"))


def _plain(path: Path, encoding: str) -> Callable[[dict[str, Any]], list[str]]:
    return lambda citation: _lines(path.read_bytes(), encoding)


def _cases(folder: Path) -> Iterator[tuple[str, list[str], Callable[[dict[str, Any]], list[str]], int]]:
    """(kind, arguments, lines of the file that a citation names, sentences at least)."""
    crlf = _book(ENGLISH).replace("\n", "\r\n").encode("utf-8-sig")
    for name, data, encoding in (
        ("lf.txt", _book(ENGLISH).encode(), "utf-8"),
        ("crlf.txt", crlf, "utf-8"),
        ("cr.txt", _book(ENGLISH).replace("\n", "\r").encode(), "utf-8"),
        ("chinese.txt", _book(CHINESE).replace("\n", "\r\n").encode("gb18030"), "gb18030"),
        ("wide.txt", _book(CHINESE).encode("utf-16"), "utf-16"),
        ("marks.md", b"---\ntitle: The Ferry\n---\n" + _book(ENGLISH, "# ").encode(), "utf-8"),
    ):
        path = folder / name
        path.write_bytes(data)
        yield name, [name], _plain(path, encoding), 3
    (folder / "packed.txt.gz").write_bytes(gzip.compress(crlf))
    yield (
        "gzip",
        ["packed.txt.gz"],
        lambda citation: _lines(gzip.decompress((folder / "packed.txt.gz").read_bytes()), "utf-8"),
        3,
    )
    (folder / "one.zip").write_bytes(_zip({"book.txt": crlf}))
    yield "zip", ["one.zip"], lambda citation: _entry(folder / "one.zip", "book.txt", "utf-8"), 3
    parts = {f"part {number}.txt": f"{head}\n\n{body}\n" for number, (head, body) in enumerate(ENGLISH.items(), 1)}
    (folder / "novel").mkdir()
    for name, text in parts.items():
        (folder / "novel" / name).write_bytes(text.replace("\n", "\r\n").encode())
    yield (
        "as-book",
        ["novel", "--as-book"],
        lambda c: _lines((folder / "novel" / c["source"]["item"]).read_bytes(), "utf-8"),
        3,
    )
    (folder / "novel.zip").write_bytes(_zip({name: text.encode("utf-16") for name, text in parts.items()}))
    yield (
        "zip as-book",
        ["novel.zip", "--as-book"],
        lambda c: _entry(folder / "novel.zip", c["source"]["item"], "utf-16"),
        3,
    )


def _entry(path: Path, name: str, encoding: str) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return _lines(archive.read(name), encoding)


def _follow(citation: dict[str, Any], lines: list[str]) -> str:
    """The text of the lines that a citation names in the source."""
    first, last = citation["start_line"], citation["end_line"]
    if "source" in citation:
        begin, end = citation["source"], citation.get("source_end", citation["source"])
        assert begin["item"] == end["item"]
        first, last = begin["line"], end["line"]
    return " ".join(lines[first - 1 : last])


def _words(text: str) -> str:
    return "".join(text.split())


def test_a_citation_followed_by_hand_finds_the_quoted_words_in_every_text_format(cli: Cli) -> None:
    seen = []
    for kind, arguments, lines_of, least in _cases(cli.folder):
        output = cli.ok("run", *arguments, "--json").json["output"]
        quoted = [(item["text"], citation) for item in output["sentences"] for citation in item["citations"]]
        assert len(quoted) >= least, kind
        for text, citation in quoted:
            assert _words(text) in _words(_follow(citation, lines_of(citation))), f"{kind}: {citation}"
        seen.append(kind)
    assert len(seen) == 10


def test_the_printed_place_of_a_book_in_parts_names_file_and_line(cli: Cli) -> None:
    (cli.folder / "novel").mkdir()
    for number, (head, body) in enumerate(ENGLISH.items(), 1):
        (cli.folder / "novel" / f"part {number}.txt").write_text(f"{head}\n\n{body}\n")
    printed = cli.ok("run", "novel", "--as-book").out
    assert "[Chapter 2, part 2.txt line 3]" in printed
    assert "Chapter 3 (part 3.txt line 1)" in printed


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_copies_with_other_line_ends_or_a_mark_share_every_chunk_and_result(cli: Cli, end: str) -> None:
    text = _book(ENGLISH)
    for name, copy in (("lf.txt", text), ("copy.txt", text.replace("\n", end)), ("bom.txt", "\ufeff" + text)):
        (cli.folder / name).write_bytes(copy.encode())
    cli.ok("run", "lf.txt")
    for name in ("copy.txt", "bom.txt"):
        again = cli.ok("run", name, "--json").json
        assert (again["calls"], again["hits"]) == (0, again["tasks"])
    manifests = [cli.ok("manifest", name, "--canonical").out for name in ("lf.txt", "copy.txt", "bom.txt")]
    assert len(set(manifests)) == 1
