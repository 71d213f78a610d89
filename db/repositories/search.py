"""The index of chunks: which are in it, and which of them have given words.

The words are kept in the form that each database searches best: a contentless FTS5 table, or tsvectors under a GIN
index. Both hold the tokens that `pipeline.evidence.terms` made; neither takes text apart or ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from sqlalchemy import Table, func, select, text
from sqlalchemy.engine import Connection

from db.dialect import batches, upsert
from db.prepared import IDS, among, ids_for
from db.tables import ChunkingRow, DocumentRow, PageRow, SearchChunkingRow, SearchChunkRow, SectionRow

_CHUNKS = cast(Table, SearchChunkRow.__table__)
_CHUNKINGS = cast(Table, SearchChunkingRow.__table__)
_CHUNKS_AMONG = select(_CHUNKS).where(among(_CHUNKS.c.id, "postgresql"))  # planned once, however many ids
SEGMENT_BITS = 12  # chunks with consecutive ids: so many share a token, by which PostgreSQL reads a part of a long list


@dataclass(frozen=True, slots=True)
class Indexed:
    """A chunk in the index."""

    id: int
    chunking_id: int
    page_id: int
    ordinal: int
    content_sha256: bytes
    term_count: int


@dataclass(frozen=True, slots=True)
class Match:
    """Chunks that have all the tokens, one of the chunkings if any are named, and an open term as a beginning."""

    tokens: tuple[str, ...]
    opens: tuple[str, ...] = ()
    chunkings: tuple[int, ...] = ()


class SearchRepository:
    """The `search_chunkings`, `search_chunks` and `search_words` tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._postgres = connection.dialect.name == "postgresql"

    def stale(self, limit: int) -> list[tuple[UUID, int]]:
        """(document, current revision) of documents whose current revision is not in the index."""
        held = (
            select(SearchChunkingRow.chunking_id)
            .join(ChunkingRow, ChunkingRow.id == SearchChunkingRow.chunking_id)
            .where(
                ChunkingRow.document_id == DocumentRow.id,
                SearchChunkingRow.revision_id == DocumentRow.current_revision_id,
            )
        )
        query = select(DocumentRow.id, DocumentRow.current_revision_id).where(
            DocumentRow.current_revision_id.is_not(None), ~held.exists()
        )
        found = self._connection.execute(query.order_by(DocumentRow.id).limit(limit))
        return [(row[0], row[1]) for row in found if row[1] is not None]

    def of_documents(self, document_ids: Sequence[UUID]) -> dict[UUID, list[int]]:
        """The indexed chunkings of documents."""
        found: dict[UUID, list[int]] = {}
        for part in batches(document_ids):
            query = select(ChunkingRow.document_id, ChunkingRow.id).join(
                SearchChunkingRow, SearchChunkingRow.chunking_id == ChunkingRow.id
            )
            rows = self._connection.execute(query.where(ChunkingRow.document_id.in_(part)).order_by(ChunkingRow.id))
            for document_id, chunking_id in rows:
                found.setdefault(document_id, []).append(chunking_id)
        return found

    def with_section(self, title: str, limit: int) -> list[UUID]:
        """Documents that have, or had, a section whose title has this in it, newest first."""
        query = select(SectionRow.document_id).where(SectionRow.title.icontains(title, autoescape=True)).distinct()
        return list(self._connection.execute(query.order_by(SectionRow.document_id.desc()).limit(limit)).scalars())

    def places(self, chunking_ids: Sequence[int]) -> dict[int, tuple[UUID, int]]:
        """(document, its current revision) by chunking."""
        query = select(ChunkingRow.id, ChunkingRow.document_id, DocumentRow.current_revision_id).join(
            DocumentRow, DocumentRow.id == ChunkingRow.document_id
        )
        found: dict[int, tuple[UUID, int]] = {}
        for part in batches(chunking_ids):
            for row in self._connection.execute(query.where(ChunkingRow.id.in_(part))):
                if row[2] is not None:
                    found[row[0]] = (row[1], row[2])
        return found

    def totals(self) -> tuple[int, int, int]:
        """(chunks, terms, highest id) of the whole index."""
        sums = select(
            func.coalesce(func.sum(SearchChunkingRow.chunk_count), 0),
            func.coalesce(func.sum(SearchChunkingRow.term_count), 0),
        )
        chunks, terms = self._connection.execute(sums).one()
        return int(chunks), int(terms), self._last()

    def _last(self) -> int:
        return int(self._connection.execute(select(func.coalesce(func.max(SearchChunkRow.id), 0))).scalar_one())

    def of_page(self, page_id: int) -> list[Indexed]:
        """The chunks of a page, in order."""
        query = select(_CHUNKS).where(_CHUNKS.c.page_id == page_id).order_by(_CHUNKS.c.ordinal)
        return [Indexed(*row) for row in self._connection.execute(query)]

    def lock(self) -> None:
        """Let one process at a time write the index, to the end of the transaction. (SQLite has one writer anyhow.)"""
        if self._postgres:
            self._connection.execute(text("SELECT pg_advisory_xact_lock(577215664)"))

    def held(self, page_ids: Sequence[int]) -> set[int]:
        """Those of the pages that are in the index."""
        found: set[int] = set()
        for part in batches(page_ids):
            query = select(SearchChunkRow.page_id).where(SearchChunkRow.page_id.in_(part)).distinct()
            found.update(self._connection.execute(query).scalars())
        return found

    def pages(self, chunking_id: int) -> set[int]:
        """The pages of a chunking that are in the index."""
        query = select(PageRow.id).where(
            PageRow.chunking_id == chunking_id,
            select(SearchChunkRow.id).where(SearchChunkRow.page_id == PageRow.id).exists(),
        )
        return set(self._connection.execute(query).scalars())

    def add(self, chunking_id: int, chunks: Sequence[tuple[int, int, bytes, int, Sequence[str]]]) -> None:
        """Put chunks in, given as (page, ordinal, content hash, number of terms, tokens), whole pages in order."""
        if not chunks:
            return
        first = self._last() + 1
        rows = [
            {
                "id": first + at,
                "chunking_id": chunking_id,
                "page_id": page_id,
                "ordinal": ordinal,
                "content_sha256": sha,
                "term_count": count,
            }
            for at, (page_id, ordinal, sha, count, _) in enumerate(chunks)
        ]
        self._connection.execute(_CHUNKS.insert(), rows)
        if self._postgres:
            # What is not in the tree yet is put there less often, and more of it at once: filling is faster so.
            self._connection.exec_driver_sql("SET LOCAL gin_pending_list_limit = '16MB'")
            self._connection.exec_driver_sql("SET LOCAL work_mem = '32MB'")
            said = [
                " ".join([*item[4], _document(chunking_id), _segment((first + at) >> SEGMENT_BITS)])
                for at, item in enumerate(chunks)
            ]
            self._connection.exec_driver_sql(
                "INSERT INTO search_words (id, tokens) SELECT id, array_to_tsvector(string_to_array(said, ' ')) "
                "FROM unnest(%s::bigint[], %s::text[]) AS given (id, said)",
                ([first + at for at in range(len(said))], said),
            )
        else:
            plain = [(first + at, " ".join([*item[4], _document(chunking_id)])) for at, item in enumerate(chunks)]
            self._connection.exec_driver_sql("INSERT INTO search_words (rowid, tokens) VALUES (?, ?)", plain)

    def remove(self, chunking_id: int, page_ids: Sequence[int], tokens: Mapping[bytes, Sequence[str]]) -> None:
        """Take pages out. `tokens` are those of their chunks by content hash: FTS5 must be told what it forgets.

        A chunk whose text is gone leaves its words behind: they lead to an id that is not there, and count for nothing.
        """
        for part in batches(page_ids):
            query = select(SearchChunkRow.id, SearchChunkRow.content_sha256).where(
                SearchChunkRow.chunking_id == chunking_id, SearchChunkRow.page_id.in_(part)
            )
            rows = [(row[0], row[1]) for row in self._connection.execute(query)]
            if not rows:
                continue
            for ids in batches([row[0] for row in rows]):
                self._connection.execute(_CHUNKS.delete().where(_CHUNKS.c.id.in_(ids)))
            self._forget(chunking_id, [(at, tokens[sha]) for at, sha in rows if sha in tokens])

    def _forget(self, chunking_id: int, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        if not rows:
            return
        if self._postgres:
            self._connection.exec_driver_sql("DELETE FROM search_words WHERE id = ANY(%s)", ([at for at, _ in rows],))
            return
        said = [(at, " ".join([*tokens, _document(chunking_id)])) for at, tokens in rows]
        self._connection.exec_driver_sql(
            "INSERT INTO search_words (search_words, rowid, tokens) VALUES ('delete', ?, ?)", said
        )

    def count(self, chunking_id: int, revision_id: int, *, chunks: int, terms: int) -> None:
        """Add to the sums of a chunking; they belong to a revision once `settle` says so."""
        statement = upsert(
            self._connection.dialect.name, SearchChunkingRow, ("chunking_id",), add=("chunk_count", "term_count")
        )
        self._connection.execute(
            statement,
            {"chunking_id": chunking_id, "revision_id": revision_id, "chunk_count": chunks, "term_count": terms},
        )

    def settle(self, chunking_id: int, revision_id: int) -> None:
        """Say that the index holds this revision of the chunking."""
        statement = _CHUNKINGS.update().where(_CHUNKINGS.c.chunking_id == chunking_id)
        self._connection.execute(statement.values(revision_id=revision_id))

    def tidy(self) -> None:
        """After much was added: PostgreSQL's list of words that are not in the tree yet goes in, and it counts anew."""
        if self._postgres:
            self._connection.exec_driver_sql("SELECT gin_clean_pending_list('ix_search_words_tokens')")
            self._connection.exec_driver_sql("ANALYZE search_words, search_chunks")

    def drop(self, chunking_id: int) -> None:
        """Forget a chunking whose pages were taken out."""
        self._connection.execute(_CHUNKINGS.delete().where(_CHUNKINGS.c.chunking_id == chunking_id))

    def sample(self, match: Match, segments: Sequence[int]) -> list[list[int]]:
        """The matching ids in each of some segments, in order."""
        if not self._postgres:
            return [
                self._sqlite(match, low=at << SEGMENT_BITS, high=(at + 1) << SEGMENT_BITS, limit=1 << SEGMENT_BITS)
                for at in segments
            ]
        some = " | ".join(_quoted(_segment(at)) for at in segments)
        ids = self._postgres_ids(f"{_tsquery(match)} & ({some})", len(segments) << SEGMENT_BITS)
        found: dict[int, list[int]] = {at: [] for at in segments}
        for at in sorted(ids):
            found[at >> SEGMENT_BITS].append(at)
        return [found[at] for at in segments]

    def walk(self, match: Match, limit: int) -> list[int]:
        """So many of the matching ids, the first as they lie there, in order."""
        if not self._postgres:
            return self._sqlite(match, low=0, high=1 << 62, limit=limit)
        return sorted(self._postgres_ids(_tsquery(match), limit))

    def _postgres_ids(self, query: str, limit: int) -> list[int]:
        # Planned as if all were wanted, else a limit might make it read the table; read as far as the limit, for most
        # of the time of a long list goes to the rows; and handed over as one text, for each row costs the driver.
        statement = text(
            "WITH found AS MATERIALIZED (SELECT id FROM search_words WHERE tokens @@ CAST(:q AS tsquery)) "
            "SELECT string_agg(CAST(id AS text), ',') FROM (SELECT id FROM found LIMIT :limit) AS head"
        )
        ids = self._connection.execute(statement, {"q": query, "limit": limit}).scalar_one()
        return [int(at) for at in ids.split(",")] if ids else []

    def _sqlite(self, match: Match, *, low: int, high: int, limit: int) -> list[int]:
        query = text(
            "SELECT rowid FROM search_words WHERE search_words MATCH :q AND rowid >= :low AND rowid < :high "
            "ORDER BY rowid LIMIT :limit"
        )
        given = {"q": _fts(match), "low": low, "high": high, "limit": limit}
        return list(self._connection.execute(query, given).scalars())

    def chunks(self, ids: Iterable[int]) -> dict[int, Indexed]:
        """Chunks by id; an id whose chunk was taken out is left out."""
        found: dict[int, Indexed] = {}
        if self._postgres:
            rows = self._connection.execute(_CHUNKS_AMONG, {IDS: ids_for(self._connection, sorted(ids))})
            return {row.id: Indexed(*row) for row in rows}
        for part in batches(sorted(ids)):
            for row in self._connection.execute(select(_CHUNKS).where(_CHUNKS.c.id.in_(part))):
                found[row.id] = Indexed(*row)
        return found


def _document(chunking_id: int) -> str:
    return f"§{chunking_id}"


def _segment(number: int) -> str:
    return f"¶{number}"


def _quoted(token: str) -> str:
    return "'" + token.replace("\\", "\\\\").replace("'", "''") + "'"


def _tsquery(match: Match) -> str:
    parts = [_quoted(token) for token in match.tokens] + [f"{_quoted(token)}:*" for token in match.opens]
    if match.chunkings:
        parts.append(f"({' | '.join(_quoted(_document(at)) for at in match.chunkings)})")
    return " & ".join(parts)


def _fts(match: Match) -> str:
    parts = [f'"{token}"' for token in match.tokens] + [f'"{token}"*' for token in match.opens]
    if match.chunkings:
        names = " OR ".join(f'"{_document(at)}"' for at in match.chunkings)
        parts.append(f"({names})")
    return " AND ".join(parts)
