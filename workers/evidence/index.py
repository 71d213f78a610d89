"""Brings the index of chunks up to date: revisions share pages, so an edit indexes those that it changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from db.database import Database, Repositories
from db.values import Chunk
from pipeline.evidence import terms

BATCH_CHUNKS = 2_000  # in one transaction: well under half a second of writing
DOCUMENTS = 200  # looked for at once

Watch = Callable[[int], None]


def refresh(database: Database, watch: Watch = lambda _chunks: None) -> int:
    """Index every document's current revision; gives how many chunks were put in. Safe to kill: the next call goes on.

    It is called by whatever searches, and by a sweep: ingest does not wait for an index that may never be asked.
    A document that several grains cut is indexed by the finest.
    """
    added = 0
    while True:
        with database.read() as rows:
            found = rows.search.stale(DOCUMENTS)
        done = 0
        for document_id, revision_id in found:
            done += _document(database, document_id, revision_id, watch)
        added += done
        if len(found) < DOCUMENTS:
            break
    if added:
        with database.write() as rows:
            rows.search.tidy()
    return added


def _document(database: Database, document_id: UUID, revision_id: int, watch: Watch) -> int:
    with database.read() as rows:
        chunking_id = _finest(rows, revision_id)
        held = rows.search.of_documents([document_id]).get(document_id, [])
        pages = None if chunking_id is None else rows.documents.pages(revision_id, chunking_id)
    for other in held:
        if other != chunking_id:
            _remove(database, other, None)
            with database.write() as rows:
                rows.search.drop(other)
    if chunking_id is None or pages is None:
        return 0
    with database.read() as rows:
        known = rows.search.pages(chunking_id)
    wanted = {place.page_id: place.chunk_count for place in pages}
    _remove(database, chunking_id, [page_id for page_id in known if page_id not in wanted])
    added = 0
    for batch in _batches({page: count for page, count in wanted.items() if page not in known}):
        added += _add(database, chunking_id, revision_id, batch)
        watch(added)
    with database.write() as rows:
        rows.search.count(chunking_id, revision_id, chunks=0, terms=0)
        rows.search.settle(chunking_id, revision_id)
    return added


def _finest(rows: Repositories, revision_id: int) -> int | None:
    chunkings = [row[0] for row in rows.documents.chunkings(revision_id)]
    return min(chunkings, key=lambda at: (int(rows.chunks.policy(at)["limit"]), at), default=None)


def _batches(pages: dict[int, int]) -> Iterator[list[int]]:
    batch: list[int] = []
    chunks = 0
    for page_id, count in pages.items():
        batch.append(page_id)
        chunks += count
        if chunks >= BATCH_CHUNKS:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def _add(database: Database, chunking_id: int, revision_id: int, page_ids: Sequence[int]) -> int:
    with database.read() as rows:
        chunks = list(rows.chunks.of_pages(page_ids))
        texts = rows.contents.texts(list({chunk.content_sha256 for chunk in chunks}))
    analysed = {sha: terms.terms_of(text) for sha, text in texts.items()}
    rows_of = [_row(chunk, analysed[chunk.content_sha256]) for chunk in chunks]
    with database.write() as rows:
        rows.search.lock()
        if rows.search.held(page_ids[:1]):
            return 0  # another process was first
        rows.search.add(chunking_id, rows_of)
        rows.search.count(chunking_id, -revision_id, chunks=len(rows_of), terms=sum(row[3] for row in rows_of))
    return len(rows_of)


def _row(chunk: Chunk, found: Counter[str]) -> tuple[int, int, bytes, int, list[str]]:
    return chunk.page_id, chunk.ordinal, chunk.content_sha256, found.total(), terms.tokens_of(found)


def _remove(database: Database, chunking_id: int, page_ids: Sequence[int] | None) -> None:
    """Take pages of a chunking out; None for all of them."""
    with database.read() as rows:
        gone = list(rows.search.pages(chunking_id)) if page_ids is None else list(page_ids)
    for at in range(0, len(gone), 16):
        part = gone[at : at + 16]
        with database.read() as rows:
            chunks = list(rows.chunks.of_pages(part))
            texts = rows.contents.texts(list({chunk.content_sha256 for chunk in chunks}))
        analysed = {sha: terms.terms_of(text) for sha, text in texts.items()}
        tokens = {sha: terms.tokens_of(found) for sha, found in analysed.items()}
        with database.write() as rows:
            rows.search.lock()
            rows.search.remove(chunking_id, part, tokens)
            counts = [analysed[chunk.content_sha256].total() for chunk in chunks if chunk.content_sha256 in analysed]
            rows.search.count(chunking_id, 0, chunks=-len(chunks), terms=-sum(counts))
