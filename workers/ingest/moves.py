"""A file that was renamed or moved keeps its document: it is found by its bytes (DESIGN §7)."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from db.database import Database
from db.values import Document
from workers.ingest.find import Found, look, printable


def path_of(uri: str) -> Path | None:
    """The file that a document's URI names; None when it names no file."""
    parts = urlsplit(uri)
    return Path(os.fsdecode(unquote_to_bytes(parts.path))) if parts.scheme == "file" else None


def found_of(document: Document) -> Found | None:
    """The source that a document was made of, as it is there now; None when it is no file. Raises ReadError."""
    path = path_of(document.uri)
    if path is None:
        return None
    if entry := unquote(urlsplit(document.uri).fragment):
        return Found(path=path, uri=document.uri, name=printable(f"{path.name}/{entry}"), entry=entry)
    if document.current is not None and "parts" in document.current.options:
        sources = look([str(path)], path, io.BytesIO(), as_book=True).sources
        return next((found for found in sources if found.uri == document.uri), None)
    return Found(path=path, uri=document.uri, name=printable(path.name))


def gone(document: Document) -> bool:
    """Is a document's own file no longer there?"""
    path = path_of(document.uri)
    return path is not None and not path.exists()


def adopt(database: Database, found: Found) -> Document | None:
    """The document that this new path is another name of: the same bytes, and its own path is gone.

    It gets this path; a title that was the file's name follows. Of a copy the first path is still there: it stays a
    document of its own. None when there is no such document.
    """
    if path_of(found.uri) is None or found.entry is not None or found.parts:
        return None  # what is in an archive, or made of many files, has no name of its own to keep
    try:
        size = found.path.stat().st_size
        with database.read() as rows:
            candidates = [document for document in rows.documents.of_size(size) if gone(document)]
        if not candidates:
            return None
        with found.path.open("rb") as file:
            sha = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None  # the reader says what is wrong with it
    for document in candidates:
        if document.current and document.current.source_sha256 == sha and _rename(database, document, found):
            with database.read() as rows:
                return rows.documents.by_uri(found.uri)
    return None


def _rename(database: Database, document: Document, found: Found) -> bool:
    was = path_of(document.uri)
    titled = was is not None and document.title == printable(was.stem)
    title = printable(found.path.stem) if titled else document.title
    with database.write() as rows:
        return rows.documents.rename(document.id, was=document.uri, uri=found.uri, title=title)
