"""Retention: what goes, what stays, and that a book edited over and over grows with its edits."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete, event, func, select

from db.tables import ChunkRow, ContentRow, PageRow, ResultRow, RevisionRow, TaskRow, TraceRow
from db.values import Job
from pipeline.ids import uuid7
from pipeline.settings import RetentionSpec
from pipeline.spec import load
from tests.integration.conftest import Laboratory
from tests.integration.test_views import keep, now, renew, served, state
from workers.fresh.retention import collect, collectable
from workers.ingest import ingest as ingest_module
from workers.planning.context import load_context
from workers.transitions import advance

Novel = Callable[..., str]
TIGHT = RetentionSpec(results="reachable", jobs=0, revisions=1, refreshes=0)


def count(lab: Laboratory, table: type) -> int:
    with lab.database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_by_default_no_result_goes_and_going_back_is_free(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(5))
    for text in (novel(5), novel([1, 2, 9, 4, 5])):
        book.write_text(text)
        lab.run(load("summary"), book)
    results = count(lab, ResultRow)
    found = collect(lab.database, RetentionSpec(jobs=0))
    assert (found["results"], count(lab, ResultRow)) == (0, results)
    assert found["unreached"] == results, "only the policy keeps them"
    assert found["jobs"] == 2
    book.write_text(novel(5))
    assert lab.calls(lab.run(load("summary"), book)) == 0


def test_a_dry_run_says_what_goes_and_takes_nothing(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(5))
    for text in (novel(5), novel([1, 2, 9, 4, 5])):
        book.write_text(text)
        lab.run(load("summary"), book)
    tables = (ResultRow, TaskRow, RevisionRow, PageRow, ChunkRow, ContentRow)
    before = [count(lab, table) for table in tables]
    plan = collectable(lab.database, TIGHT).row()
    assert [count(lab, table) for table in tables] == before
    found = collect(lab.database, TIGHT)
    assert {name: found[name] for name in plan} == plan
    assert (found["jobs"], found["revisions"], found["pages"], found["chunks"]) == (2, 1, 1, 1)
    assert found["results"] == before[0]
    assert [count(lab, table) for table in tables] == [0, 0, 1, before[3] - 1, before[4] - 1, before[5] - 1]


def test_what_a_view_serves_stays_and_can_be_shown_and_renewed_for_the_edit_alone(
    lab: Laboratory, novel: Novel
) -> None:
    book = lab.book(novel(20))
    keep(lab, book)
    renew(lab)
    book.write_text(novel([*range(1, 20), 77]))
    renew(lab)
    other = lab.book(novel([50, 51]), "other.txt")
    lab.run(load("glossary"), other)
    before = served(lab)
    found = collect(lab.database, TIGHT)
    assert found["results"] > 0
    assert found["nodes"] > 0
    assert served(lab) == before
    assert state(lab)["state"] == "fresh"
    book.write_text(novel([*range(1, 20), 78]))
    found, calls = renew(lab)
    assert 0 < calls < 12
    assert lab.calls(lab.run(load("glossary"), other)) > 0, "what nothing reached had gone"


def test_going_back_to_a_kept_revision_is_free_under_the_pipelines_that_are_kept(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(6))
    texts = [novel(6), novel([1, 2, 33, 4, 5, 6]), novel([1, 2, 34, 4, 5, 6])]
    for text in texts:
        book.write_text(text)
        lab.run(load("summary"), book)
    lab.run(load("outline"), book)
    policy = {"results": "reachable", "jobs": 1, "refreshes": 0}
    assert collect(lab.database, RetentionSpec(**policy, revisions=3))["results"] > 0, "folds of former revisions go"
    calls = lab.calls(_again(lab, book, texts[0]))
    assert 0 < calls <= 3, "its chunks are there, only nodes are made again"
    for _ in range(2):
        collect(lab.database, RetentionSpec(**policy, revisions=1))
    assert lab.calls(_again(lab, book, texts[1])) > calls, "its revision was let go, and with it its chunk"


def _again(lab: Laboratory, book: Path, text: str) -> Job:
    book.write_text(text)
    return lab.run(load("summary"), book)


def test_the_results_of_a_job_that_is_not_through_stay(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(8))
    lab.run(load("summary"), book)
    with lab.database.write() as rows:
        jobs = [job for job, *_ in rows.retention.ended_jobs()]
        assert rows.retention.drop_job(jobs[0])
    job = lab.begin(load("summary"), book)
    advance(lab.database, load_context(lab.database, lab.ops, job.id))
    collect(lab.database, TIGHT)
    assert count(lab, ResultRow) == 8, "its maps were found in the memo; its folds are not planned yet"
    lab.work(job)
    assert lab.calls(job) > 0


def test_what_a_trace_shows_stays(lab: Laboratory, novel: Novel) -> None:
    lab.run(load("summary"), lab.book(novel(4)))
    with lab.database.engine.begin() as connection:
        key = connection.execute(select(ResultRow.key).limit(1)).scalar_one()
        body = {"steps": [{"key": key.hex()}, {"key": "none"}]}
        row = {"id": uuid7(), "kind": "ask", "body": body, "created_at": datetime.now(UTC)}
        connection.execute(TraceRow.__table__.insert().values(row))
    collect(lab.database, TIGHT)
    with lab.database.engine.connect() as connection:
        assert connection.execute(select(ResultRow.key)).scalars().all() == [key]


def test_policies_by_age_and_by_size_take_the_longest_unused_first(lab: Laboratory, novel: Novel) -> None:
    lab.run(load("summary"), lab.book(novel(6)))
    collect(lab.database, RetentionSpec(jobs=0))
    total = count(lab, ResultRow)
    today = datetime.now(UTC).date()
    with lab.database.engine.begin() as connection:
        old = connection.execute(select(ResultRow.key).order_by(ResultRow.key).limit(2)).scalars().all()
        table = ResultRow.__table__
        connection.execute(table.update().where(table.c.key.in_(old)).values(last_used=today - timedelta(days=40)))
    assert collectable(lab.database, RetentionSpec(results_days=50)).results == ()
    assert set(collectable(lab.database, RetentionSpec(results_days=30)).results) == set(old)
    with lab.database.read() as rows:
        _, size = rows.retention.results_size()
    plan = collectable(lab.database, RetentionSpec(results_bytes=size - 1))
    assert len(plan.results) == 1
    assert plan.results[0] in old
    assert collect(lab.database, RetentionSpec(results_bytes=0))["results"] == total


def test_old_revisions_go_and_the_newest_stay_with_their_manifests(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(4))
    for number in range(6):
        book.write_text(novel([1, 2, 3, 40 + number]))
        item = lab.ingest(book)[0]
    found = collect(lab.database, RetentionSpec(revisions=2))
    assert (found["revisions"], found["pages"]) == (4, 4)
    with lab.database.read() as rows:
        kept = rows.documents.revisions(item.document.id)
        assert [revision.number for revision in kept] == [5, 6]
        for revision in kept:
            places = rows.documents.pages(revision.id, item.chunking_id)
            chunks = list(rows.chunks.of_pages([place.page_id for place in places]))
            assert len(rows.contents.texts([chunk.content_sha256 for chunk in chunks])) == 4


def test_a_text_that_comes_back_after_it_went_is_stored_anew(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(4))
    for numbers in ([1, 2, 3, 4], [1, 2, 3, 5]):
        book.write_text(novel(numbers))
        lab.run(load("summary"), book)
    collect(lab.database, TIGHT)
    book.write_text(novel(4))
    job = lab.run(load("summary"), book)
    assert lab.calls(job) > 0
    assert lab.output(job)["text"]


@pytest.mark.parametrize("when", ["pages", "texts"])
def test_an_ingest_whose_pages_or_texts_are_collected_under_it_begins_again(
    lab: Laboratory, novel: Novel, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = lab.book(novel(5))
    lab.ingest(book)
    book.write_text(novel([1, 2, 3, 4, 6]))
    tries: list[int] = []
    if when == "pages":
        real = ingest_module.cut

        def cut(*arguments: object, **options: object) -> object:
            done = real(*arguments, **options)
            tries.append(1)
            if len(tries) == 1:  # as if a collector had judged by what was there before
                with lab.database.engine.begin() as connection:
                    connection.execute(delete(PageRow).where(PageRow.id == done.places[-1].page_id))
            return done

        monkeypatch.setattr(ingest_module, "cut", cut)
    else:

        @event.listens_for(lab.database.engine, "before_cursor_execute")
        def take(connection: object, cursor: object, statement: str, *_: object) -> None:
            if re.match(r"INSERT INTO pages", statement):
                tries.append(1)
                if len(tries) == 1:
                    cursor.execute("DELETE FROM contents WHERE sha256 NOT IN (SELECT content_sha256 FROM chunks)")

    item = lab.ingest(book)[0]
    assert len(tries) == 2
    with lab.database.read() as rows:
        places = rows.documents.pages(item.revision.id, item.chunking_id)
        chunks = list(rows.chunks.of_pages([place.page_id for place in places]))
        texts = rows.contents.texts([chunk.content_sha256 for chunk in chunks])
    assert "".join(texts[chunk.content_sha256] for chunk in chunks) == book.read_text()


def _size(lab: Laboratory) -> int:
    """Bytes of the pages in use: what is free is used again."""
    with lab.database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        pages, free, size = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * size)


def _edit_often(lab: Laboratory, novel: Novel, edits: int, chapters: int) -> tuple[int, int, int]:
    """Bytes when the view is first made, after a tenth of the edits, and at the end."""
    book = lab.book(novel(chapters))
    keep(lab, book)
    renew(lab)
    first = _size(lab)
    early = 0
    for number in range(edits):
        parts = book.read_text().split("Chapter ")
        at = 1 + number * 37 % chapters
        parts[at] = re.sub(r"silver coins|coins of \d+", f"coins of {number}", parts[at], count=1)
        book.write_text("Chapter ".join(parts))
        renew(lab)
        if number + 1 == max(1, edits // 10):
            early = _size(lab)
    collect(lab.database, RetentionSpec(revisions=20, refreshes=20, jobs=2))
    assert now(lab).refresh == edits + 1
    assert state(lab)["state"] == "fresh"
    return first, early, _size(lab)


def test_a_book_that_is_edited_often_grows_with_its_edits_and_not_by_copies(
    sqlite_lab: Laboratory, novel: Novel
) -> None:
    first, _, last = _edit_often(sqlite_lab, novel, 20, 60)
    assert last - first < first / 2, "twenty edits are not half a copy"


@pytest.mark.nightly
def test_a_book_that_is_edited_a_thousand_times(sqlite_lab: Laboratory, novel: Novel) -> None:
    first, early, last = _edit_often(sqlite_lab, novel, 1000, 200)
    assert last - first < 12 * max(1, early - first), "the later edits cost no more than the first ones"
    assert (last - first) / 1000 < first / 60, "an edit costs about what its chunk and its folds do"


def test_what_calls_outside_jobs_used_is_forgotten_after_its_days(lab: Laboratory) -> None:
    now_ms, day = int(datetime.now(UTC).timestamp() * 1000), 86_400_000
    with lab.database.write() as rows:
        for days in (1, 5, 400):
            rows.usage.add_direct(
                kind="ask", model="m", document_id=None, calls=days, tokens_in=1, tokens_out=1, cost_micros=1,
                error_code=None, ended_ms=now_ms - days * day,
            )  # fmt: skip
    assert collectable(lab.database, RetentionSpec()).calls == 1
    assert collect(lab.database, RetentionSpec(calls_days=3))["calls"] == 2
    with lab.database.read() as rows:
        assert [item.calls for item in rows.usage.direct()] == [1]
    assert collect(lab.database, RetentionSpec(calls_days=3))["calls"] == 0
