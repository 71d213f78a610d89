"""Ingest: all or nothing, shared pages, ids that stay, races and kills."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, func, select

from db.database import Database
from db.engine import make_engine
from db.tables import ChunkRow, PageRow
from pipeline import canonical
from pipeline.errors import OctavoError
from pipeline.split.grain import Grain
from pipeline.split.tokenizer import load_counter
from tests.integration.conftest import Laboratory
from workers.ingest import ingest as ingest_module
from workers.ingest.find import find
from workers.ingest.ingest import Cutting, Ingested, Outcome, ingest
from workers.outputs.manifest import manifest

Novel = Callable[..., str]


def _chunks(lab: Laboratory, item: Ingested) -> list[tuple[str, bytes]]:
    """(logical id, content hash) in reading order."""
    with lab.database.read() as rows:
        places = rows.documents.pages(item.revision.id, item.chunking_id)
        return [(str(c.logical_id), c.content_sha256) for c in rows.chunks.of_pages([p.page_id for p in places])]


def _text(lab: Laboratory, item: Ingested) -> str:
    with lab.database.read() as rows:
        places = rows.documents.pages(item.revision.id, item.chunking_id)
        chunks = list(rows.chunks.of_pages([place.page_id for place in places]))
        texts = rows.contents.texts([chunk.content_sha256 for chunk in chunks])
        return "".join(texts[chunk.content_sha256] for chunk in chunks)


def _stored(lab: Laboratory) -> tuple[int, int]:
    """How many pages and chunks are stored."""
    with lab.database.engine.connect() as connection:
        return tuple(connection.execute(select(func.count()).select_from(t)).scalar_one() for t in (PageRow, ChunkRow))


def test_an_unchanged_file_gets_no_new_revision_and_no_new_rows(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(6))
    first = lab.ingest(book)[0]
    before = _stored(lab)
    os.utime(book, (1, 1))  # only touched
    second = lab.ingest(book)[0]
    assert second.outcome is Outcome.UNCHANGED
    assert second.revision.id == first.revision.id
    assert _stored(lab) == before


def test_a_page_that_did_not_change_gets_no_new_rows(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(12))
    first = lab.ingest(book)[0]
    pages, chunks = _stored(lab)
    text = book.read_text()
    book.write_text(text.replace("Chapter 5\n\nOn day", "Chapter 5\n\nOn the grey day"))
    second = lab.ingest(book)[0]
    assert second.outcome is Outcome.CHANGED
    assert _stored(lab) == (pages + 1, chunks + 1), "one chapter changed"
    assert second.report["kept"] == len(_chunks(lab, first)) - 1
    assert second.report["edited"] == 1
    assert [a for a, _ in _chunks(lab, first)] == [b for b, _ in _chunks(lab, second)], "an edited chunk keeps its id"


def test_chunks_keep_their_ids_wherever_they_move(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel([1, 2, 3, 4, 5, 6]))
    ids = {content: logical for logical, content in _chunks(lab, lab.ingest(book)[0])}
    book.write_text(novel([4, 5, 99, 1, 2, 3, 6]))
    moved = _chunks(lab, lab.ingest(book)[0])
    fresh = [logical for logical, content in moved if ids.get(content) != logical]
    assert len(fresh) == 1
    assert fresh[0] not in ids.values()


def test_chapters_that_are_alike_share_their_text_and_keep_ids_of_their_own(lab: Laboratory, novel: Novel) -> None:
    twice = novel(2) + novel(2) + novel(2)
    book = lab.book(twice)
    first = _chunks(lab, lab.ingest(book)[0])
    assert len({logical for logical, _ in first}) == len(first) == 6
    assert len({content for _, content in first}) == 2
    book.write_text(novel(2) + novel([7]) + novel(2) + novel(2))
    second = _chunks(lab, lab.ingest(book)[0])
    assert len({logical for logical, _ in second}) == len(second) == 7
    assert {logical for logical, _ in first} < {logical for logical, _ in second}


def test_one_document_is_cut_by_two_grains_at_once(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(8))
    coarse, fine = lab.ingest(book)[0], lab.ingest(book, limit=120)[0]
    assert coarse.revision.id == fine.revision.id
    assert coarse.chunking_id != fine.chunking_id
    assert len(_chunks(lab, fine)) > len(_chunks(lab, coarse))
    assert _text(lab, coarse) == _text(lab, fine) == book.read_text()


def test_a_grain_that_missed_a_revision_aligns_with_the_last_one_it_cut(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(6))
    lab.ingest(book)
    fine = _chunks(lab, lab.ingest(book, limit=120)[0])
    book.write_text(book.read_text().replace("Chapter 3\n\nOn day", "Chapter 3\n\nOn the wet day"))
    lab.ingest(book)
    later = lab.ingest(book, limit=120)[0]
    after = _chunks(lab, later)
    assert later.report["edited"] >= 1
    assert {logical for logical, _ in after} >= {logical for logical, _ in fine if (logical, _) in after}
    assert len({a for a, _ in fine} & {b for b, _ in after}) >= len(fine) - 1
    assert later.report["added"] <= 1


def test_going_back_to_an_earlier_text_gives_the_earlier_manifest(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(5))
    manifests = []
    for text in (novel(5), novel([1, 2, 8, 4, 5]), novel(5)):
        book.write_text(text)
        item = lab.ingest(book)[0]
        with lab.database.read() as rows:
            manifests.append(canonical.dumps(manifest(rows, item.document, item.chunking_id, canonical=True)))
    assert manifests[0] == manifests[2] != manifests[1]


def test_a_failed_reading_leaves_the_earlier_revision_current(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(4))
    first = lab.ingest(book)[0]
    book.write_bytes(bytes(range(256)) * 200)
    with pytest.raises(OctavoError):
        lab.ingest(book)
    with lab.database.read() as rows:
        found = rows.documents.get(first.document.id)
    assert found.current.id == first.revision.id
    assert _text(lab, first) == novel(4)


def test_of_two_publishers_of_one_document_one_wins_and_no_half_revision_is_seen(
    lab: Laboratory, novel: Novel, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = lab.book(novel(6))
    lab.ingest(book)
    book.write_text(novel([1, 2, 3, 9, 5, 6]))
    barrier = threading.Barrier(2, timeout=30)
    met: set[int] = set()
    real = ingest_module.cut

    def meet(*arguments: object, **options: object) -> object:
        done = real(*arguments, **options)
        if threading.get_ident() not in met:  # the loser's second try meets nobody
            met.add(threading.get_ident())
            barrier.wait()
        return done

    monkeypatch.setattr(ingest_module, "cut", meet)
    found: list[Ingested] = []
    racers = [threading.Thread(target=lambda: found.extend(lab.ingest(book))) for _ in range(2)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(timeout=60)
    assert sorted(item.outcome for item in found) == [Outcome.CHANGED, Outcome.UNCHANGED]
    assert found[0].revision.id == found[1].revision.id
    with lab.database.read() as rows:
        revisions = rows.documents.revisions(found[0].document.id)
    assert [(item.number, item.state) for item in revisions] == [(1, "superseded"), (2, "current")]
    with lab.database.engine.connect() as connection:
        states = connection.exec_driver_sql("SELECT state FROM revisions ORDER BY id").scalars().all()
    assert states == ["superseded", "current"], "the loser's revision is gone"
    assert _text(lab, found[0]) == book.read_text()


def test_of_two_processes_that_bring_in_a_new_book_one_publishes_and_the_other_takes_its_revision(
    lab: Laboratory, novel: Novel, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = lab.book(novel(6))
    barrier = threading.Barrier(2, timeout=30)
    real = ingest_module.registry.read
    order = threading.Lock()

    def meet(*arguments: object) -> object:
        reading = real(*arguments)
        barrier.wait()  # both have read a book that is in no database
        return reading

    def one_after_the_other(*arguments: object, **options: object) -> object:
        with order:
            return publish(*arguments, **options)

    publish = ingest_module._publish
    monkeypatch.setattr(ingest_module.registry, "read", meet)
    monkeypatch.setattr(ingest_module, "_publish", one_after_the_other)
    found: list[Ingested] = []
    racers = [threading.Thread(target=lambda: found.extend(lab.ingest(book))) for _ in range(2)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(timeout=60)
    assert len({item.revision.id for item in found}) == 1
    assert len(found) == 2
    with lab.database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM revisions").scalar_one() == 1


def _ingest_slowly(url: str, path: str, pages: int, ready: object) -> None:
    """Ingest, but stop for ever once so many pages are stored."""
    from db.repositories.chunks import ChunkRepository

    real = ChunkRepository.add_pages
    stored = 0

    def add_pages(self: ChunkRepository, chunking_id: int, new: object) -> list[int]:
        nonlocal stored
        if stored >= pages:
            ready.set()
            time.sleep(600)
        ids = real(self, chunking_id, new)
        stored += len(ids)
        return ids

    ChunkRepository.add_pages = add_pages
    import workers.ingest.cut as cut_module

    cut_module.BATCH_CHARS = 500
    found = find([path], Path(path).parent / "spool", None)[0]
    grain = Grain(name="default")
    ingest(Database(make_engine(url)), found, Cutting(grain=grain, counter=load_counter("characters")))


def _kill_in_the_middle(lab: Laboratory, book: Path, pages: int) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_ingest_slowly, args=(lab.url, str(book), pages, ready))
    process.start()
    assert ready.wait(60)
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    process.close()


def test_a_killed_first_ingest_shows_nothing_and_the_next_shares_what_was_written(
    lab: Laboratory, novel: Novel
) -> None:
    book = lab.book(novel(12))
    _kill_in_the_middle(lab, book, pages=5)
    with lab.database.read() as rows:
        (document,) = rows.documents.all(10)
        assert document.current is None
        assert rows.documents.revisions(document.id) == []
    written = _stored(lab)
    assert written[0] >= 5
    item = lab.ingest(book)[0]
    assert item.report["kept"] >= 5, "what the killed one wrote is shared"
    assert _stored(lab)[0] == 12
    assert _text(lab, item) == book.read_text()
    with lab.database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM revisions").scalar_one() == 1


def test_a_killed_ingest_of_a_changed_book_leaves_the_earlier_revision_current(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(8))
    first = lab.ingest(book)[0]
    changed = novel([1, 2, 20, 4, 5, 21, 7, 8])
    book.write_text(changed)
    _kill_in_the_middle(lab, book, pages=0)
    with lab.database.read() as rows:
        assert rows.documents.get(first.document.id).current.id == first.revision.id
    assert _text(lab, first) == novel(8)
    second = lab.ingest(book)[0]
    assert (second.outcome, _text(lab, second)) == (Outcome.CHANGED, changed)
    assert second.report["kept"] == 6


def test_the_same_input_gives_the_same_canonical_manifest_whatever_its_history(lab: Laboratory, novel: Novel) -> None:
    once, often = lab.book(novel(7), "once.txt"), lab.book(novel([7, 1]), "often.txt")
    lab.ingest(often)
    often.write_text(novel(7))
    found = lab.ingest(once) + lab.ingest(often)
    with lab.database.read() as rows:
        first, second = (canonical.dumps(manifest(rows, i.document, i.chunking_id, canonical=True)) for i in found)
    assert first == second


words = st.text(st.sampled_from("ab é漢\u200d\0\x1b.!?\"'—\n\n\t#*“”…𝔄") | st.characters(codec="utf-8"), max_size=120)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(words.filter(lambda text: text.strip()), min_size=2, max_size=4), limit=st.integers(3, 60))
def test_the_text_is_rebuilt_exactly_from_its_chunks_through_every_revision(
    sqlite_lab: Laboratory, texts: list[str], limit: int
) -> None:
    book = sqlite_lab.book("", f"{time.monotonic_ns()}.md")
    for text in texts:
        book.write_bytes(text.encode())
        try:
            item = sqlite_lab.ingest(book, limit=limit)[0]
        except OctavoError:
            continue  # a text that looks like no text at all
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        rebuilt = _text(sqlite_lab, item)
        if item.revision.encoding.lower().startswith("utf-8") or item.revision.encoding == "ascii":
            assert rebuilt == lines
        assert canonical.sha256(rebuilt.encode()) == item.revision.text_sha256
        assert len({logical for logical, _ in _chunks(sqlite_lab, item)}) == len(_chunks(sqlite_lab, item))


def _statements(lab: Laboratory, work: Callable[[], object]) -> int:
    count = 0

    def add(*_: object) -> None:
        nonlocal count
        count += 1

    event.listen(lab.database.engine, "before_cursor_execute", add)
    work()
    event.remove(lab.database.engine, "before_cursor_execute", add)
    return count


def test_the_number_of_statements_of_an_ingest_does_not_grow_with_the_chunks(lab: Laboratory, novel: Novel) -> None:
    small, large = lab.book(novel(10), "small.txt"), lab.book(novel(10, paragraphs=60), "large.txt")
    lab.ingest(lab.book(novel(2), "warm.txt"))
    few = _statements(lab, lambda: lab.ingest(small, limit=200))
    assert _statements(lab, lambda: lab.ingest(large, limit=200)) <= few + 2
    assert _stored(lab)[1] > 500
