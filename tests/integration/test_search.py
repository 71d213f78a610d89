"""Search over real indexes of both kinds: what is found, in which order, and that it follows the books."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from pipeline.errors import UsageError
from pipeline.evidence import ranking, terms
from tests.integration.conftest import Laboratory
from workers.evidence import search
from workers.evidence.index import refresh
from workers.evidence.search import Searcher, scope_of

Novel = Callable[..., str]
HAN = "第一章 青梅\n\n曹操煮酒论英雄。玄德失箸。\n\n第二章 赤壁\n\n周瑜用火，孔明借风。曹操败走华容，关公放之。\n"


def found(lab: Laboratory, query: str, limit: int = 100, **scope: object) -> list[str]:
    """The texts of the hits, in order."""
    refresh(lab.database)
    with lab.database.read() as rows:
        hits = Searcher(rows, scope_of(rows, **scope) if scope else None).search(query, limit=limit).hits
        texts = rows.contents.texts([hit.chunk.content_sha256 for hit in hits])
        return [texts[hit.chunk.content_sha256] for hit in hits]


def test_names_of_two_characters_and_single_characters_are_found(lab: Laboratory) -> None:
    lab.ingest(lab.book(HAN), limit=30)
    assert all("曹操" in text for text in found(lab, "曹操"))
    assert len(found(lab, "曹操")) == 2
    assert len(found(lab, "箸")) == 1  # the last before a full stop: no bigram begins with it
    assert len(found(lab, "火")) == 1
    assert found(lab, "孫悟空") == []


def test_words_are_found_whatever_their_case_width_and_accents(lab: Laboratory) -> None:
    lab.ingest(lab.book("Chapter 1\n\nNatásha's ｂａｌｌ was in Moscow.\n\nChapter 2\n\nA balloon.\n"), limit=60)
    assert found(lab, "natasha") == found(lab, "NATÁSHA") == found(lab, "ball moscow")
    assert len(found(lab, "ball")) == 1


def test_the_order_is_that_of_bm25_counted_by_hand(lab: Laboratory, novel: Novel) -> None:
    lab.ingest(lab.book(novel(40)), limit=200)
    refresh(lab.database)
    query = "silver lantern Crane"
    wanted = terms.query_terms(query)
    with lab.database.read() as rows:
        searcher = Searcher(rows)
        hits = searcher.search(query, limit=1000).hits
        chunks = rows.search.chunks(range(1, 10_000))
        texts = rows.contents.texts([chunk.content_sha256 for chunk in chunks.values()])
    counted = {at: terms.terms_of(texts[chunk.content_sha256]) for at, chunk in chunks.items()}
    mean = sum(found.total() for found in counted.values()) / len(counted)
    idf = {term: ranking.idf(len(counted), sum(term in c for c in counted.values())) for term in wanted}
    expected = {}
    for at, counts in counted.items():
        norm = ranking.K1 * (1 - ranking.B + ranking.B * counts.total() / mean)
        score = sum(idf[term] * counts[term] * (ranking.K1 + 1) / (counts[term] + norm) for term in wanted)
        if score:
            expected[at] = score
    assert [hit.chunk.id for hit in hits] == sorted(expected, key=lambda at: (-round(expected[at], 6), at))


def test_pages_go_on_where_the_one_before_ended(lab: Laboratory, novel: Novel) -> None:
    lab.ingest(lab.book(novel(60)), limit=200)
    refresh(lab.database)
    with lab.database.read() as rows:
        searcher = Searcher(rows)
        whole = [hit.chunk.id for hit in searcher.search("silver coins", limit=1000).hits]
        paged: list[int] = []
        cursor = None
        while True:
            page = searcher.search("silver coins", limit=7, cursor=cursor)
            paged += [hit.chunk.id for hit in page.hits]
            cursor = page.cursor
            if cursor is None:
                break
        assert paged == whole
        assert len(whole) == len(set(whole)) > 50
        some = searcher.search("silver coins", limit=7).cursor
        for other, query in ((some, "lantern"), ("nonsense", "silver coins"), ("", "silver")):
            if other:
                with pytest.raises(UsageError, match="cursor"):
                    searcher.search(query, limit=7, cursor=other)


def test_an_edit_a_removed_chapter_and_another_grain_are_followed(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(30).replace("Chapter 7\n", "Chapter 7\n\nThe zeppelin came down.\n"))
    lab.ingest(book, limit=300)
    assert len(found(lab, "zeppelin")) == 1
    indexed = refresh(lab.database)
    assert indexed == 0
    book.write_text(novel(30).replace("Chapter 9\n", "Chapter 9\n\nThe gondola went up.\n"))
    lab.ingest(book, limit=300)
    assert 0 < refresh(lab.database) <= 4, "an edit indexed more than it changed"
    assert found(lab, "zeppelin") == []
    assert len(found(lab, "gondola")) == 1
    with lab.database.read() as rows:
        chunks, words, _ = rows.search.totals()
        stored = rows.search.chunks(range(1, 10_000))
    assert chunks == len(stored)
    assert words == sum(chunk.term_count for chunk in stored.values())


def test_documents_and_sections_narrow_a_search(lab: Laboratory, novel: Novel) -> None:
    (one,) = lab.ingest(lab.book(novel(12), "one.txt"), limit=200)
    lab.ingest(lab.book(novel(30), "two.txt"), limit=200)
    both, first = found(lab, "silver"), found(lab, "silver", document_ids=[one.document.id])
    assert 0 < len(first) < len(both)
    section = found(lab, "silver", document_ids=[one.document.id], section="Chapter 3")
    assert 0 < len(section) <= 3
    with lab.database.read() as rows, pytest.raises(UsageError, match="No section"):
        scope_of(rows, [one.document.id], "Chapter 99")


def test_a_large_index_gives_the_best_without_looking_at_all(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ways of a large index, on a small one: frequent words are sampled, and their best chunks still come first."""
    monkeypatch.setattr(search, "SMALL", 100)
    monkeypatch.setattr(search, "SEGMENT_BITS", 8)
    monkeypatch.setattr(search, "CANDIDATES", 32)
    monkeypatch.setattr("db.repositories.search.SEGMENT_BITS", 8)
    chance = random.Random(7)
    parts = []
    for number in range(4000):
        often = "harbour " * (9 if number % 997 == 5 else 1)
        rare = "albatross" if number % 1000 == 17 else ""
        parts.append(f"Chapter {number}\n\n{often}{rare} {chance.random()} {chance.random()}\n\n")
    lab.ingest(lab.book("".join(parts)), limit=120)
    refresh(lab.database)
    with lab.database.read() as rows:
        hits = Searcher(rows).search("harbour", limit=5).hits
        texts = rows.contents.texts([hit.chunk.content_sha256 for hit in hits])
        assert [texts[hit.chunk.content_sha256].count("harbour") for hit in hits][:4] == [9, 9, 9, 9]
        rare = Searcher(rows).search("albatross harbour", limit=4).hits
        texts = rows.contents.texts([hit.chunk.content_sha256 for hit in rare])
        assert all("albatross" in text for text in texts.values())
