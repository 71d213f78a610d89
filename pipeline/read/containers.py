"""What a ZIP archive is: a book, a document of an office program, or an archive of files."""

from __future__ import annotations

from pipeline.errors import ReadError
from pipeline.read.reading import Source
from pipeline.read.zip_safe import SafeZip, open_zip

EPUB = "application/epub+zip"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
ZIP = "application/zip"
_MIMETYPE_BYTES = 200
# Entries that only a container of one kind has.
_TELLING = (
    ("META-INF/container.xml", EPUB),
    ("word/document.xml", DOCX),
    ("xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
)


def container_type(source: Source) -> str:
    """The media type of a ZIP archive by what is in it. Raises ReadError when it is damaged."""
    with open_zip(source) as archive:
        for name, media_type in _TELLING:
            if archive.find(name):
                return media_type
        return _stated(archive) or ZIP


def _stated(archive: SafeZip) -> str | None:
    """What the entry `mimetype` says, as EPUB and OpenDocument have it first."""
    entry = archive.find("mimetype")
    if entry is None or entry.size > _MIMETYPE_BYTES:
        return None
    try:
        stated = archive.read(entry.name).decode("ascii", "replace").strip()
    except ReadError:
        return None
    return stated if stated.startswith("application/") and stated.isprintable() else None
