"""`octavo plan` after an edit: the calls that a run would make, reduces included, told before anything is spent."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from octavo import map_op
from pipeline.spec import parse
from pipeline.states import JobState
from tests.integration.conftest import Laboratory
from tests.integration.test_incremental import (
    WHOLE,
    Kept,
    chapters,
    gather,
    join,
    mark,
    one_paragraph,
    one_word,
)
from workers.planning.preview import StepPreview, preview


@pytest.fixture
def kept(sqlite_lab: Laboratory) -> Kept:
    """A book of 150 chapters, run once."""
    return begun(sqlite_lab)


def begun(lab: Laboratory) -> Kept:
    lab.teach(mark, join, gather)
    book = Kept(lab, lab.book("".join(chapters(150))))
    book.run()
    return book


def ahead(kept: Kept, text: str, pipeline: str = WHOLE) -> list[StepPreview]:
    """Write the text and say what a run would do."""
    kept.path.write_text(text)
    spec = parse(pipeline, "test")
    documents = kept.lab.ingest(kept.path, limit=spec.grain.limit)
    main = kept.lab.main
    return preview(kept.lab.database, spec, documents, ops=kept.lab.ops, models=main, model="extractive")


def agree(found: Sequence[StepPreview], kept: Kept, pipeline: str = WHOLE) -> None:
    """Run, and see that what was told holds."""
    calls = kept.run(pipeline=pipeline)
    for step, made in zip(found, (calls.maps, calls.merges, calls.folds), strict=True):
        assert step.calls_least <= made <= step.calls_most, step


def test_an_edit_is_told_chunk_by_chunk_and_node_by_node_and_nothing_is_spent(lab: Laboratory) -> None:
    kept = begun(lab)
    with lab.database.read() as rows:
        before = rows.results.count()
    text = kept.text
    at = text.index("silver coins", text.index("Chapter 77\n"))
    maps, merges, folds = ahead(kept, f"{text[:at]}golden rings{text[at + 12 :]}")
    assert (maps.calls_least, maps.calls_most, maps.hits) == (1, 1, maps.tasks - 1)
    assert [place["section"] for place in maps.where] == ["Chapter 77"]
    assert merges.calls_most <= 9
    assert 1 <= folds.calls_most <= 30
    assert folds.hits >= 50
    assert {place["section"] for place in folds.where} <= {"Chapter 77", None}
    with lab.database.read() as rows:
        assert rows.results.count() == before
        assert len(rows.jobs.latest(10)) == 1
    agree([maps, merges, folds], kept)


def test_what_is_told_holds_after_edits_and_insertions_anywhere(kept: Kept) -> None:
    rng = random.Random(2)
    base = kept.text
    for change in (one_word, one_paragraph, one_word, one_paragraph):
        found = ahead(kept, change(base, rng))
        assert found[2].calls_most <= 40
        agree(found, kept)


def test_a_deleted_a_swapped_and_an_unchanged_chapter_are_exact_as_far_as_outputs_are_there(kept: Kept) -> None:
    parts = chapters(150)
    assert [(step.calls_least, step.calls_most) for step in ahead(kept, "".join(parts))] == [(0, 0)] * 3
    for new in (parts[:70] + parts[71:], [*parts[:9], parts[100], *parts[10:100], parts[9], *parts[101:]]):
        found = ahead(kept, "".join(new))
        assert (found[0].calls_most, found[0].exact) == (0, True)
        assert found[1].calls_most <= 9
        assert 1 <= found[2].calls_least <= found[2].calls_most <= 40
        agree(found, kept)


def test_a_book_that_was_never_run_is_bounded_too(kept: Kept) -> None:
    found = ahead(kept, "".join(chapters(60, salt=5)))
    assert found[0].hits == 0
    assert found[2].calls_least == 0
    agree(found, kept)


def test_another_map_op_and_a_map_after_a_map_are_told(sqlite_lab: Laboratory) -> None:
    @map_op(version=1)
    def again(text: str, before: object = None) -> dict:
        return mark(text).value

    kept = Kept(sqlite_lab, sqlite_lab.book("".join(chapters(30))))
    pipeline = WHOLE.replace(
        '[[step]]\nname = "gather"',
        '[[step]]\nname = "again"\nkind = "map"\nop = "again"\nafter = "mark"\n[[step]]\nname = "gather"',
    ).replace('op = "join"\nafter = "mark"', 'op = "join"\nafter = "again"')
    sqlite_lab.teach(mark, join, gather, again)
    cold = ahead(kept, kept.text, pipeline)
    assert (cold[1].calls_least, cold[1].calls_most) == (0, cold[0].tasks)
    assert sqlite_lab.run(pipeline, kept.path).state is JobState.DONE
    assert [(step.calls_least, step.calls_most) for step in ahead(kept, kept.text, pipeline)] == [(0, 0)] * 4
    edited = ahead(kept, kept.text.replace("silver coins", "silver rings", 1), pipeline)
    assert [(step.calls_least, step.calls_most) for step in edited[:2]] == [(1, 1), (0, 1)]

    @map_op(version=2, name="again")
    def anew(text: str, before: object = None) -> dict:
        return again(text)

    sqlite_lab.teach(mark, join, gather, anew)
    found = ahead(kept, "".join(chapters(30)), pipeline)
    assert (found[0].calls_most, found[1].calls_least, found[1].calls_most) == (0, found[1].tasks, found[1].tasks)
