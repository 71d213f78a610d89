"""Bring in documents that another program keeps in a table or in JSON Lines; their ids are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from db.database import Database
from db.repositories.foreign import rows_of
from pipeline.errors import ReadError, UsageError
from workers.ingest.find import Found, printable
from workers.ingest.ingest import Cutting, Ingested, ingest

SUFFIXES = {"text/plain": ".txt", "text/markdown": ".md"}
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A document as the other program keeps it."""

    id: str
    title: str | None
    text: str


def from_table(url: str, table: str, *, id_column: str, text: str, title: str | None) -> Iterator[Kept]:
    """The documents of a table. Raises UsageError, StorageError, ReadError."""
    columns = (id_column, text, *((title,) if title else ()))
    for row in rows_of(url, table, columns):
        yield _kept(f"{table} row {row[0]}", row[0], row[1], row[2] if title else None)


def from_lines(path: Path, *, id_field: str, text: str, title: str | None) -> Iterator[Kept]:
    """The documents of a file of JSON Lines. Raises ReadError, which names the line."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    found = _object(path, number, line)
                    where = f"{path.name} line {number}"
                    missing = [name for name in (id_field, text) if name not in found]
                    if missing:
                        raise ReadError(f"{where} has no field {missing[0]!r}", hint=f"it has {', '.join(found)}")
                    yield _kept(where, found[id_field], found[text], found.get(title) if title else None)
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"{path} can not be read: {error}") from error


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise ReadError(f"{path.name} line {number} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ReadError(f"{path.name} line {number} is no JSON object")
    return found


def _kept(where: str, document_id: Any, text: Any, title: Any) -> Kept:
    if document_id is None or isinstance(document_id, (dict, list)) or not str(document_id):
        raise ReadError(f"{where} has no id")
    if isinstance(text, (bytes, memoryview)):
        text = bytes(text).decode("utf-8", "replace")
    if not isinstance(text, str):
        raise ReadError(f"{where} has no text")
    return Kept(id=str(document_id), title=None if title is None else str(title), text=text)


def bring(
    database: Database, kept: Kept, cutting: Cutting, *, source: str, spool: Path, media_type: str = "text/plain"
) -> Ingested:
    """Ingest one of them as SOURCE:ID; where the id is a UUID, the document has it as its own. All or nothing.

    The same id again with another text is a new revision, with the same text nothing. Raises UsageError, ReadError.
    """
    if not _NAME.match(source):
        raise UsageError(f"{source!r} can not name a source", hint="letters, digits, - and _ only")
    if media_type not in SUFFIXES:
        raise UsageError(
            f"Documents of type {media_type!r} can not be brought in", hint=f"known: {', '.join(SUFFIXES)}"
        )
    spool.mkdir(parents=True, exist_ok=True)
    path = spool / f"import{SUFFIXES[media_type]}"
    path.write_bytes(kept.text.encode("utf-8", "surrogateescape"))
    found = Found(path=path, uri=f"{source}:{quote(kept.id, safe='')}", name=printable(f"{source} {kept.id}"))
    try:
        return ingest(database, found, cutting, title=kept.title or kept.id, document_id=_uuid(kept.id))
    finally:
        path.unlink(missing_ok=True)


def _uuid(text: str) -> UUID | None:
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text.lower() else None
