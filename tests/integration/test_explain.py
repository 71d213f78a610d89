"""`octavo explain`: which field of a key differs from the last one, for chunks and for the nodes of reduces, and the
edit behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from db.values import Job
from octavo import map_op
from pipeline.errors import NotFoundError
from tests.integration.conftest import Laboratory, write_novel
from tests.integration.test_incremental import WHOLE, Kept, chapters, gather, join, mark
from workers.outputs.explain import explain_chunk
from workers.outputs.explain_nodes import explain_node

NEW = "Chapter 500\n\nOn day 9 nobody came, and the lamp was out.\n\n"


@pytest.fixture
def kept(sqlite_lab: Laboratory) -> Kept:
    """A book of forty chapters, run once."""
    return begun(sqlite_lab)


def begun(lab: Laboratory) -> Kept:
    lab.teach(mark, join, gather)
    book = Kept(lab, lab.book("".join(chapters(40))))
    book.run()
    return book


def chunk(lab: Laboratory, book: Path, ordinal: int) -> dict[str, Any]:
    return explain_chunk(lab.database, lab.ops, f"{book}:{ordinal}")


def node(lab: Laboratory, name: str, job: str = "last") -> dict[str, Any]:
    return explain_node(lab.database, lab.ops, name, job)


def missed(lab: Laboratory, job: Job, position: int) -> list[str]:
    """The nodes of a step that were called, lowest first."""
    name = "gather" if position == 1 else "join"
    return [
        f"{name}/{level}/{task.ordinal}"
        for level in range(1, 9)
        for task in lab.tasks(job, position, level)
        if not task.hit
    ]


def rerun(kept: Kept, text: str, pipeline: str = WHOLE) -> Job:
    kept.path.write_text(text)
    return kept.lab.run(pipeline, kept.path)


def edited(text: str, chapter: int = 17) -> str:
    """One word in a chapter is another."""
    at = text.index(" asked about", text.index(f"Chapter {chapter}\n"))
    return f"{text[:at]} wondered{text[at + len(' asked') :]}"


def test_a_chunk_names_the_revision_the_line_and_the_words_that_were_edited(kept: Kept) -> None:
    text = edited(kept.text)
    rerun(kept, text)
    line = text[: text.index("wondered")].count("\n") + 1
    at = next(at for at in range(60) if "Chapter 17" in chunk(kept.lab, kept.path, at)["place"]["section"])
    (step,) = chunk(kept.lab, kept.path, at)["steps"]
    (change,) = step["changes"]
    assert (change["why"], step["memo"]) == ("new text", "miss: its key was new")
    edit = change["edit"]
    assert (edit["what"], edit["revision"], edit["was_revision"]) == ("text replaced", 2, 1)
    assert (edit["section"], edit["line"]) == ("Chapter 17", line)
    assert "asked" in edit["before"]
    assert "wondered" in edit["after"]


def test_the_edit_is_named_that_made_it_however_many_revisions_and_runs_came_after(kept: Kept) -> None:
    text = edited(kept.text)
    rerun(kept, text)
    for number in range(3):
        text += f"Chapter {900 + number}\n\nMore of it.\n\n"
        last = rerun(kept, text)
    at = next(at for at in range(60) if "Chapter 17" in chunk(kept.lab, kept.path, at)["place"]["section"])
    found = chunk(kept.lab, kept.path, at)
    assert found["job"] == str(last.id)
    (step,) = found["steps"]
    assert step["memo"].startswith("hit")
    assert step["changes"][0]["edit"]["revision"] == 2
    assert step["changes"][0]["since"] != str(last.id)


def test_an_edit_that_no_job_has_seen_is_told(kept: Kept) -> None:
    kept.path.write_text(edited(kept.text))
    kept.lab.ingest(kept.path, limit=400)
    at = next(at for at in range(60) if "Chapter 17" in chunk(kept.lab, kept.path, at)["place"]["section"])
    assert chunk(kept.lab, kept.path, at)["pending"]["what"] == "text replaced"
    assert chunk(kept.lab, kept.path, at + 5)["pending"] is None


def test_every_node_that_was_called_after_an_edit_leads_to_that_edit(lab: Laboratory) -> None:
    kept = begun(lab)
    job = rerun(kept, edited(kept.text))
    nodes = [*missed(kept.lab, job, 2), *missed(kept.lab, job, 1)]
    assert len(nodes) >= 3
    for name in nodes:
        found = node(kept.lab, name)
        assert {change["why"] for change in found["changes"]} == {"new input"}, name
        assert [edit["section"] for edit in found["causes"]["edits"]] == ["Chapter 17"], name
        assert found["causes"]["edits"][0]["what"] == "text replaced"
        assert found["key"] is not None
        assert found["was"]["job"] != found["job"]
    above = {item["node"] for item in chunk(kept.lab, kept.path, 20)["above"]}
    assert any(name.startswith("join/") for name in above)
    assert any(name.startswith("gather/1/") for name in above)


def test_an_inserted_and_a_deleted_chapter_are_named_for_the_nodes_they_change(kept: Kept) -> None:
    parts = chapters(40)
    for text, what in (("".join([*parts[:9], NEW, *parts[9:]]), "chunk added"), ("".join(parts), "chunk removed")):
        job = rerun(kept, text)
        for name in missed(kept.lab, job, 2):
            found = node(kept.lab, name)
            told = {(edit["what"], edit["section"]) for edit in found["causes"]["edits"]}
            assert told == {(what, "Chapter 500")}, name
    kept.path.write_text("".join(parts[1:]))
    job = kept.lab.run(WHOLE, kept.path)
    root = node(kept.lab, missed(kept.lab, job, 2)[-1])
    assert {(edit["what"], edit["section"]) for edit in root["causes"]["edits"]} == {("chunk removed", "Chapter 1")}


def test_swapped_chapters_are_no_edit_of_a_text(kept: Kept) -> None:
    parts = chapters(40)
    parts[5], parts[30] = parts[30], parts[5]
    job = rerun(kept, "".join(parts))
    root = node(kept.lab, missed(kept.lab, job, 2)[-1])
    assert root["causes"]["edits"] == []
    assert root["causes"]["moved"] >= 1


def test_another_version_of_an_op_is_named_for_chunks_and_for_the_nodes_above_them(kept: Kept) -> None:
    @map_op(version=2, name="mark")
    def anew(text: str, prompt: str = "A") -> Any:
        return mark(text, prompt).value | {"new": 1}

    kept.lab.teach(anew, join, gather)
    job = rerun(kept, kept.text)
    (step,) = chunk(kept.lab, kept.path, 3)["steps"]
    assert [(change["why"], change["before"], change["now"]) for change in step["changes"]] == [
        ("new op version", 1, 2)
    ]
    found = node(kept.lab, missed(kept.lab, job, 2)[0])
    assert found["causes"]["edits"] == []
    assert [(item["step"], item["why"]) for item in found["causes"]["steps"]] == [("mark", "new op version")]


def test_another_parameter_of_a_reduce_and_another_grain_are_named(kept: Kept) -> None:
    cut = WHOLE.replace("limit = 400", "limit = 300")
    job = rerun(kept, kept.text, cut)
    found = node(kept.lab, missed(kept.lab, job, 2)[-1])
    (told,) = found["causes"]["cuts"]
    assert (told["before"], told["now"]) == ({"limit": 400}, {"limit": 300})


def test_entities_that_are_shown_anew_are_named(sqlite_lab: Laboratory) -> None:
    lab = sqlite_lab

    @map_op(version=1)
    def tell(text: str, context: dict | None = None) -> int:
        return len(text)

    lab.teach(tell)
    pipeline = (
        'name = "shown"\n[[step]]\nname = "extract"\nkind = "map"\nop = "extract"\n[[step]]\nname = "merge"\n'
        'kind = "merge"\nop = "glossary"\n[[step]]\nname = "tell"\nkind = "map"\nop = "tell"\nentities = "merge"\n'
        "entities_most = 50\n"
    )
    first = write_novel(8)
    book = lab.book(first)
    lab.run(pipeline, book)
    more = "".join(
        f"\nChapter {90 + at}\n\nUrsula Penhallow met Marian Vole. Ursula Penhallow smiled.\n" for at in range(3)
    )
    book.write_text(first.replace("Then Tobias Crane came", "Then Ursula Penhallow came") + more)
    lab.run(pipeline, book)
    told = [change for at in range(8) for change in chunk(lab, book, at)["steps"][1]["changes"]]
    names = [entity["name"] for change in told for entity in (change.get("shown") or {}).get("entities", [[], []])[1]]
    assert "Ursula Penhallow" in names


def test_what_is_no_node_is_refused_and_says_what_there_is(kept: Kept) -> None:
    with pytest.raises(NotFoundError, match="no reduce step 'mark'"):
        node(kept.lab, "mark/1/0")
    with pytest.raises(NotFoundError, match="no node join/1/999"):
        node(kept.lab, "join/1/999")
    with pytest.raises(NotFoundError, match="no chunk and no node"):
        explain_chunk(kept.lab.database, kept.lab.ops, "whatever")
    found = node(kept.lab, "join/1/0")
    assert (found["was"], found["changes"]) == (None, [])
