"""Which reader reads what: media types by content first and by name second, readers by media type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pkgutil import resolve_name

from pipeline.errors import EmptyError, ReadError
from pipeline.read.archives import GzipReader, ZipReader
from pipeline.read.containers import DOCX, EPUB, ZIP, container_type
from pipeline.read.joined import JOINED
from pipeline.read.markdown_reader import MarkdownReader
from pipeline.read.reading import Reader, Reading, ReadOptions, Source
from pipeline.read.text import TextReader

HEAD_BYTES = 1 << 16

# How files of other kinds begin: (offset, bytes, media type).
_MAGIC = (
    (0, b"%PDF-", "application/pdf"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"(\xb5/\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (0, b"{\\rtf", "application/rtf"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/msword"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"MZ\x90", "application/x-executable"),
    (60, b"BOOKMOBI", "application/x-mobipocket-ebook"),
    (257, b"ustar", "application/x-tar"),
)
_NAMES = {
    "application/pdf": "a PDF",
    "application/gzip": "a gzip file",
    "application/x-bzip2": "a bzip2 file",
    "application/x-xz": "an xz file",
    "application/zstd": "a Zstandard file",
    "application/x-7z-compressed": "a 7z archive",
    "application/vnd.rar": "a RAR archive",
    "application/rtf": "an RTF document",
    "application/msword": "an old Word or other OLE document",
    "image/png": "a PNG image",
    "image/jpeg": "a JPEG image",
    "image/gif": "a GIF image",
    "application/vnd.sqlite3": "an SQLite database",
    "application/x-executable": "a program",
    "application/x-mobipocket-ebook": "a Kindle book",
    "application/x-tar": "a tar archive",
    EPUB: "an EPUB",
    DOCX: "a Word document",
    ZIP: "a ZIP archive",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "an Excel workbook",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "a PowerPoint presentation",
    "application/vnd.oasis.opendocument.text": "an OpenDocument text",
    "application/vnd.oasis.opendocument.spreadsheet": "an OpenDocument spreadsheet",
    "text/html": "an HTML page",
    "application/xhtml+xml": "an XHTML page",
    "application/x-fictionbook+xml": "a FictionBook",
}
_HTML_NAMES = (".html", ".htm", ".xhtml")
_MARKDOWN_NAMES = (".md", ".markdown", ".mdown", ".mkd")
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^-]*+(?:-(?!->)[^-]*+)*-->\s*+)*(?:<!doctype\s+html|<html[\s>])", re.IGNORECASE
)
_FICTION_BOOK = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<FictionBook[\s>]")


@dataclass(frozen=True, slots=True)
class _Later:
    """A reader that is loaded when it is first used: what its format needs is slow to load, and most books are text."""

    name: str
    where: str  # module:class


_readers: dict[str, Reader | _Later] = {
    "text/html": (_HTML_READER := _Later("html", "pipeline.read.html_reader:HtmlReader")),
    "application/xhtml+xml": _HTML_READER,
    EPUB: _Later("epub", "pipeline.read.epub_reader:EpubReader"),
    DOCX: _Later("docx", "pipeline.read.docx_reader:DocxReader"),
    "application/pdf": _Later("pdf", "pipeline.read.pdf_reader:PdfReader"),
}


def register(reader: Reader) -> None:
    """Make a reader known for its media types; a later one takes the place of an earlier one."""
    for media_type in reader.media_types:
        _readers[media_type] = reader


def reader_for(media_type: str) -> Reader | None:
    """The reader of a media type, or None."""
    found = _readers.get(media_type)
    return _loaded(found) if isinstance(found, _Later) else found


def _loaded(later: _Later) -> Reader:
    reader: Reader = resolve_name(later.where)()
    _readers.update({media_type: reader for media_type, one in _readers.items() if one is later})
    return reader


def media_type_of(name: str, head: bytes) -> str:
    """The media type of a file by its first bytes (64 KiB are enough), and where they are text by its name.

    Of ZIP archives that is "application/zip"; `containers.container_type` says what they are.
    """
    for offset, magic, media_type in _MAGIC:
        if head.startswith(magic, offset):
            return media_type
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ZIP
    start = (
        head[:4096]
        .replace(b"\0", b"")
        .removeprefix(b"\xef\xbb\xbf")
        .removeprefix(b"\xff\xfe")
        .removeprefix(b"\xfe\xff")
    )
    if _HTML.match(start):
        return "application/xhtml+xml" if start.lstrip().startswith(b"<?xml") else "text/html"
    if _FICTION_BOOK.match(start):
        return "application/x-fictionbook+xml"
    if name.lower().endswith(_HTML_NAMES):
        return "text/html"
    return "text/markdown" if name.lower().endswith(_MARKDOWN_NAMES) else "text/plain"


def find_type(source: Source) -> str:
    """The media type of a source by its content, and where that is text by its name. Raises ReadError when empty."""
    with source.open() as stream:
        try:
            head = stream.read(HEAD_BYTES)
        except OSError as error:
            raise ReadError(f"{source.name} cannot be read: {error.strerror or error}") from error
    if not head:
        raise EmptyError(f"{source.name} is empty")
    media_type = media_type_of(source.name, head)
    return container_type(source) if media_type == ZIP else media_type


def read(source: Source, options: ReadOptions | None = None, media_type: str | None = None) -> Reading:
    """Read a source by the reader of its media type (found when not given).

    Raises ReadError with one line that says what is wrong, UsageError for an encoding that does not exist.
    """
    media_type = media_type or find_type(source)
    reader = reader_for(media_type)
    if reader is None:
        what = _NAMES.get(media_type, f"of type {media_type}")
        raise ReadError(f"{source.name} is {what}, which this version cannot read")
    return reader.read(source, options or ReadOptions())


def stands(reader: str, version: int) -> bool:
    """Would a source be read today as it was by a reader of this name (`gzip+text`: one within the other)?"""
    *outer, name = reader.split("+")
    known = {one.name: media_type for media_type, one in _readers.items()}
    found = reader_for(known[name]) if name in known else None
    return all(one in known or one == JOINED for one in outer) and found is not None and found.version == version


register(TextReader())
register(MarkdownReader())
register(GzipReader(find_type, read))
register(ZipReader(find_type, read))
