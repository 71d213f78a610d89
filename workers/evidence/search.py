"""Search: the chunks that a query is about, best first.

Candidates come from the index (those that have all the terms; the best of each term, rarest first), and BM25 orders
them, counted in their texts. So the order is that of BM25 over the candidates; a word that half of all chunks have
is not counted in each of them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from db.database import Repositories
from db.repositories.search import SEGMENT_BITS, Indexed, Match
from db.values import Chunk
from pipeline import canonical
from pipeline.errors import UsageError
from pipeline.evidence import ranking, terms

CANDIDATES = 256  # of one term; several terms bring at most twice as many together
SEGMENTS = 8  # parts of the index in which a term's frequency is estimated
SMALL = 1 << 15  # an index, or documents, of so few chunks are looked through whole
SECTIONED = 200  # documents in which a section is looked for by its title, where none is named
MOST_TERMS = 24  # of a query; the rarest are kept


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What is searched: all documents, or some, or the pages of some sections of them."""

    chunkings: tuple[int, ...] = ()
    pages: frozenset[tuple[int, int, int]] | None = None  # (page, first ordinal, last ordinal)


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk and its score."""

    chunk: Indexed
    score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Hits in order, the terms that were searched for, and the cursor of the next page."""

    hits: tuple[Hit, ...]
    terms: tuple[str, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class _Reach:
    """What one look into the index gave: ids, about how many there are in all, and whether these are all."""

    ids: list[int]
    having: float
    whole: bool


class Searcher:
    """Searches in one read transaction."""

    def __init__(self, rows: Repositories, scope: Scope | None = None) -> None:
        self._rows = rows
        self._scope = scope or Scope()
        self._chunks, self._terms, self._last = rows.search.totals()

    def search(self, query: str, *, limit: int, cursor: str | None = None) -> Found:
        """The page of hits after `cursor` (the first without one). Raises UsageError for a cursor of another search."""
        wanted = terms.query_terms(query)
        after = _opened(cursor, wanted) if cursor else None
        depth = (after[2] if after else 0) + limit
        hits = self.rank(wanted, candidates=max(CANDIDATES, 2 * depth))
        if after:
            hits = [hit for hit in hits if (-hit.score, hit.chunk.id) > (-after[0], after[1])]
        shown = tuple(hits[:limit])
        more = len(hits) > limit
        return Found(hits=shown, terms=tuple(wanted), cursor=_closed(shown[-1], depth, wanted) if more else None)

    def rank(self, wanted: Sequence[str], *, candidates: int = CANDIDATES) -> list[Hit]:
        """All candidates of some terms, best first; equal scores in the order of the index."""
        reaches = {term: self._reach(_match([term], self._scope), candidates) for term in wanted}
        known = sorted((term for term in wanted if reaches[term].having), key=lambda term: reaches[term].having)
        chosen = known[:MOST_TERMS]
        ids: set[int] = set()
        if len(chosen) > 1:
            for group in dict.fromkeys((tuple(chosen), tuple(chosen[:3]), tuple(chosen[:2]))):
                if len(ids) < candidates:
                    ids.update(self._reach(_match(group, self._scope), candidates).ids[:candidates])
        share = max(32, candidates // max(1, len(chosen)))
        for at, term in enumerate(chosen):
            if len(ids) >= 2 * candidates:
                break
            ids.update(self._best(term, reaches[term], candidates if at == 0 else share))
        weights = {term: ranking.idf(self._chunks, reaches[term].having) for term in chosen}
        return self._scored(ids, weights)

    def _best(self, term: str, reach: _Reach, wanted: int) -> list[int]:
        """The ids of a term: all when they are few, else those where it stands most often, then any others."""
        if reach.whole and len(reach.ids) <= wanted:
            return reach.ids
        best: dict[int, None] = {}
        if not terms.is_open(term):
            for tier in terms.TIERS:
                found = self._reach(_match([terms.marked(term, tier)], self._scope), wanted)
                best.update(dict.fromkeys(_spread(found.ids, wanted - len(best))))
                if len(best) >= wanted:
                    return list(best)
        best.update(dict.fromkeys(_spread([at for at in reach.ids if at not in best], wanted - len(best))))
        return list(best)

    def _reach(self, match: Match, wanted: int) -> _Reach:
        if self._scope.pages is not None or self._last < SMALL:
            ids = self._inside(self._rows.search.walk(match, self._last + 1))
            return _Reach(ids, len(ids), whole=True)
        having, near, most = 0.0, set[int](), 16 * wanted
        segments = [at * (self._last >> SEGMENT_BITS) // SEGMENTS for at in range(SEGMENTS)]
        if not match.chunkings:
            sampled = self._rows.search.sample(match, segments)
            seen = sum(map(len, sampled))
            having = seen * (self._last / (SEGMENTS << SEGMENT_BITS))
            near, most = {at for part in sampled for at in part}, 4 * wanted  # how many there are is known about
            if having > 8 * wanted and seen >= wanted:
                each = -(-wanted // SEGMENTS)
                return _Reach(sorted(at for part in sampled for at in part[: 4 * each]), having, whole=False)
        ids = self._rows.search.walk(match, most + 1)
        if len(ids) <= most:
            return _Reach(ids, len(ids), whole=True)
        return _Reach(sorted(near.union(ids)), max(len(ids), having), whole=False)

    def _inside(self, ids: list[int]) -> list[int]:
        pages = self._scope.pages
        if pages is None:
            return ids
        ranges: dict[int, list[tuple[int, int]]] = {}
        for page_id, first, last in pages:
            ranges.setdefault(page_id, []).append((first, last))
        chunks = self._rows.search.chunks(ids)
        return [
            at
            for at in ids
            if at in chunks and any(a <= chunks[at].ordinal <= b for a, b in ranges.get(chunks[at].page_id, ()))
        ]

    def _scored(self, ids: Iterable[int], weights: dict[str, float]) -> list[Hit]:
        chunks = self._rows.search.chunks(ids)
        texts = self._rows.contents.texts(list({chunk.content_sha256 for chunk in chunks.values()}))
        spaced = terms.counter_of(list(weights))
        mean = self._terms / max(1, self._chunks)
        counts = {sha: terms.count_in(terms.fold(text), weights, spaced) for sha, text in texts.items()}
        hits = []
        for chunk in chunks.values():
            score = ranking.score(counts[chunk.content_sha256], weights, chunk.term_count, mean)
            if score > 0:
                hits.append(Hit(chunk, score))
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))


def _match(found: Sequence[str], scope: Scope) -> Match:
    opens = tuple(term for term in found if terms.is_open(term))
    return Match(tuple(term for term in found if term not in opens), opens, scope.chunkings)


def _spread(ids: Sequence[int], wanted: int) -> list[int]:
    """At most `wanted` of them, evenly over the whole."""
    if wanted <= 0:
        return []
    return list(ids) if len(ids) <= wanted else [ids[at * len(ids) // wanted] for at in range(wanted)]


def _closed(last: Hit, depth: int, wanted: Sequence[str]) -> str:
    data = canonical.dumps([last.score, last.chunk.id, depth, _sign(wanted)])
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _opened(cursor: str, wanted: Sequence[str]) -> tuple[float, int, int]:
    try:
        score, at, depth, sign = canonical.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if sign == _sign(wanted):
            return float(score), int(at), int(depth)
    except (binascii.Error, ValueError, TypeError):
        pass
    raise UsageError("This cursor belongs to no page of this search", hint="leave --cursor out for the first page")


def _sign(wanted: Sequence[str]) -> str:
    return canonical.digest(list(wanted)).hex()[:12]


def scope_of(rows: Repositories, document_ids: Sequence[UUID], section: str | None = None) -> Scope:
    """The scope of some documents (none: all), and of the sections in them whose title has `section` in it.

    Raises UsageError when a section is named and there is none.
    """
    if not document_ids and section is None:
        return Scope()
    if not document_ids and section is not None:
        document_ids = rows.search.with_section(section, SECTIONED + 1)
        if len(document_ids) > SECTIONED:
            raise UsageError(
                f"Sections called {section!r} are in more than {SECTIONED} documents", hint="name documents too"
            )
    by_document = rows.search.of_documents(document_ids)
    chunkings = tuple(sorted(at for found in by_document.values() for at in found))
    if section is None:
        return Scope(chunkings=chunkings or (0,))
    pages: set[tuple[int, int, int]] = set()
    for chunking_id, (_, revision_id) in rows.search.places(chunkings).items():
        pages |= _pages(rows, chunking_id, revision_id, section)
    if not pages:
        raise UsageError(f"No section is called {section!r} there", hint="octavo manifest BOOK lists its sections")
    return Scope(chunkings=chunkings, pages=frozenset(pages))


def _pages(rows: Repositories, chunking_id: int, revision_id: int, section: str) -> set[tuple[int, int, int]]:
    """The chunks inside the sections, as (page, first ordinal, last ordinal)."""
    wanted = terms.fold(section)
    spans = [
        (part.start, part.end) for part in rows.documents.sections(revision_id) if wanted in terms.fold(part.title)
    ]
    found: set[tuple[int, int, int]] = set()
    places = rows.documents.pages(revision_id, chunking_id) or []
    by_page: dict[int, list[Chunk]] = {}
    for chunk in rows.chunks.of_pages([place.page_id for place in places]):
        by_page.setdefault(chunk.page_id, []).append(chunk)
    for place in places:
        for chunk in by_page.get(place.page_id, ()):
            start = place.start + chunk.start
            if any(a <= start < b for a, b in spans):
                found.add((place.page_id, chunk.ordinal, chunk.ordinal))
    return found
