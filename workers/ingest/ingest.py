"""One source in: found unchanged, or read, cut and published as a new revision."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from db.database import Database
from db.errors import CollectedError
from db.values import Document, NewRevision, Revision
from pipeline.errors import OctavoError, ReadError
from pipeline.ids import uuid7
from pipeline.read import registry
from pipeline.read.reading import Reading, ReadOptions
from pipeline.split.grain import Grain, TokenCounter
from pipeline.split.splitter import SPLITTER_VERSION, Splitter
from workers.ingest.cut import cut
from workers.ingest.find import Found
from workers.ingest.moves import adopt
from workers.ingest.opening import Stat, parts_options, read_found, sha256_of, stat_of, title_of

RACY_NS = 2_000_000_000  # a file changed within two seconds of its reading may change again without a new time
RACES = 5


class IngestRaceError(OctavoError):
    """Another process kept publishing revisions of the same document."""


class Outcome(StrEnum):
    """What ingest did with a source."""

    READ = "read"  # a first revision
    CHANGED = "changed"  # a new revision
    UNCHANGED = "unchanged"  # the current revision stands


@dataclass(frozen=True, kw_only=True, slots=True)
class Ingested:
    """A source that is in, and what happened."""

    document: Document
    revision: Revision
    chunking_id: int
    outcome: Outcome
    report: dict[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cutting:
    """How documents are cut: a grain and the tokenizer that counts for it."""

    grain: Grain
    counter: TokenCounter

    def policy(self) -> dict[str, Any]:
        """What makes two cuttings the same: everything that could move a cut."""
        return {
            "limit": self.grain.limit,
            "overlap": self.grain.overlap,
            "heading_level": self.grain.heading_level,
            "tokenizer": self.counter.identity,
            "tokenizer_name": self.counter.name,
            "splitter": SPLITTER_VERSION,
        }


def ingest(
    database: Database,
    found: Found,
    cutting: Cutting,
    *,
    encoding: str | None = None,
    title: str | None = None,
    collection: str = "default",
    document_id: UUID | None = None,
) -> Ingested:
    """Bring one source in. All or nothing: on any error the revision before stays current.

    A new document gets `document_id`, where one is given.

    Raises ReadError, StorageError, or IngestRaceError when other processes win every race for the document.
    """
    for _ in range(RACES):
        with suppress(CollectedError):  # octavo gc took what this was about to share
            done = _ingest_once(database, found, cutting, encoding, title, collection, document_id)
            if done:
                return done
    raise IngestRaceError(f"{found.name} is being ingested by other processes", hint="run the command again")


def _ingest_once(
    database: Database,
    found: Found,
    cutting: Cutting,
    encoding: str | None,
    title: str | None,
    collection: str,
    document_id: UUID | None,
) -> Ingested | None:
    """One try; None when another process was first."""
    options = reading_options(found, encoding)
    with database.read() as rows:
        known = rows.documents.by_uri(found.uri)
    known = known or adopt(database, found)
    if known and known.current and stands(database, found, known.current, options):
        return recut(database, known, known.current, cutting)
    mtime_ns = _mtime_ns(found)  # before it is read: what is written later has a later time
    reading = read_found(found, ReadOptions(encoding=encoding))
    document = known or _document(database, found, reading, title, collection, document_id)
    if known is None and document.current:
        return None  # another process published it while this one read: its revision may be this very reading
    return _publish(database, document, _new_revision(reading, options, mtime_ns), reading, cutting)


def _document(
    database: Database, found: Found, reading: Reading, title: str | None, collection: str, document_id: UUID | None
) -> Document:
    """A new document, called what a person says, or what the book says of itself, or as its file is."""
    with database.write() as rows:
        rows.documents.add(
            id=document_id or uuid7(),
            uri=found.uri,
            title=title or reading.title or title_of(found),
            media_type=reading.media_type,
            collection=collection,
        )
        document = rows.documents.by_uri(found.uri)
    assert document is not None
    return document


def reading_options(found: Found, encoding: str | None) -> dict[str, object]:
    """What the caller decided about a reading, as its revision keeps it."""
    return ({"encoding": encoding} if encoding else {}) | parts_options(found)


def stands(database: Database, found: Found, current: Revision, options: dict[str, object]) -> bool:
    """Is the current revision still a reading of these bytes? A touched file costs a stat and a hash."""
    if not read_alike(current, options):
        return False
    try:
        stat = stat_of(found)
        if stat.size not in (None, current.source_size):
            return False
        if _settled(stat, current):
            return True
        same = sha256_of(found) == current.source_sha256
    except OSError as error:
        raise ReadError(f"{found.name} can not be read: {error.strerror}") from error
    if same and stat.mtime_ns != current.source_mtime_ns and time.time_ns() - stat.mtime_ns > RACY_NS:
        with database.write() as rows:
            rows.documents.touch(current.id, size=current.source_size, mtime_ns=stat.mtime_ns)
    return same


def read_alike(current: Revision, options: dict[str, object]) -> bool:
    """Was the revision read as its source would be read now: by that reader, in that version, that way?"""
    return registry.stands(current.reader, current.reader_version) and current.options == options


def untouched(found: Found, current: Revision, options: dict[str, object]) -> bool:
    """Does a stat alone show that the revision is still a reading of this source? False when only a look inside can."""
    try:
        stat = stat_of(found)
    except OSError:
        return False
    return stat.size in (None, current.source_size) and _settled(stat, current) and read_alike(current, options)


def _settled(stat: Stat, current: Revision) -> bool:
    settled = current.created_at.timestamp() * 1e9 - stat.mtime_ns > RACY_NS
    return stat.mtime_ns == current.source_mtime_ns and settled


def recut(database: Database, document: Document, current: Revision, cutting: Cutting) -> Ingested:
    """The current revision as it is, cut by this grain too if it was not yet."""
    policy = cutting.policy()
    with database.read() as rows:
        chunking_id = rows.chunks.find_chunking(document.id, policy)
        there = chunking_id is not None and rows.documents.pages(current.id, chunking_id) is not None
        others = rows.documents.chunkings(current.id)
        before = rows.documents.last_pages(document.id, chunking_id) if chunking_id is not None else None
    report: dict[str, object] = {}
    if not there:
        with database.write() as rows:
            chunking_id = rows.chunks.chunking(document.id, policy)
        with database.read() as rows:
            sections = rows.documents.sections(current.id)
        assert chunking_id is not None
        done = cut(
            database,
            chunking_id,
            Splitter(cutting.grain, cutting.counter),
            grain=cutting.grain,
            sections=sections,
            blocks=stored_text(database, current.id, others[0][0]),
            before=before,
        )
        with database.write() as rows:
            rows.documents.place_pages(current.id, chunking_id, done.places, tokens=done.tokens, report=done.report)
        report = done.report
    assert chunking_id is not None
    return Ingested(
        document=document, revision=current, chunking_id=chunking_id, outcome=Outcome.UNCHANGED, report=report
    )


def as_it_stands(database: Database, document: Document, cutting: Cutting) -> Ingested:
    """A document's current revision, cut by this grain too if it was not yet. Its source is not looked at.

    Raises ReadError when it was never read.
    """
    if document.current is None:
        raise ReadError(f"{document.title} has not been read yet", hint="octavo ingest BOOK reads it")
    return recut(database, document, document.current, cutting)


def _publish(
    database: Database, document: Document, new: NewRevision, reading: Reading, cutting: Cutting
) -> Ingested | None:
    """Cut a reading and make it the current revision; None when another process was first."""
    with database.write() as rows:
        revision_id = rows.documents.build(document.id, new)
        chunking_id = rows.chunks.chunking(document.id, cutting.policy())
    with database.read() as rows:
        before = rows.documents.last_pages(document.id, chunking_id)
    done = cut(
        database,
        chunking_id,
        Splitter(cutting.grain, cutting.counter),
        grain=cutting.grain,
        sections=reading.sections,
        blocks=reading.blocks(),
        before=before,
    )
    with database.write() as rows:
        if not rows.documents.publish(
            document.id,
            revision_id,
            instead_of=document.current.id if document.current else None,
            sections=reading.sections,
        ):
            rows.documents.discard(revision_id)
            return None
        rows.documents.place_pages(revision_id, chunking_id, done.places, tokens=done.tokens, report=done.report)
        published = rows.documents.get(document.id)
    assert published is not None
    assert published.current is not None
    return Ingested(
        document=published,
        revision=published.current,
        chunking_id=chunking_id,
        outcome=Outcome.CHANGED if document.current else Outcome.READ,
        report=done.report,
    )


def _mtime_ns(found: Found) -> int | None:
    try:
        return stat_of(found).mtime_ns
    except OSError:
        return None  # the reader says what is wrong with it


def _new_revision(reading: Reading, options: dict[str, object], mtime_ns: int | None) -> NewRevision:
    return NewRevision(
        source_sha256=reading.source_sha256,
        source_size=reading.byte_count,
        source_mtime_ns=mtime_ns,
        text_sha256=reading.text_sha256,
        encoding=reading.encoding,
        reader=reading.reader,
        reader_version=reading.reader_version,
        options=options,
        title=reading.title,
        char_count=reading.char_count,
        line_count=reading.line_count,
        line_endings=reading.line_endings,
        warnings=[
            {"code": item.code, "message": item.message, "line": item.line, "byte_offset": item.byte_offset}
            for item in reading.warnings
        ],
        authors=list(reading.authors),
        language=reading.language,
        places=reading.places,
    )


def stored_text(database: Database, revision_id: int, chunking_id: int) -> Iterator[str]:
    """The text of a revision from its chunks, a page at a time: cores tile the text, so joined they are all of it."""
    with database.read() as rows:
        places = rows.documents.pages(revision_id, chunking_id) or []
    for place in places:
        with database.read() as rows:
            chunks = list(rows.chunks.of_pages([place.page_id]))
            texts = rows.contents.texts([chunk.content_sha256 for chunk in chunks])
        yield "".join(texts[chunk.content_sha256] for chunk in chunks)


def documents_of(database: Database, ids: list[UUID]) -> list[Document]:
    """Documents by id, in order, those that are there."""
    with database.read() as rows:
        return [document for item in ids if (document := rows.documents.get(item))]
