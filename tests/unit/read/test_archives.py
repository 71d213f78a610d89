"""Texts in gzip files and ZIP archives: read under limits, never unpacked by their own names."""

from __future__ import annotations

import gzip
import hashlib
import io
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import OctavoError, ReadError
from pipeline.read.archives import EntrySource, GzipSource, PackedLimits, readable_entries
from pipeline.read.reading import Reading
from pipeline.read.registry import read, stands
from pipeline.read.sources import BytesSource, FileSource

Read = Callable[..., Reading]
BOOK = "".join(f"Chapter {number}\n\nThe tide of day {number} went out at noon.\n\n" for number in range(1, 4))


def _zip(*files: tuple[str, bytes | str], mode: int | None = None) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            if mode is not None:
                info.external_attr = mode << 16
            archive.writestr(info, data)
    return target.getvalue()


@pytest.mark.parametrize("name", ["book.txt.gz", "book.gz", "decoy.txt"])
def test_a_gzip_file_is_read_as_the_text_in_it(name: str, read_bytes: Read) -> None:
    data = gzip.compress(BOOK.encode())
    reading, plain = read_bytes(data, name), read_bytes(BOOK)
    assert "".join(reading.blocks()) == BOOK
    assert (reading.text_sha256, reading.sections) == (plain.text_sha256, plain.sections)
    assert (reading.source_sha256, reading.byte_count) == (hashlib.sha256(data).digest(), len(data))
    assert reading.reader == "gzip+text"
    assert stands(reading.reader, reading.reader_version)
    assert not stands(reading.reader, reading.reader_version + 1)
    assert not stands("lzma+text", reading.reader_version)


def test_what_is_in_a_gzip_file_is_known_by_its_content_and_then_by_its_name(read_bytes: Read) -> None:
    assert read_bytes(gzip.compress(b"# Ebb\n\ntext\n"), "book.md.gz").media_type == "text/markdown"
    assert (
        read_bytes(gzip.compress("第一章 渡口\n\n渡船已经走了，老人还坐在岸边。\n".encode("gb18030"))).encoding
        == "gb18030"
    )


def test_the_only_text_of_a_zip_archive_is_the_book_whatever_it_is_called(read_bytes: Read) -> None:
    for name in ("harbour.txt", "harbour", "a/b/harbour.text"):
        reading = read_bytes(_zip((name, BOOK), ("__MACOSX/._x.txt", b"\0"), (".hidden.txt", "x")), "book.zip")
        assert "".join(reading.blocks()) == BOOK
        assert reading.reader == "zip+text"


def test_of_several_texts_each_can_be_read_and_the_archive_says_what_to_do(read_bytes: Read) -> None:
    data = _zip(("1.txt", BOOK), ("2.txt", BOOK.upper()), ("cover.png", b"\x89PNG"), ("in.zip", _zip(("x.txt", "x"))))
    with pytest.raises(ReadError, match=r"book\.zip holds 2 texts") as caught:
        read_bytes(data, "book.zip")
    assert "--as-book" in (caught.value.hint or "")
    found = readable_entries(BytesSource("book.zip", data))
    assert found is not None
    assert found.names == ("1.txt", "2.txt")
    assert [name for name, _ in found.refused] == ["cover.png", "in.zip"]
    entry = EntrySource(BytesSource("book.zip", data), "2.txt")
    assert "".join(read(entry).blocks()) == BOOK.upper()
    assert entry.name == "book.zip/2.txt"


@pytest.mark.parametrize(
    "data",
    [gzip.compress(gzip.compress(b"text", mtime=0)), gzip.compress(_zip(("a.txt", "text")))],
    ids=["gzip", "zip"],
)
def test_an_archive_within_an_archive_is_refused(data: bytes, read_bytes: Read) -> None:
    with pytest.raises(ReadError, match="an archive within an archive"):
        read_bytes(data, "book.gz")


@pytest.mark.parametrize("name", ["../out.txt", "/etc/out.txt", "C:\\out.txt", "a/../../out.txt"])
def test_a_name_that_leads_out_of_the_archive_is_refused_and_nothing_is_written(
    name: str, read_bytes: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReadError, match="holds no text"):
        read_bytes(_zip((name, BOOK)), "book.zip")
    assert list(tmp_path.iterdir()) == []
    assert "".join(read_bytes(_zip((name, BOOK), ("in.txt", "Chapter 1\n")), "book.zip").blocks()) == "Chapter 1\n"


def test_a_symbolic_link_in_an_archive_is_refused(read_bytes: Read) -> None:
    with pytest.raises(ReadError, match="holds no text"):
        read_bytes(_zip(("book.txt", "/etc/hostname"), mode=stat.S_IFLNK | 0o777), "book.zip")


def test_a_bomb_is_stopped_at_the_limit_and_not_when_memory_is_full(read_bytes: Read) -> None:
    zeros = gzip.compress(b"0" * (64 << 20))
    assert len(zeros) < 100_000
    with pytest.raises(ReadError, match="that is a bomb, not a text"):
        read_bytes(zeros, "book.gz")
    with pytest.raises(ReadError, match="ZIP bomb"):
        read_bytes(_zip(("book.txt", b"0" * (64 << 20))), "book.zip")
    small = GzipSource(BytesSource("book.gz", gzip.compress(b"text " * 100)), PackedLimits(total_bytes=100))
    with pytest.raises(ReadError, match="unpacks to more than"):
        small.open().read()


@pytest.mark.parametrize("cut", [3, 15, -10, -1])
def test_a_damaged_archive_is_one_clear_error(cut: int, read_bytes: Read) -> None:
    for data in (gzip.compress(BOOK.encode()), _zip(("book.txt", BOOK))):
        with pytest.raises(OctavoError) as caught:
            "".join(read_bytes(data[:cut], "book.gz").blocks())
        assert "\n" not in caught.value.message


def test_every_byte_that_is_damaged_gives_the_text_or_an_error_of_the_project(read_bytes: Read) -> None:
    for data in (gzip.compress(BOOK.encode(), mtime=0), _zip(("book.txt", BOOK))):
        for place in range(0, len(data), 3):
            damaged = data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]
            try:
                "".join(read_bytes(damaged, "book.bin").blocks())
            except OctavoError:
                continue


def test_a_gzip_file_that_changes_between_the_passes_is_an_error_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "book.txt.gz"
    path.write_bytes(gzip.compress(BOOK.encode()))
    reading = read(FileSource(path))
    path.write_bytes(gzip.compress(BOOK.upper().encode()))
    with pytest.raises(ReadError, match="changed while it was read"):
        list(reading.blocks())
