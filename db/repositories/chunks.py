"""Grains, chunkings, pages and chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any
from uuid import UUID

from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from db.dialect import batches, insert_new
from db.prepared import IDS, Prepared, among, ids_for
from db.tables import ChunkingRow, ChunkRow, GrainRow, PageRow
from db.values import Chunk, NewPage, StoredUnit
from pipeline import canonical

_CHUNK = (
    ChunkRow.page_id,
    ChunkRow.ordinal,
    ChunkRow.logical_id,
    ChunkRow.content_sha256,
    ChunkRow.start,
    ChunkRow.end,
    ChunkRow.line,
    ChunkRow.lead,
    ChunkRow.lead_sha256,
    ChunkRow.token_count,
    ChunkRow.over_limit,
)
_HASHES = Prepared(
    (IDS,),
    lambda dialect: (
        select(ChunkRow.page_id, ChunkRow.ordinal, ChunkRow.content_sha256)
        .where(among(ChunkRow.page_id, dialect))
        .order_by(ChunkRow.page_id, ChunkRow.ordinal)
    ),
)


class ChunkRepository:
    """The `grains`, `chunkings`, `pages` and `chunks` tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def chunking(self, document_id: UUID, policy: dict[str, Any]) -> int:
        """The id of the chunking of a document by a grain's policy; made where it is not there."""
        digest = canonical.digest(policy)
        grain_id = self._id(GrainRow, {"digest": digest, "policy": policy}, GrainRow.digest == digest)
        return self._id(
            ChunkingRow,
            {"document_id": document_id, "grain_id": grain_id},
            (ChunkingRow.document_id == document_id) & (ChunkingRow.grain_id == grain_id),
        )

    def find_chunking(self, document_id: UUID, policy: dict[str, Any]) -> int | None:
        """The id of the chunking of a document by a grain's policy, if there is one."""
        query = (
            select(ChunkingRow.id)
            .join(GrainRow, GrainRow.id == ChunkingRow.grain_id)
            .where(ChunkingRow.document_id == document_id, GrainRow.digest == canonical.digest(policy))
        )
        return self._connection.execute(query).scalar_one_or_none()

    def policy(self, chunking_id: int) -> dict[str, Any]:
        """The grain's policy of a chunking."""
        query = select(GrainRow.policy).join(ChunkingRow, ChunkingRow.grain_id == GrainRow.id)
        return self._connection.execute(query.where(ChunkingRow.id == chunking_id)).scalar_one()

    def _id(self, table: type[Any], row: dict[str, Any], condition: Any) -> int:
        query = select(table.id).where(condition)
        found = self._connection.execute(query).scalar_one_or_none()
        if found is None:
            self._connection.execute(insert_new(self._connection, table), row)
            found = self._connection.execute(query).scalar_one()
        return int(found)

    def units(self, chunking_id: int, page_ids: Sequence[int] | None = None) -> list[StoredUnit]:
        """The whole units stored for a chunking, in order of their pages' ids, or of the given pages."""
        columns = (
            PageRow.id,
            PageRow.unit_sha256,
            PageRow.part,
            PageRow.parts,
            PageRow.chunk_count,
            PageRow.char_count,
            PageRow.line_count,
            PageRow.token_count,
        )
        query = select(*columns).where(PageRow.chunking_id == chunking_id).order_by(PageRow.id)
        rows = {row.id: row for row in self._connection.execute(query)}
        ordered = rows.values() if page_ids is None else (rows[page_id] for page_id in page_ids)
        units: list[StoredUnit] = []
        run: list[Any] = []
        for row in ordered:
            run = [*run, row] if row.part == len(run) and (not run or run[0].unit_sha256 == row.unit_sha256) else [row]
            if row.part == row.parts - 1 and len(run) == row.parts:
                pages = tuple((r.id, r.chunk_count, r.char_count, r.line_count, r.token_count) for r in run)
                units.append(StoredUnit(row.unit_sha256, pages))
                run = []
        return units

    def add_pages(self, chunking_id: int, pages: Sequence[NewPage]) -> list[int]:
        """Store pages with their chunks; gives the pages' ids in order."""
        rows = [
            {
                "chunking_id": chunking_id,
                "unit_sha256": page.unit_sha256,
                "part": page.part,
                "parts": page.parts,
                "chunk_count": len(page.chunks),
                "char_count": page.char_count,
                "line_count": page.line_count,
                "token_count": sum(chunk.token_count for chunk in page.chunks),
            }
            for page in pages
        ]
        if not rows:
            return []
        statement = insert(PageRow).returning(PageRow.id, sort_by_parameter_order=True)
        ids = list(self._connection.execute(statement, rows).scalars())
        self._connection.execute(insert(ChunkRow), list(chain.from_iterable(map(_chunk_rows, ids, pages))))
        return ids

    def of_pages(self, page_ids: Sequence[int]) -> Iterator[Chunk]:
        """The chunks of pages, in the order of `page_ids`."""
        for part in batches(page_ids):
            query = select(*_CHUNK).where(ChunkRow.page_id.in_(part)).order_by(ChunkRow.page_id, ChunkRow.ordinal)
            by_page: dict[int, list[Chunk]] = {}
            for row in self._connection.execute(query):
                by_page.setdefault(row[0], []).append(_chunk(row))
            for page_id in part:
                yield from by_page.get(page_id, ())

    def hashes_of(self, page_ids: Sequence[int]) -> list[tuple[int, int, bytes]]:
        """(page id, ordinal, content hash) of the chunks of pages, in order of pages' ids: all that a plan needs."""
        return _HASHES.rows(self._connection, (ids_for(self._connection, page_ids),))

    def at(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Chunk]:
        """Chunks by (page id, ordinal)."""
        wanted = set(places)
        found: dict[tuple[int, int], Chunk] = {}
        for part in batches(sorted({page_id for page_id, _ in places})):
            query = select(*_CHUNK).where(ChunkRow.page_id.in_(part))
            for row in self._connection.execute(query):
                if (row[0], row[1]) in wanted:
                    found[row[0], row[1]] = _chunk(row)
        return found

    def by_logical_id(self, logical_id: UUID, limit: int | None = None) -> list[tuple[UUID, int, Chunk]]:
        """(document id, chunking id, chunk) of every page that holds the logical id; `limit`: of the newest."""
        query = (
            select(ChunkingRow.document_id, ChunkingRow.id, *_CHUNK)
            .join(PageRow, PageRow.id == ChunkRow.page_id)
            .join(ChunkingRow, ChunkingRow.id == PageRow.chunking_id)
            .where(ChunkRow.logical_id == logical_id)
            .order_by(ChunkRow.page_id.desc() if limit else ChunkRow.page_id)
            .limit(limit)
        )
        return [(row[0], row[1], _chunk(row[2:])) for row in self._connection.execute(query)]


def _chunk(row: Any) -> Chunk:
    return Chunk(*row)


def _chunk_rows(page_id: int, page: NewPage) -> list[dict[str, Any]]:
    return [
        {
            "page_id": page_id,
            "ordinal": ordinal,
            "logical_id": logical_id,
            "content_sha256": chunk.content_sha256,
            "start": chunk.start,
            "end": chunk.end,
            "line": chunk.line,
            "lead": chunk.lead,
            "lead_sha256": chunk.lead_sha256,
            "token_count": chunk.token_count,
            "over_limit": chunk.over_limit,
        }
        for ordinal, (chunk, logical_id) in enumerate(zip(page.chunks, page.logical_ids, strict=True))
    ]
