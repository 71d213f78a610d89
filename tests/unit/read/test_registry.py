"""Which reader reads what."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable

import pytest

from pipeline.errors import ReadError
from pipeline.read.reading import Reading, ReadOptions, Source
from pipeline.read.registry import find_type, media_type_of, read, reader_for, register
from pipeline.read.sources import BytesSource
from tests.unit.read.docxs import docx, p
from tests.unit.read.epubs import epub, page
from tests.unit.read.pdfs import column, pdf

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
Read = Callable[..., Reading]


def _zip(*names: str, first: str | None = None) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        if first is not None:
            archive.writestr("mimetype", first)
        for name in names:
            archive.writestr(name, "x")
    return target.getvalue()


@pytest.mark.parametrize(
    ("name", "head", "media_type"),
    [
        ("a.txt", b"plain", "text/plain"),
        ("a", b"plain", "text/plain"),
        ("A.MD", b"# A", "text/markdown"),
        ("a.markdown", b"# A", "text/markdown"),
        ("a.txt", b"%PDF-1.7\n", "application/pdf"),
        ("a.txt", gzip.compress(b"text", mtime=0), "application/gzip"),
        ("a.txt", b"<!DOCTYPE html><p>", "text/html"),
        ("a.txt", b"\xef\xbb\xbf  <!-- note --> <HTML lang=de>", "text/html"),
        ("a.txt", "<html>".encode("utf-16"), "text/html"),
        ("a.txt", b"<?xml version='1.0'?>\n<html xmlns='x'>", "application/xhtml+xml"),
        ("a.html", b"<p>no head", "text/html"),
        ("a.md", b"<div>\n# A", "text/markdown"),
        ("a.txt", _zip("x.txt"), "application/zip"),
        ("a.epub", b"plain text after all", "text/plain"),
    ],
)  # fmt: skip
def test_the_content_decides_before_the_name(name: str, head: bytes, media_type: str) -> None:
    assert media_type_of(name, head) == media_type


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (_zip("x.txt"), "application/zip"),
        (_zip(first="application/epub+zip"), "application/epub+zip"),
        (_zip("META-INF/container.xml"), "application/epub+zip"),
        (_zip(*(f"{number}.xhtml" for number in range(900)), "META-INF/container.xml"), "application/epub+zip"),
        (_zip("[Content_Types].xml", "word/document.xml"), DOCX),
        (_zip(first="application/vnd.oasis.opendocument.text"), "application/vnd.oasis.opendocument.text"),
        (b"plain text", "text/plain"),
    ],
)  # fmt: skip
def test_a_container_is_known_by_what_is_in_it(data: bytes, media_type: str) -> None:
    assert find_type(BytesSource("a.bin", data)) == media_type


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (page("<p>words</p>").encode(), "text/html"),
        (epub({"a.xhtml": page("<p>words</p>")}), "application/epub+zip"),
        (docx(p("words")), DOCX),
        (pdf([column(["some words that are long enough for a page"])]), "application/pdf"),
        (b"words", "text/plain"),
    ],
    ids=["html", "epub", "docx", "pdf", "text"],
)
@pytest.mark.parametrize("name", ["a.epub", "a.docx", "a.pdf", "a.txt", "a.gz", "a"])
def test_a_decoy_name_is_read_by_content(data: bytes, media_type: str, name: str, read_bytes: Read) -> None:
    reading = read_bytes(data, name=name)
    assert reading.media_type == media_type
    assert "words" in "".join(reading.blocks())


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"%PDF-1.7\n", "a PDF"),
        (gzip.compress(b"text", mtime=0), "a gzip file"),
        (b"<html><body>text</body></html>", "an HTML page"),
        (b"{\\rtf1 text}", "an RTF document"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    ],
)
def test_a_format_without_a_reader_is_named_in_one_line(
    data: bytes, what: str, read_bytes: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.read.registry._readers", {})
    with pytest.raises(ReadError) as caught:
        read_bytes(data, name="harbour.txt")
    assert caught.value.message == f"harbour.txt is {what}, which this version cannot read"


def test_many_comments_before_a_page_cost_no_time() -> None:
    assert media_type_of("a.txt", b"<!-- a -->" * 400 + b"text") == "text/plain"


class _Shouting:
    name = "shouting"
    version = 3
    media_types: tuple[str, ...] = ("text/x-shouting",)

    def read(self, source: Source, options: ReadOptions) -> Reading:
        raise ReadError(f"{source.name} SHOUTS")


def test_a_reader_that_is_registered_reads_its_media_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.read.registry._readers", {})
    register(_Shouting())
    found = reader_for("text/x-shouting")
    assert found is not None
    assert found.version == 3
    with pytest.raises(ReadError, match=r"a\.txt SHOUTS"):
        read(BytesSource("a.txt", b"x"), ReadOptions(), "text/x-shouting")
