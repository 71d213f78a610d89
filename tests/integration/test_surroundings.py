"""Steps that show something with their chunks: what the op sees, and which chunks an edit derives anew."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from db.values import Job
from octavo import map_op
from pipeline.errors import PipelineError
from pipeline.ops.values import Json
from pipeline.states import JobState
from tests.integration.conftest import Laboratory

Novel = Callable[..., str]


@map_op(version=1)
def seen(text: str, context: Json = None) -> Json:
    """What it is shown."""
    return {"context": context, "size": len(text)}


@map_op(version=1)
def blind(text: str) -> Json:
    """Takes no context."""
    return len(text)


NEAR = """
name = "near"
[grain]
limit = 200
[[step]]
name = "seen"
kind = "map"
op = "seen"
neighbours = { heading = true, before = 20, after = 15 }
"""

ENTITIES = """
name = "anchored"
[grain]
limit = 260
[[step]]
name = "extract"
kind = "map"
op = "extract"
[[step]]
name = "merge"
kind = "merge"
op = "glossary"
[[step]]
name = "sum"
kind = "map"
op = "summarize"
[[step]]
name = "fold"
kind = "fold"
op = "fold_summary"
[[step]]
name = "seen"
kind = "map"
op = "seen"
entities = "merge"
entities_most = 3
"""


def shown(lab: Laboratory, job: Job, position: int) -> list[Json]:
    """The context of every chunk."""
    with lab.database.read() as rows:
        step = next(s for s in rows.jobs.steps(job.id) if s.position == position and s.level == 0)
        keys = rows.tasks.keys(step.id)
        outputs = rows.results.outputs(list(set(keys.values())))
    import orjson

    return [orjson.loads(outputs[keys[at]])["context"] for at in sorted(keys)]


def calls(lab: Laboratory, job: Job, position: int) -> int:
    with lab.database.read() as rows:
        steps = [s.id for s in rows.jobs.steps(job.id) if s.position == position]
        return sum(found.calls for found in rows.jobs.counts(steps).values())


def test_neighbours_are_shown_and_an_edit_derives_them_anew(lab: Laboratory, novel: Novel) -> None:
    lab.teach(seen, blind)
    book = lab.book(novel(6))
    job = lab.run(NEAR, book)
    assert job.state is JobState.DONE
    found = shown(lab, job, 0)
    assert "before" not in found[0]
    assert "after" not in found[-1]
    with lab.database.read() as rows:
        chunks = [c.content_sha256 for c in rows.chunks.of_pages(sorted({p.page_id for p in pages(lab, job)}))]
        texts = rows.contents.texts(chunks)
    whole = [texts[sha] for sha in chunks]
    for at, context in enumerate(found):
        assert context["heading"].startswith("Chapter ")
        if at:
            assert context["before"] == whole[at - 1].rstrip()[-20:].lstrip()
        if at + 1 < len(whole):
            assert context["after"] == whole[at + 1].lstrip()[:15].rstrip()
    assert calls(lab, lab.run(NEAR, book), 0) == 0
    book.write_text(book.read_text().replace("On day 31", "On the day 31"))
    again = lab.run(NEAR, book)
    assert 1 < calls(lab, again, 0) <= 4, "the edited chunk and those beside it"
    plain = lab.run(NEAR.replace("neighbours = { heading = true, before = 20, after = 15 }", ""), book)
    assert calls(lab, plain, 0) == len(whole), "without context the keys are others"


def pages(lab: Laboratory, job: Job) -> list[Json]:
    from workers.planning.context import load_context

    return list(load_context(lab.database, lab.ops, job.id).selection.members[0].places)


def test_an_op_that_takes_no_context_is_refused(lab: Laboratory, novel: Novel) -> None:
    lab.teach(seen, blind)
    with pytest.raises(PipelineError, match="takes none"):
        lab.begin(NEAR.replace('op = "seen"', 'op = "blind"'), lab.book(novel(2)))


def test_entities_are_shown_where_they_are_mentioned_and_nowhere_else(lab: Laboratory, novel: Novel) -> None:
    lab.teach(seen)
    people = ["Marian Vole", "Tobias Crane", "Edith Harrow", "Samuel Quill", "Agnes Thorn"]
    book = lab.book(novel(12))
    job = lab.run(ENTITIES, book)
    assert job.state is JobState.DONE
    found = shown(lab, job, 4)
    names = {entity["name"] for context in found if context for entity in context.get("entities", [])}
    assert len(names) == 3
    assert names <= set(people)
    members = pages(lab, job)
    with lab.database.read() as rows:
        chunks = {(c.page_id, c.ordinal): c for c in rows.chunks.of_pages([p.page_id for p in members])}
        ordered = [chunks[p.page_id, at] for p in members for at in range(p.chunk_count)]
        texts = rows.contents.texts([c.content_sha256 for c in ordered])
    for chunk, context in zip(ordered, found, strict=True):
        text = " ".join(texts[chunk.content_sha256].split())
        told = {entity["name"] for entity in (context or {}).get("entities", [])}
        assert told == {name for name in names if name in text}
        assert all(set(entity) == {"name", "kind", "aliases"} for entity in (context or {}).get("entities", []))

    # More mentions of one who is shown: counts change, the set does not, and only the edited chunk is derived anew.
    book.write_text(
        book.read_text().replace("Chapter 5\n\n", "Chapter 5\n\nHere Marian Vole met Marian Vole again.\n\n")
    )
    edited = lab.run(ENTITIES, book)
    assert calls(lab, edited, 4) <= 3
    with lab.database.read() as rows:
        sets = rows.entity_sets.get(1)
        assert {entity["name"] for entity in sets["entities"]} == names

    # A new one who is in every chapter comes in: chunks that mention neither keep their results.
    text = book.read_text()
    for number in range(1, 13):
        text = text.replace(
            f"Chapter {number}\n\n", f"Chapter {number}\n\nThere sat Quentin Moss. And Quentin Moss rose.\n\n"
        )
    book.write_text(text)
    third = lab.run(ENTITIES, book)
    assert third.state is JobState.DONE
    again = lab.run(ENTITIES, book)
    assert calls(lab, again, 4) == 0


def test_the_summary_of_its_section_can_be_shown(lab: Laboratory, novel: Novel) -> None:
    lab.teach(seen)
    pipeline = ENTITIES.replace('entities = "merge"\nentities_most = 3', 'neighbours = { summary = "fold" }')
    job = lab.run(pipeline, lab.book(novel(4)))
    assert job.state is JobState.DONE
    found = shown(lab, job, 4)
    assert all(context["summary"] for context in found)
    assert len({context["summary"] for context in found}) == 4, "one for each chapter"


OVERLAP = """
name = "lapped"
[grain]
limit = 200
overlap = 40
[[step]]
name = "seen"
kind = "map"
op = "seen"
"""


def leads(lab: Laboratory, job: Job) -> list[tuple[str, int]]:
    """(text, characters of overlap) of every chunk."""
    members = pages(lab, job)
    with lab.database.read() as rows:
        chunks = list(rows.chunks.of_pages([place.page_id for place in members]))
        texts = rows.contents.texts([chunk.content_sha256 for chunk in chunks])
    return [(texts[chunk.content_sha256], chunk.lead) for chunk in chunks]


def test_the_overlap_is_shown_and_an_edit_in_it_derives_the_next_chunk_anew(lab: Laboratory, novel: Novel) -> None:
    lab.teach(seen, blind)
    book = lab.book(novel(6))
    job = lab.run(OVERLAP, book)
    assert job.state is JobState.DONE
    found, whole = shown(lab, job, 0), leads(lab, job)
    assert sum(lead > 0 for _, lead in whole) > 4
    before = ""
    for context, (text, lead) in zip(found, whole, strict=True):
        assert (context or {}).get("overlap", "") == (before[-lead:] if lead else "")
        before += text
    at = next(at for at, (_, lead) in enumerate(whole) if at and lead)
    start = sum(len(text) for text, _ in whole[:at])
    text = book.read_text()
    last = text.rindex(" ", 0, start - 4)
    book.write_text(f"{text[:last]} and{text[last:]}")
    edited = lab.run(OVERLAP, book)
    same = [one for one, _ in leads(lab, edited)]
    assert sum(one != two for one, (two, _) in zip(same, whole, strict=True)) == 1, "one text is another"
    assert calls(lab, edited, 0) == 2, "and the next is shown another overlap"


def test_an_op_that_sees_no_overlap_has_it_in_no_key(sqlite_lab: Laboratory, novel: Novel) -> None:
    sqlite_lab.teach(blind)
    book = sqlite_lab.book(novel(4))
    pipeline = OVERLAP.replace('op = "seen"', 'op = "blind"')
    wide = pipeline.replace("limit = 200\noverlap = 40", "limit = 2000\noverlap = 0")
    assert calls(sqlite_lab, sqlite_lab.run(wide, book), 0) == 4
    assert calls(sqlite_lab, sqlite_lab.run(wide.replace("overlap = 0", "overlap = 40"), book), 0) == 0


def test_one_entity_more_derives_only_the_chunks_that_mention_it_and_a_count_none(
    lab: Laboratory, novel: Novel
) -> None:
    lab.teach(seen)
    book = lab.book(novel(12))
    first = lab.run(ENTITIES, book)
    told = [{entity["name"] for entity in (one or {}).get("entities", [])} for one in shown(lab, first, 4)]
    more = ENTITIES.replace("entities_most = 3", "entities_most = 4")
    second = lab.run(more, book)
    after = [{entity["name"] for entity in (one or {}).get("entities", [])} for one in shown(lab, second, 4)]
    (new,) = set().union(*after) - set().union(*told)
    mention = sum(new in names for names in after)
    assert 0 < mention < len(after)
    assert calls(lab, second, 4) == mention
    # The same person once more in a chunk that mentions her: her count is another, what is shown is not.
    texts = [text for text, _ in leads(lab, second)]
    text = next(text for text, names in zip(texts, after, strict=True) if new in names and len(text) < 225)
    book.write_text(book.read_text().replace(text, re.sub(r"the \d+ silver", f"{new}’s", text, count=1), 1))
    third = lab.run(more, book)
    assert calls(lab, third, 0) == calls(lab, third, 4) == 1
