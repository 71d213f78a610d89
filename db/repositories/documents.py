"""Documents, revisions and their layouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, exists, func, insert, or_, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.orm import aliased

from db.dialect import batches, insert_new
from db.errors import CollectedError
from db.layout import pack, pack_places, unpack, unpack_places
from db.prepared import IDS, among, ids_for
from db.sections import StoredSections
from db.tables import ChunkingRow, DocumentRow, GrainRow, PageRow, RevisionPagesRow, RevisionRow, SectionRow
from db.values import Document, NewRevision, PagePlace, Revision, Standing
from pipeline import canonical
from pipeline.read.places import Places
from pipeline.read.reading import LineEnding, Section
from pipeline.states import RevisionState

_APART = ("layout", "line_endings", "title", "places")  # read when they are needed
REVISION = [column for column in RevisionRow.__table__.c if column.name not in _APART]


class DocumentRepository:
    """The `documents`, `revisions` and `sections` tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, *, id: UUID, uri: str, title: str, media_type: str, collection: str) -> None:  # noqa: A002  # the column's name
        """Store a document without revisions; one with this URI stays as it is."""
        row = {"id": id, "uri": uri, "title": title, "media_type": media_type, "collection": collection}
        statement = insert_new(self._connection, DocumentRow)
        self._connection.execute(statement, row | {"created_at": datetime.now(UTC)})

    def by_uri(self, uri: str) -> Document | None:
        """The document of a source."""
        return self._one(DocumentRow.uri == uri)

    def get(self, document_id: UUID) -> Document | None:
        """A document by id."""
        return self._one(DocumentRow.id == document_id)

    def find(self, text: str, limit: int = 10) -> list[Document]:
        """Documents whose URI, last part of the URI, title or start of the id is `text`."""
        condition = or_(
            DocumentRow.uri == text,
            DocumentRow.title == text,
            DocumentRow.uri.endswith("/" + text, autoescape=True),
        )
        found = self._many(condition, limit)
        if not found and len(text) >= 4:
            found = [document for document in self._many(None, 10_000) if str(document.id).startswith(text)][:limit]
        return found

    def all(self, limit: int, after: UUID | None = None) -> list[Document]:
        """Documents in order of their ids."""
        return self._many(None if after is None else DocumentRow.id > after, limit)

    def named(self, document_ids: Sequence[UUID]) -> dict[UUID, Document]:
        """Documents by id, of those that are there."""
        found: dict[UUID, Document] = {}
        for part in batches(document_ids):
            found.update((item.id, item) for item in self._many(DocumentRow.id.in_(part), None))
        return found

    def _one(self, condition: Any) -> Document | None:
        found = self._many(condition, 1)
        return found[0] if found else None

    def _many(self, condition: Any, limit: int | None) -> list[Document]:
        query = (
            select(
                DocumentRow.id.label("d_id"),
                DocumentRow.uri,
                DocumentRow.title.label("d_title"),
                DocumentRow.media_type,
                DocumentRow.collection,
                *REVISION,
            )
            .join_from(DocumentRow, RevisionRow, DocumentRow.current_revision_id == RevisionRow.id, isouter=True)
            .order_by(DocumentRow.id)
            .limit(limit)
        )
        if condition is not None:
            query = query.where(condition)
        return [_document(row) for row in self._connection.execute(query)]

    def revision(self, revision_id: int) -> Revision | None:
        """A revision by id."""
        row = self._connection.execute(select(*REVISION).where(RevisionRow.id == revision_id)).one_or_none()
        return None if row is None else as_revision(row)

    def text_hashes(self, revision_ids: Sequence[int]) -> dict[int, bytes]:
        """The hash of each revision's text, of those that are there."""
        found: dict[int, bytes] = {}
        for part in batches(revision_ids):
            query = select(RevisionRow.id, RevisionRow.text_sha256).where(RevisionRow.id.in_(part))
            found.update((row[0], row[1]) for row in self._connection.execute(query))
        return found

    def revisions(self, document_id: UUID) -> list[Revision]:
        """The published revisions of a document, oldest first."""
        query = select(*REVISION).where(RevisionRow.document_id == document_id, RevisionRow.number.is_not(None))
        return [as_revision(row) for row in self._connection.execute(query.order_by(RevisionRow.number))]

    def build(self, document_id: UUID, new: NewRevision) -> int:
        """Begin a revision that nobody sees yet; gives its id."""
        endings = new.line_endings
        values = {
            "document_id": document_id,
            "state": RevisionState.BUILDING,
            "layout": b"",
            "line_endings": pack([item.first_line for item in endings], [item.width for item in endings]),
            "places": None if new.places is None else pack_places(new.places),
            "created_at": datetime.now(UTC),
        }
        for name in [
            "source_sha256",
            "source_size",
            "source_mtime_ns",
            "text_sha256",
            "encoding",
            "reader",
            "reader_version",
            "options",
            "title",
            "char_count",
            "line_count",
            "warnings",
            "authors",
            "language",
        ]:
            values[name] = getattr(new, name)
        inserted = self._connection.execute(insert(RevisionRow).values(values).returning(RevisionRow.id))
        return inserted.scalar_one()

    def publish(
        self, document_id: UUID, revision_id: int, *, instead_of: int | None, sections: Sequence[Section]
    ) -> bool:
        """Make a built revision the current one, if the current one is still `instead_of`; says whether it did."""
        swap = update(DocumentRow).where(DocumentRow.id == document_id)
        swap = swap.where(
            DocumentRow.current_revision_id.is_(None)
            if instead_of is None
            else DocumentRow.current_revision_id == instead_of
        )
        if self._connection.execute(swap.values(current_revision_id=revision_id)).rowcount != 1:
            return False
        number = select(func.coalesce(func.max(RevisionRow.number), 0) + 1).where(
            RevisionRow.document_id == document_id
        )
        if instead_of is not None:
            self._state(instead_of, RevisionState.SUPERSEDED)
        self._connection.execute(
            update(RevisionRow)
            .where(RevisionRow.id == revision_id)
            .values(
                state=RevisionState.CURRENT, number=number.scalar_subquery(), layout=self._place(document_id, sections)
            )
        )
        self._connection.execute(
            delete(RevisionRow).where(
                RevisionRow.document_id == document_id, RevisionRow.state == RevisionState.BUILDING
            )
        )
        return True

    def discard(self, revision_id: int) -> None:
        """Give up a revision that is being built."""
        self._connection.execute(
            delete(RevisionRow).where(RevisionRow.id == revision_id, RevisionRow.state == RevisionState.BUILDING)
        )

    def _state(self, revision_id: int, state: RevisionState) -> None:
        self._connection.execute(update(RevisionRow).where(RevisionRow.id == revision_id).values(state=state))

    def among(self, chosen: Any) -> list[Document]:
        """The documents whose ids a query gives."""
        return self._many(DocumentRow.id.in_(chosen), None)

    def standing(self, uris: Sequence[str], policy: dict[str, Any]) -> dict[str, Standing]:
        """The documents of these URIs that have a current revision, and how a grain's policy cut that, by URI."""
        digest = canonical.digest(policy)
        found: dict[str, Standing] = {}
        for part in batches(uris):
            documents = self._many(DocumentRow.uri.in_(part), None)
            query = (
                select(ChunkingRow.document_id, RevisionPagesRow.revision_id, ChunkingRow.id)
                .join(GrainRow, GrainRow.id == ChunkingRow.grain_id)
                .join(RevisionPagesRow, RevisionPagesRow.chunking_id == ChunkingRow.id)
                .join(DocumentRow, DocumentRow.current_revision_id == RevisionPagesRow.revision_id)
                .where(GrainRow.digest == digest, DocumentRow.uri.in_(part))
            )
            cut = {row[0]: row[2] for row in self._connection.execute(query)}
            for item in documents:
                if item.current:
                    found[item.uri] = Standing(document=item, chunking_id=cut.get(item.id))
        return found

    def of_size(self, size: int, limit: int = 100) -> list[Document]:
        """Documents whose current revision was read from so many bytes."""
        return self._many(RevisionRow.source_size == size, limit)

    def rename(self, document_id: UUID, *, was: str, uri: str, title: str) -> bool:
        """Give a document another source, if it still has the one it `was` and none has that; says whether it did."""
        other = aliased(DocumentRow)
        taken = exists().where(other.uri == uri)
        statement = update(DocumentRow).where(DocumentRow.id == document_id, DocumentRow.uri == was, ~taken)
        return self._connection.execute(statement.values(uri=uri, title=title)).rowcount == 1

    def touch(self, revision_id: int, *, size: int, mtime_ns: int | None) -> None:
        """Note the size and time of a source that was only touched."""
        statement = update(RevisionRow).where(RevisionRow.id == revision_id)
        self._connection.execute(statement.values(source_size=size, source_mtime_ns=mtime_ns))

    def _place(self, document_id: UUID, sections: Sequence[Section]) -> bytes:
        digests: list[bytes] = []
        seen: dict[bytes, int] = {}
        rows = []
        for section in sections:
            parent = digests[section.parent] if section.parent is not None else b""
            plain = canonical.digest([parent.hex(), section.level, section.kind, section.title])
            seen[plain] = seen.get(plain, 0) + 1
            digests.append(canonical.digest([plain.hex(), seen[plain]]))
            rows.append(
                {
                    "document_id": document_id,
                    "digest": digests[-1],
                    "parent_id": None,
                    "level": section.level,
                    "kind": section.kind,
                    "title": section.title,
                }
            )
        ids = self._section_ids(document_id)
        fresh = [row for row in rows if row["digest"] not in ids]
        if fresh:
            self._connection.execute(insert(SectionRow), fresh)
            ids = self._section_ids(document_id)
        return pack(
            [ids[digest] for digest in digests],
            [-1 if section.parent is None else section.parent for section in sections],
            [section.start for section in sections],
            [section.end for section in sections],
            [section.start_line for section in sections],
            [section.end_line for section in sections],
        )

    def _section_ids(self, document_id: UUID) -> dict[bytes, int]:
        query = select(SectionRow.digest, SectionRow.id).where(SectionRow.document_id == document_id)
        return dict(self._connection.execute(query).all())

    def sections(self, revision_id: int) -> StoredSections:
        """The sections of a revision, in reading order."""
        return self.sections_of([revision_id])[revision_id]

    def sections_of(self, revision_ids: Sequence[int]) -> dict[int, StoredSections]:
        """The sections of revisions, each in reading order."""
        wanted = among(SectionRow.id, self._connection.dialect.name)
        query = select(SectionRow.id, SectionRow.level, SectionRow.kind, SectionRow.title).where(wanted)
        found: dict[int, StoredSections] = {}
        for part in batches(revision_ids):
            layouts = select(RevisionRow.id, RevisionRow.layout).where(RevisionRow.id.in_(part))
            columns: dict[int, list[list[int]]] = {
                row[0]: unpack(row[1], 6) if row[1] else [[] for _ in range(6)]
                for row in self._connection.execute(layouts)
            }
            ids = sorted({section_id for one in columns.values() for section_id in one[0]})
            named = self._connection.execute(query, {IDS: ids_for(self._connection, ids)}).all() if ids else ()
            rows = {row[0]: row for row in named}
            for revision_id, one in columns.items():
                mine = rows if len(columns) == 1 else {section_id: rows[section_id] for section_id in one[0]}
                found[revision_id] = StoredSections(one, mine)
        return found

    def line_endings(self, revision_id: int) -> tuple[LineEnding, ...]:
        """How the lines of the source ended: the way back to its own offsets."""
        query = select(RevisionRow.line_endings).where(RevisionRow.id == revision_id)
        first_lines, widths = unpack(self._connection.execute(query).scalar_one(), 2)
        return tuple(LineEnding(first_line=line, width=width) for line, width in zip(first_lines, widths, strict=True))

    def places(self, revision_id: int) -> Places | None:
        """The way back from a revision's text to its source; None where the lines are the source's own."""
        query = select(RevisionRow.places).where(RevisionRow.id == revision_id)
        data = self._connection.execute(query).scalar_one()
        return None if data is None else unpack_places(data)

    def place_pages(
        self,
        revision_id: int,
        chunking_id: int,
        places: Sequence[PagePlace],
        *,
        tokens: int,
        report: dict[str, object],
    ) -> None:
        """Say where the pages of a chunking stand in a revision. Raises CollectedError when one is gone meanwhile."""
        columns = zip(*places, strict=True)
        row = {
            "revision_id": revision_id,
            "chunking_id": chunking_id,
            "layout": pack(*columns) if places else pack([], [], [], [], []),
            "chunk_count": sum(place.chunk_count for place in places),
            "token_count": tokens,
            "report": report,
        }
        self._connection.execute(insert_new(self._connection, RevisionPagesRow), row)
        # The row that was just written holds the chunking: what was collected was so before, and shows now.
        wanted = {place.page_id for place in places}
        there = 0
        for part in batches(sorted(wanted)):
            query = select(func.count()).select_from(PageRow).where(PageRow.id.in_(part))
            there += self._connection.execute(query).scalar_one()
        if there != len(wanted):
            raise CollectedError("Pages were collected while they were placed", hint="run the command again")

    def pages(self, revision_id: int, chunking_id: int) -> list[PagePlace] | None:
        """The pages of a chunking in a revision, in order; None when it was not cut by that grain."""
        return self.pages_of([(revision_id, chunking_id)]).get((revision_id, chunking_id))

    def pages_of(self, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], list[PagePlace]]:
        """The pages of (revision, chunking) pairs, in order; nothing of one that was not cut by that grain."""
        wanted = set(pairs)
        found: dict[tuple[int, int], list[PagePlace]] = {}
        for part in batches(pairs):
            query = select(RevisionPagesRow.revision_id, RevisionPagesRow.chunking_id, RevisionPagesRow.layout).where(
                RevisionPagesRow.revision_id.in_([revision_id for revision_id, _ in part]),
                RevisionPagesRow.chunking_id.in_([chunking_id for _, chunking_id in part]),
            )
            for row in self._connection.execute(query):
                if (row[0], row[1]) in wanted:
                    found[row[0], row[1]] = list(map(PagePlace._make, zip(*unpack(row[2], 5), strict=True)))
        return found

    def places_among(self, revision_id: int, chunking_id: int, page_ids: Iterable[int]) -> dict[int, PagePlace]:
        """Where some pages of a chunking stand in a revision, by page, of those that do."""
        query = select(RevisionPagesRow.layout).where(
            RevisionPagesRow.revision_id == revision_id, RevisionPagesRow.chunking_id == chunking_id
        )
        layout = self._connection.execute(query).scalar_one_or_none()
        if layout is None:
            return {}
        columns, wanted = unpack(layout, 5), set(page_ids)
        there = [at for at, page_id in enumerate(columns[0]) if page_id in wanted]
        return {columns[0][at]: PagePlace._make(column[at] for column in columns) for at in there}

    def last_pages(self, document_id: UUID, chunking_id: int) -> list[PagePlace] | None:
        """The pages of the latest published revision that the chunking cut; None when it cut none yet."""
        query = (
            select(RevisionRow.id)
            .join(RevisionPagesRow, RevisionPagesRow.revision_id == RevisionRow.id)
            .where(RevisionRow.document_id == document_id, RevisionPagesRow.chunking_id == chunking_id)
            .where(RevisionRow.number.is_not(None))
            .order_by(RevisionRow.number.desc())
            .limit(1)
        )
        found = self._connection.execute(query).scalar_one_or_none()
        return None if found is None else self.pages(found, chunking_id)

    def chunk_counts(self, revision_ids: Sequence[int]) -> dict[tuple[int, int], int]:
        """How many chunks each grain cut revisions into, by revision and chunking."""
        found: dict[tuple[int, int], int] = {}
        for part in batches(revision_ids):
            query = select(RevisionPagesRow.revision_id, RevisionPagesRow.chunking_id, RevisionPagesRow.chunk_count)
            rows = self._connection.execute(query.where(RevisionPagesRow.revision_id.in_(part)))
            found.update(((row[0], row[1]), row[2]) for row in rows)
        return found

    def chunkings(self, revision_id: int) -> list[tuple[int, int, int, dict[str, object]]]:
        """(chunking id, chunks, tokens, report) of every grain that cut the revision."""
        query = select(
            RevisionPagesRow.chunking_id,
            RevisionPagesRow.chunk_count,
            RevisionPagesRow.token_count,
            RevisionPagesRow.report,
        ).where(RevisionPagesRow.revision_id == revision_id)
        rows = self._connection.execute(query.order_by(RevisionPagesRow.chunking_id))
        return [(row[0], row[1], row[2], row[3]) for row in rows]


def as_revision(row: Row[Any]) -> Revision:
    """A revision from its columns."""
    return Revision(
        id=row.id,
        document_id=row.document_id,
        number=row.number,
        state=RevisionState(row.state),
        source_sha256=row.source_sha256,
        source_size=row.source_size,
        source_mtime_ns=row.source_mtime_ns,
        text_sha256=row.text_sha256,
        encoding=row.encoding,
        reader=row.reader,
        reader_version=row.reader_version,
        options=row.options,
        char_count=row.char_count,
        line_count=row.line_count,
        warnings=row.warnings,
        authors=row.authors or [],
        language=row.language,
        created_at=row.created_at,
    )


def _document(row: Row[Any]) -> Document:
    return Document(
        id=row.d_id,
        uri=row.uri,
        title=row.d_title,
        media_type=row.media_type,
        collection=row.collection,
        current=None if row.id is None else as_revision(row),
    )
