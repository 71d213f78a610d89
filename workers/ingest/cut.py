"""Cut a text by a grain into pages of chunks, sharing every unit that is there already."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from db.database import Database
from db.values import NewChunk, NewPage, PagePlace, StoredUnit
from pipeline import canonical
from pipeline.align import Arrived, Known, align
from pipeline.ids import uuid7
from pipeline.read.reading import Section
from pipeline.split.grain import Grain, Piece
from pipeline.split.splitter import Splitter
from workers.ingest.units import PlacedUnit, units

PAGE_CHUNKS = 256
BATCH_CHARS = 2_000_000  # of text in one transaction: well under half a second


@dataclass(frozen=True, kw_only=True, slots=True)
class CutResult:
    """Where the pages stand, and what happened to the chunks."""

    places: tuple[PagePlace, ...]
    tokens: int
    report: dict[str, object]


@dataclass(slots=True)
class _Pending:
    """A new page before it is stored: it needs its ids first."""

    at: int  # its place in the document's list of pages
    page: NewPage


@dataclass(slots=True)
class _Cutter:
    database: Database
    chunking_id: int
    splitter: Splitter
    known: dict[bytes, deque[StoredUnit]]
    align_later: bool  # there is a revision before: ids wait for the whole document
    places: list[PagePlace | None] = field(default_factory=list)
    pending: list[_Pending] = field(default_factory=list)
    reused: set[int] = field(default_factory=set)
    tokens: int = 0

    def take(self, batch: Sequence[PlacedUnit]) -> None:
        """Share or split the units of one batch and store what is new."""
        stored = [self.known[unit.sha256].popleft() if self.known.get(unit.sha256) else None for unit in batch]
        pieces = self.splitter.split_many(unit.unit for unit, there in zip(batch, stored, strict=True) if not there)
        contents: dict[bytes, bytes] = {}
        waiting: list[_Pending] = []
        for placed, there in zip(batch, stored, strict=True):
            if there:
                self._share(placed, there)
            else:
                waiting.extend(self._split(placed, next(pieces), contents))
        self._store(waiting, contents)

    def _share(self, placed: PlacedUnit, stored: StoredUnit) -> None:
        start, line = placed.start, placed.start_line
        for page_id, count, chars, lines, tokens in stored.pages:
            self.places.append(PagePlace(page_id, placed.section, start, line, count))
            self.reused.add(page_id)
            self.tokens += tokens
            start, line = start + chars, line + lines

    def _split(self, placed: PlacedUnit, pieces: list[Piece], contents: dict[bytes, bytes]) -> Iterator[_Pending]:
        text = placed.unit.text
        parts = -(-len(pieces) // PAGE_CHUNKS)
        line = placed.start_line
        for part in range(parts):
            run = pieces[part * len(pieces) // parts : (part + 1) * len(pieces) // parts]
            begin, end = run[0].start, run[-1].end
            chunks = tuple(_chunks(text, run, contents))
            lines = text.count("\n", begin, end)
            page = NewPage(
                unit_sha256=placed.sha256,
                part=part,
                parts=parts,
                char_count=end - begin,
                line_count=lines,
                chunks=chunks,
                logical_ids=() if self.align_later else tuple(uuid7() for _ in chunks),
            )
            self.tokens += sum(chunk.token_count for chunk in chunks)
            self.places.append(PagePlace(-1, placed.section, placed.start + begin, line, len(chunks)))
            line += lines
            yield _Pending(len(self.places) - 1, page)

    def _store(self, waiting: list[_Pending], contents: dict[bytes, bytes]) -> None:
        with self.database.write() as rows:
            rows.contents.add(contents)
            if not self.align_later:
                self._place(waiting, rows.chunks.add_pages(self.chunking_id, [item.page for item in waiting]))
        if self.align_later:
            self.pending.extend(waiting)

    def _place(self, waiting: Sequence[_Pending], ids: Sequence[int]) -> None:
        for item, page_id in zip(waiting, ids, strict=True):
            place = self.places[item.at]
            assert place is not None
            self.places[item.at] = PagePlace(page_id, place.section, place.start, place.start_line, place.chunk_count)

    def finish(self, before: Sequence[PagePlace] | None) -> dict[str, object]:
        """Give the new chunks their ids by alignment with those of the pages `before` that are no longer there.

        A page that both have stands as one item: it needs no look at its chunks, and is a neighbour to align by. Of a
        first cut there is nothing before but what a killed one had stored.
        """
        if before is None:
            before = [place for place in self.places if place is not None and place.page_id in self.reused]
        gone = [place.page_id for place in before if place.page_id not in self.reused]
        with self.database.read() as rows:
            chunks: defaultdict[int, list[Known]] = defaultdict(list)
            for chunk in rows.chunks.of_pages(gone):
                chunks[chunk.page_id].append(Known(chunk.logical_id, chunk.content_sha256))
        known: list[Known] = []
        for place in before:
            known.extend(chunks.get(place.page_id) or [Known(None, _mark(place), place.chunk_count, run=True)])
        arrived = self._arrived()
        alignment = align(known, arrived, self._texts)
        fresh = [found for found, item in zip(alignment.ids, arrived, strict=True) if not item.run]
        ids = iter([found or uuid7() for found in fresh])
        with self.database.write() as rows:
            pages = [_with_ids(item.page, ids) for item in self.pending]
            self._place(self.pending, rows.chunks.add_pages(self.chunking_id, pages))
            # Their texts were stored in transactions before this one, when no chunk had them yet.
            rows.contents.expect([chunk.content_sha256 for page in pages for chunk in page.chunks])
        return dict(alignment.report())

    def _arrived(self) -> list[Arrived]:
        """The chunks of new pages, and each shared page as one item, in reading order."""
        pending = {item.at: item.page for item in self.pending}
        arrived: list[Arrived] = []
        for at, place in enumerate(self.places):
            assert place is not None
            if at in pending:
                arrived.extend(Arrived(chunk.content_sha256) for chunk in pending[at].chunks)
            else:
                arrived.append(Arrived(_mark(place), place.chunk_count, run=True))
        return arrived

    def _texts(self, hashes: Sequence[bytes]) -> dict[bytes, str]:
        with self.database.read() as rows:
            return rows.contents.texts(hashes)


def _mark(place: PagePlace) -> bytes:
    """What stands for a page among the hashes of chunks: those have 32 bytes, this has 8."""
    return place.page_id.to_bytes(8, "big")


def cut(
    database: Database,
    chunking_id: int,
    splitter: Splitter,
    *,
    grain: Grain,
    sections: Sequence[Section],
    blocks: Iterable[str],
    before: Sequence[PagePlace] | None,
) -> CutResult:
    """Cut a document's text. `before` are the pages of its current revision by the same grain, None for the first cut.

    New pages are stored as they come; nobody sees them until a revision says where they stand, so a killed cut leaves
    nothing but pages that the next one shares.
    """
    page_ids = None if before is None else [place.page_id for place in before]
    with database.read() as rows:
        stored = rows.chunks.units(chunking_id, page_ids)
    known: defaultdict[bytes, deque[StoredUnit]] = defaultdict(deque)
    for unit in stored:
        known[unit.unit_sha256].append(unit)
    cutter = _Cutter(database, chunking_id, splitter, known, align_later=before is not None)
    for batch in _batches(units(blocks, sections, grain)):
        cutter.take(batch)
    report = cutter.finish(before)
    places = tuple(place for place in cutter.places if place is not None)
    return CutResult(places=places, tokens=cutter.tokens, report=report)


def _batches(placed: Iterable[PlacedUnit]) -> Iterator[list[PlacedUnit]]:
    batch: list[PlacedUnit] = []
    chars = 0
    for unit in placed:
        batch.append(unit)
        chars += len(unit.unit.text)
        if chars >= BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _chunks(text: str, run: Sequence[Piece], contents: dict[bytes, bytes]) -> Iterator[NewChunk]:
    begin = at = run[0].start
    line = 0
    for piece in run:
        line += text.count("\n", at, piece.start)
        at = piece.start
        core = text[piece.start : piece.end].encode()
        sha = canonical.sha256(core)
        contents[sha] = core
        lead = text[piece.lead : piece.start]
        yield NewChunk(
            content_sha256=sha,
            start=piece.start - begin,
            end=piece.end - begin,
            line=line,
            lead=len(lead),
            lead_sha256=canonical.sha256(lead.encode()) if lead else None,
            token_count=piece.tokens,
            over_limit=piece.over,
        )


def _with_ids(page: NewPage, ids: Iterator[UUID]) -> NewPage:
    return NewPage(
        unit_sha256=page.unit_sha256,
        part=page.part,
        parts=page.parts,
        char_count=page.char_count,
        line_count=page.line_count,
        chunks=page.chunks,
        logical_ids=tuple(next(ids) for _ in page.chunks),
    )
