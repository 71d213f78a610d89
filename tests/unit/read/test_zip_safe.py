"""Archives under limits: bombs, names that lead elsewhere, links, damage."""

from __future__ import annotations

import io
import random
import warnings
import zipfile
from collections.abc import Callable

import pytest

from pipeline.errors import ReadError
from pipeline.read.sources import BytesSource
from pipeline.read.zip_safe import SafeZip, ZipLimits, open_zip

ONE = ("a.txt", b"text of a")


def _zip(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, data in entries:
            archive.writestr(name, data, compress_type=method)
    return target.getvalue()


def _open(data: bytes, limits: ZipLimits | None = None) -> SafeZip:
    return open_zip(BytesSource("a.zip", data), limits)


def test_entries_are_read_by_name() -> None:
    with _open(_zip(ONE, ("b/c.txt", b"c" * 100_000))) as archive:
        assert list(archive.entries) == ["a.txt", "b/c.txt"]
        assert archive.read("a.txt") == b"text of a"
        assert archive.read("b/c.txt") == b"c" * 100_000
        found = archive.find("B/C.TXT")
        assert found is not None
        assert found.name == "b/c.txt"
        with pytest.raises(ReadError, match="no entry missing"):
            archive.read("missing")


@pytest.mark.parametrize(
    "name", ["../up.txt", "/abs.txt", "a/../../up.txt", "..\\win.txt", "C:\\win.txt", "\\\\host\\x", "nul\0.txt"]
)  # fmt: skip
def test_a_name_that_leads_out_is_left_out_and_told(name: str) -> None:
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = name
    with _open(_zip(ONE, (info, b"x"))) as archive:
        assert list(archive.entries) == ["a.txt"]
        assert [warning.code for warning in archive.warnings] == ["entry-refused"]


def test_folders_written_with_backslashes_are_folders() -> None:
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = "folder\\b.txt"
    with _open(_zip((info, b"x"))) as archive:
        assert archive.read("folder/b.txt") == b"x"


def test_a_symbolic_link_is_left_out_and_told() -> None:
    info = zipfile.ZipInfo("link.txt")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    with _open(_zip(ONE, (info, b"/etc/hostname"))) as archive:
        assert list(archive.entries) == ["a.txt"]
        assert "symbolic link" in archive.warnings[0].message


def test_of_entries_with_one_name_the_last_counts_and_it_is_told() -> None:
    with _open(_zip(ONE, ("a.txt", b"twin"))) as archive:
        assert archive.read("a.txt") == b"twin"
        assert [warning.code for warning in archive.warnings] == ["entry-duplicate"]


def test_a_bomb_is_refused_before_it_unpacks() -> None:
    with _open(_zip(("bomb.txt", bytes(20 << 20)))) as archive, pytest.raises(ReadError) as caught:
        archive.read("bomb.txt")
    assert caught.value.message.startswith("a.zip: its entry bomb.txt unpacks to 20 MiB, 10")
    assert caught.value.message.endswith("times its size: it is a ZIP bomb, no text")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (ZipLimits(entry_bytes=99_999), "more than the 99999 bytes allowed"),
        (ZipLimits(total_bytes=150_000), "a.zip unpacks to more than the 150000 bytes allowed"),
    ],
)
def test_sizes_are_limited(limits: ZipLimits, message: str) -> None:
    body = random.Random(1).randbytes(100_000)
    with _open(_zip(("a", body), ("b", body)), limits) as archive, pytest.raises(ReadError, match=message):
        _ = [archive.read(name) for name in archive.entries]


def test_an_entry_that_lies_about_its_size_gives_no_more_than_it_says() -> None:
    data = _zip(("a.txt", b"x" * 1_000_000))
    data = data.replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    with _open(data) as archive, pytest.raises(ReadError, match="damaged"):
        archive.read("a.txt")


def test_too_many_entries_are_refused_before_they_are_listed() -> None:
    data = _zip(*((f"{number}.txt", b"") for number in range(50)))
    with pytest.raises(ReadError, match=r"a\.zip has 50 entries, more than the 49 allowed"):
        _open(data, ZipLimits(entries=49))


def _flip_a_byte_of_the_body(data: bytes) -> bytes:
    at = data.index(b"text of a")
    return data[:at] + b"T" + data[at + 1 :]


def _encrypt_flag(data: bytes) -> bytes:
    at, central = 6, data.index(b"PK\x01\x02") + 8
    return data[:at] + b"\x01" + data[at + 1 : central] + b"\x01" + data[central + 1 :]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_flip_a_byte_of_the_body, "is damaged"),
        (_encrypt_flag, "is encrypted"),
        (lambda data: data.replace(b"a.txt", b"b.txt", 1), "is damaged"),
    ],
)
def test_a_damaged_or_encrypted_entry_is_named(change: Callable[[bytes], bytes], what: str) -> None:
    data = change(_zip(ONE, method=zipfile.ZIP_STORED))
    with _open(data) as archive, pytest.raises(ReadError, match=rf"a\.zip: its entry a\.txt {what}"):
        archive.read("a.txt")


def test_a_truncated_or_mangled_archive_ends_in_one_of_our_errors() -> None:
    whole = _zip(ONE, ("b.txt", b"b" * 5000))
    chance = random.Random(7)
    for round_ in range(400):
        data = bytearray(whole[: chance.randrange(len(whole))] if round_ % 2 else whole)
        for _ in range(chance.randrange(4) if data else 0):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            with _open(bytes(data)) as archive:
                for name in archive.entries:
                    archive.read(name)
        except ReadError as error:
            assert error.message.startswith("a.zip")  # noqa: PT017
