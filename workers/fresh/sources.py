"""The sources that a view's selectors name now, and their documents brought up to date."""

from __future__ import annotations

import glob
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from db.database import Database, Repositories
from db.values import Document, Standing
from pipeline.errors import NotFoundError, ReadError, UsageError
from workers.ingest.find import Found, find, printable
from workers.ingest.ingest import Cutting, Ingested, Outcome, ingest, reading_options, recut, untouched
from workers.ingest.moves import found_of, gone
from workers.outputs.manifest import find_document

DOCUMENT = "document:"  # begins a selector that names a document instead of a path


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """What selectors name: files, documents that are no files, and what could not be looked at."""

    files: tuple[Found, ...]
    documents: tuple[UUID, ...]
    troubles: tuple[str, ...]  # while there is one, nothing is taken for deleted


def selector(rows: Repositories, text: str) -> str:
    """What a person named, so that it means the same from any folder. Raises NotFoundError or UsageError."""
    if text == "-":
        raise UsageError("A view can not read standard input", hint="name files, folders, globs or documents")
    path = Path(text)
    if glob.has_magic(text) or path.exists():
        # A link stays a link: what it leads to may change. A folder is told from a file also while it is away.
        return os.path.abspath(text) + (os.sep if path.is_dir() else "")  # noqa: PTH100
    try:
        return f"{DOCUMENT}{find_document(rows, text).id}"
    except NotFoundError as error:
        raise NotFoundError(f"There is no file and no document {printable(text)}", hint=error.hint) from error


def look(selectors: Sequence[str], spool: Path) -> Sources:
    """The sources that are there now, each once, in order."""
    files: dict[str, Found] = {}
    documents: list[UUID] = []
    troubles: list[str] = []
    for text in selectors:
        if text.startswith(DOCUMENT):
            documents.append(UUID(text.removeprefix(DOCUMENT)))
            continue
        try:
            for found in find([text], spool, io.BytesIO()):
                files.setdefault(found.uri, found)
        except ReadError as error:
            if not _looked(text):
                troubles.append(error.message)
    return Sources(files=tuple(files.values()), documents=tuple(documents), troubles=tuple(troubles))


def _looked(text: str) -> bool:
    """Is it sure that nothing is there? A folder that can not be seen, or is not mounted, says nothing of its files."""
    base = Path(text)
    if not text.endswith(os.sep):
        base = base.parent
        while glob.has_magic(str(base)):
            base = base.parent
    return base.is_dir() and os.access(base, os.R_OK | os.X_OK)


@dataclass(frozen=True, kw_only=True, slots=True)
class Brought:
    """The documents of a view, in order, at their current revisions; and what could not be read."""

    documents: tuple[Ingested, ...]
    changed: int  # how many got a new revision
    troubles: tuple[str, ...]


def bring(database: Database, sources: Sources, cutting: Cutting, *, encoding: str | None) -> Brought:
    """Bring in what changed. One query finds what did not: that costs a stat a file.

    A file that can not be read keeps the revision it has.
    """
    with database.read() as rows:
        standing = rows.documents.standing([found.uri for found in sources.files], cutting.policy())
        others = [document for item in sources.documents if (document := rows.documents.get(item))]
    troubles = list(sources.troubles)
    done: dict[UUID, Ingested] = {}
    changed = 0
    for found in sources.files:
        item = _standing(standing, found, encoding)
        try:
            item = item or ingest(database, found, cutting, encoding=encoding)
        except ReadError as error:
            troubles.append(error.message)
            item = _as_it_was(database, standing.get(found.uri), cutting)
        if item is not None:
            changed += item.outcome is not Outcome.UNCHANGED
            done.setdefault(item.document.id, item)
    for document in others:
        item = _named(database, document, cutting, encoding, troubles)
        if item is not None:
            done.setdefault(document.id, item)
    return Brought(documents=tuple(done.values()), changed=changed, troubles=tuple(troubles))


def _standing(standing: Mapping[str, Standing], found: Found, encoding: str | None) -> Ingested | None:
    """A source that a stat shows to be untouched, and that this grain cut already."""
    item = standing.get(found.uri)
    if item is None or item.chunking_id is None or item.document.current is None:
        return None
    current = item.document.current
    if not untouched(found, current, reading_options(found, encoding)):
        return None
    return Ingested(
        document=item.document, revision=current, chunking_id=item.chunking_id, outcome=Outcome.UNCHANGED, report={}
    )


def _as_it_was(database: Database, item: Standing | None, cutting: Cutting) -> Ingested | None:
    if item is None or item.document.current is None:
        return None
    return recut(database, item.document, item.document.current, cutting)


def _named(
    database: Database, document: Document, cutting: Cutting, encoding: str | None, troubles: list[str]
) -> Ingested | None:
    """A document that a selector names itself: read anew where it is a file, withdrawn where that is gone."""
    if gone(document):
        return None
    try:
        found = found_of(document)
        if found is not None:
            return ingest(database, found, cutting, encoding=encoding)
    except ReadError as error:
        troubles.append(error.message)
    return None if document.current is None else recut(database, document, document.current, cutting)
