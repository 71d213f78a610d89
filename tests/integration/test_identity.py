"""Who a document and a chunk are, over renames, moves, touches, copies and edits; and what `diff` says of it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from pipeline.errors import NotFoundError
from pipeline.spec import load
from tests.integration.conftest import Laboratory, write_novel
from workers.ingest import ingest as ingest_module
from workers.ingest.find import Found
from workers.ingest.ingest import Ingested, Outcome
from workers.outputs.diff import common_chunking, cut_alike, diff, excerpts, two_revisions

Novel = Callable[..., str]
BIG = "The river rose that spring, and nobody in the valley slept until the water had gone down again."


def changes(lab: Laboratory, item: Ingested, before: int | None = None, after: int | None = None) -> dict:
    with lab.database.read() as rows:
        pair = two_revisions(rows, item.document, before, after)
        return diff(rows, item.document, pair, common_chunking(rows, pair))


def ids(lab: Laboratory, item: Ingested) -> list[object]:
    with lab.database.read() as rows:
        places = rows.documents.pages(item.revision.id, item.chunking_id) or []
        return [chunk.logical_id for chunk in rows.chunks.of_pages([place.page_id for place in places])]


def test_a_renamed_file_keeps_its_document_its_revision_and_its_chunks(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(5), "first.txt")
    was = lab.ingest(book)[0]
    there = lab.folder / "elsewhere"
    there.mkdir()
    moved = book.rename(there / "第一.txt")
    now = lab.ingest(moved)[0]
    assert (now.document.id, now.revision.id, now.outcome) == (was.document.id, was.revision.id, Outcome.UNCHANGED)
    assert now.document.uri == moved.as_uri()
    assert (was.document.title, now.document.title) == ("first", "第一"), "a title that was the file's name follows"
    assert lab.calls(lab.run(load("summary"), moved)) > 0
    assert lab.calls(lab.run(load("summary"), moved.rename(there / "third.txt"))) == 0


def test_a_copy_is_a_document_of_its_own_and_costs_no_calls(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(5), "book.txt")
    lab.run(load("summary"), book)
    copy = lab.book(novel(5), "copy.txt")
    assert lab.calls(lab.run(load("summary"), copy)) == 0
    one, two = (lab.ingest(path)[0] for path in (book, copy))
    assert one.document.id != two.document.id
    assert set(ids(lab, one)).isdisjoint(ids(lab, two))


def test_of_two_copies_that_are_both_renamed_each_keeps_a_document(lab: Laboratory, novel: Novel) -> None:
    paths = [lab.book(novel(3), name) for name in ("a.txt", "b.txt")]
    before = {item.document.id for item in lab.ingest(*paths)}
    after = {item.document.id for item in lab.ingest(*[path.rename(path.with_suffix(".md")) for path in paths])}
    assert after == before


def test_a_file_that_took_the_place_of_a_renamed_one_is_that_places_next_revision(lab: Laboratory) -> None:
    book = lab.book(write_novel(3), "a.txt")
    first = lab.ingest(book)[0]
    moved = book.rename(lab.folder / "b.txt")
    lab.book(write_novel([7, 8]), "a.txt")
    again, other = lab.ingest(book)[0], lab.ingest(moved)[0]
    assert (again.document.id, again.outcome) == (first.document.id, Outcome.CHANGED)
    assert other.document.id != first.document.id


def test_a_touched_file_is_hashed_once_and_never_read_anew(
    sqlite_lab: Laboratory, novel: Novel, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = sqlite_lab
    book = lab.book(novel(4))
    first = lab.ingest(book)[0]
    hashed: list[Found] = []
    real = ingest_module.sha256_of

    def counted(found: Found) -> bytes:
        hashed.append(found)
        return real(found)

    monkeypatch.setattr(ingest_module, "sha256_of", counted)
    monkeypatch.setattr(ingest_module.registry, "read", lambda *_: pytest.fail("it was read"))
    for hour in (1, 1, 2):  # an hour ago twice: the second time a stat is enough
        os.utime(book, (1_700_000_000 + hour * 3600,) * 2)
        assert lab.ingest(book)[0].revision.id == first.revision.id
    assert [found.path for found in hashed] == [book, book]


SAME_TEXT: dict[str, Callable[[bytes], bytes]] = {
    "other line endings": lambda data: data.replace(b"\n", b"\r\n"),
    "old line endings": lambda data: data.replace(b"\n", b"\r"),
    "a BOM": lambda data: b"\xef\xbb\xbf" + data,
    "another encoding": lambda data: data.decode().encode("utf-16"),
}


@pytest.mark.parametrize("what", SAME_TEXT)
def test_the_same_text_in_other_bytes_is_a_new_revision_that_costs_no_calls(
    sqlite_lab: Laboratory, novel: Novel, what: str
) -> None:
    lab = sqlite_lab
    book = lab.book(novel(5))
    first = lab.run(load("summary"), book)
    book.write_bytes(SAME_TEXT[what](book.read_bytes()))
    job = lab.run(load("summary"), book)
    assert lab.calls(job) == 0
    assert lab.canonical(job) == lab.canonical(first)
    item = lab.ingest(book)[0]
    assert item.revision.number == 2
    assert changes(lab, item)["counts"] == {"kept": 5, "edited": 0, "moved": 0, "added": 0, "removed": 0}


def test_diff_tells_what_was_edited_moved_added_and_removed_with_places(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(8))
    before = ids(lab, lab.ingest(book)[0])
    chapters = [write_novel([number]) for number in range(1, 9)]
    chapters[1] = chapters[1].replace("came", "arrived")
    del chapters[4]  # the fifth
    chapters.insert(3, f"Chapter 44\n\n{BIG}\n\n")
    chapters.append(chapters.pop(0))
    book.write_text("".join(chapters))
    item = lab.ingest(book)[0]
    found = changes(lab, item)
    assert found["counts"] == item.report == {"kept": 5, "edited": 1, "moved": 1, "added": 1, "removed": 1}
    assert [change["what"] for change in found["changes"]] == ["edited", "added", "moved", "removed"]
    edited, added, moved, removed = found["changes"]
    assert (edited["chunk"], edited["section"]) == (str(before[1]), "Chapter 2")
    assert "came" in edited["before"]
    assert "arrived" in edited["after"]
    assert added["after"].startswith("Chapter 44")
    assert moved["chunks"] == 1
    assert (removed["chunk"], removed["section"]) == (str(before[4]), "Chapter 5")
    assert removed["start_line"] is None
    assert book.read_text().splitlines()[moved["start_line"] - 1] == "Chapter 1"


def test_diff_between_any_two_revisions_and_none_for_one_that_is_not_there(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(4))
    with pytest.raises(NotFoundError, match="one revision"):
        changes(lab, lab.ingest(book)[0])
    for numbers in ([1, 2, 9, 4], [1, 2, 3, 4]):
        book.write_text(novel(numbers))
        item = lab.ingest(book)[0]
    assert changes(lab, item, 1, 2)["counts"]["edited"] == 1
    assert changes(lab, item, 1, 3)["changes"] == [], "there and back again"
    assert changes(lab, item, 3, 2)["counts"]["edited"] == 1
    with pytest.raises(NotFoundError, match="no revision 7"):
        changes(lab, item, 1, 7)


def test_diff_of_revisions_that_different_splitters_cut_cuts_the_former_one_anew(
    lab: Laboratory, novel: Novel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_module, "SPLITTER_VERSION", -1)
    book = lab.book(novel(6))
    lab.ingest(book)
    monkeypatch.undo()
    book.write_text(novel([1, 2, 33, 4, 5, 6]))
    item = lab.ingest(book)[0]
    with lab.database.read() as rows:
        pair = two_revisions(rows, item.document, None, None)
        with pytest.raises(NotFoundError, match="No grain cut both"):
            common_chunking(rows, pair)
    chunking = cut_alike(lab.database, item.document, pair, lab.main.cutting_as)
    with lab.database.read() as rows:
        assert common_chunking(rows, pair) == chunking
        assert diff(rows, item.document, pair, chunking)["counts"] == {
            "kept": 5, "edited": 1, "moved": 0, "added": 0, "removed": 0,
        }  # fmt: skip


def test_an_edit_far_from_a_deletion_keeps_the_id_of_its_own_chapter(lab: Laboratory, novel: Novel) -> None:
    # Both chapters are new units: only the unchanged ones between them tell which is which.
    book = lab.book(novel(9))
    before = ids(lab, lab.ingest(book)[0])
    book.write_text(novel([1, 3, 4, 5, 6, 7, 8, 9]).replace("Chapter 8\n\nOn", "Chapter 8\n\nLate on"))
    after = ids(lab, lab.ingest(book)[0])
    assert after == [before[0], *before[2:]]


def test_excerpts_show_what_differs_and_not_the_whole_text() -> None:
    before, after = excerpts("a" * 500 + "cat" + "b" * 500, "a" * 500 + "dog" + "b" * 500)
    assert before is not None
    assert after is not None
    assert "cat" in before
    assert "dog" in after
    assert max(len(before), len(after)) <= 102
    assert excerpts(None, "new") == (None, "new")
    assert excerpts("abc", "abcd")[1] == "abcd"
