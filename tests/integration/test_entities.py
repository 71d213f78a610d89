"""What people decide about entities holds through full reruns and edits of the book, and can be undone."""

from __future__ import annotations

import pytest

from pipeline.errors import NotFoundError, UsageError
from pipeline.reduce.glossary import DecisionKind
from pipeline.spec import load
from tests.integration.conftest import Laboratory
from workers.outputs import entities

STORY = """Chapter 1

Captain Ahab came on deck. Ahab said nothing. The old man Ahab looked at Stubb, and Stubb laughed.
Then Starbuck spoke to Ahab, and Stubb went below with Starbuck.

Chapter 2

Near noon Captain Ahab called Starbuck. Starbuck answered Ahab, while Stubb and Old Thunder waited. They saw
Old Thunder again, and Stubb said so. With Old Thunder went Starbuck, and Ahab stayed.
"""


def names(lab: Laboratory, book: str) -> dict[str, tuple[int, list[str]]]:
    found = entities.glossed(lab.database, lab.ops, book)
    rows = entities.listed(lab.database, found, limit=1000, citations=0)
    assert all(len(row["citations"]) == row["citation_count"] for row in rows)
    return {row["name"]: (row["count"], row["aliases"]) for row in rows}


def decide(lab: Laboratory, book: str, kind: DecisionKind, name: str, other: str) -> int:
    return entities.decide(lab.database, entities.glossed(lab.database, lab.ops, book), kind, name, other)


BOTH = """第一章

張飛大怒，張飛道：“走。”眾人看著張飛，張飛不語。關羽道：“等。”關羽笑，關羽又道：“好。”

第二章

张飞拔刀，张飞道：“喝酒。”张飞笑道：“再来。”众人只见张飞坐下。关羽道：“好。”关羽见张飞如此，关羽不语。
"""


def test_two_scripts_are_one_name_where_the_step_asks_and_cost_the_merge_alone(lab: Laboratory) -> None:
    book = lab.book(BOTH)
    plain = load("glossary")
    extract, merge = plain.step
    folded = plain.model_copy(
        update={"step": (extract, merge.model_copy(update={"params": {"fold_traditional": True}}))}
    )
    shards = {task.key for task in lab.tasks(lab.run(plain, book), position=1, level=1)}
    apart = names(lab, str(book))
    job = lab.run(folded, book)
    together = names(lab, str(book))
    assert {"張飛", "张飞"} <= apart.keys()
    assert together["张飞"][0] == apart["張飛"][0] + apart["张飞"][0]
    assert "張飛" not in together
    assert all(task.hit for task in lab.tasks(job)), "the chunks are not read again"
    assert shards.isdisjoint(task.key for task in lab.tasks(job, position=1, level=1))
    decide(lab, str(book), DecisionKind.RENAME, "張飛", "翼德")
    assert "翼德" in names(lab, str(book))
    assert lab.calls(lab.run(folded, book)) == 0
    assert lab.calls(lab.run(plain, book)) == 0, "and what was merged before is still known"


def test_decisions_survive_a_full_rerun_and_an_edit_and_can_be_undone(lab: Laboratory) -> None:
    book = lab.book(STORY)
    path = str(book)
    lab.run(load("glossary"), book)
    before = names(lab, path)
    assert "Captain Ahab" in before["Ahab"][1]
    decide(lab, path, DecisionKind.MERGE, "Old Thunder", "Ahab")
    decide(lab, path, DecisionKind.SPLIT, "Captain Ahab", "Ahab")
    decide(lab, path, DecisionKind.RENAME, "Stubb", "Second Mate Stubb")
    after = names(lab, path)
    assert "Old Thunder" in after["Ahab"][1]
    assert "Old Thunder" not in after
    assert after["Captain Ahab"][0] == 2
    assert after["Ahab"][0] == before["Ahab"][0] + before["Old Thunder"][0] - 2
    assert after["Second Mate Stubb"] == (before["Stubb"][0], ["Stubb"])
    assert sum(count for count, _ in after.values()) == sum(count for count, _ in before.values())

    book.write_text(STORY.replace("Chapter 2", "Chapter 2\n\nAgain Captain Ahab stood there, and Ahab frowned.\n"))
    lab.run(load("glossary"), book)
    edited = names(lab, path)
    assert edited["Captain Ahab"][0] == 3
    assert "Old Thunder" in edited["Ahab"][1]
    assert "Second Mate Stubb" in edited
    copied = lab.run(load("glossary"), lab.book(book.read_text(), "copy.txt"))
    assert lab.calls(copied) == 0
    assert "Second Mate Stubb" not in names(lab, str(lab.folder / "copy.txt")), "a decision is about one document"

    document = entities.glossed(lab.database, lab.ops, path).document.id
    assert entities.undo(lab.database, document, None).kind == "rename"
    assert "Stubb" in names(lab, path)
    for _ in range(2):
        entities.undo(lab.database, document, None)
    assert "Old Thunder" in names(lab, path)
    with pytest.raises(NotFoundError, match="no decision"):
        entities.undo(lab.database, document, None)
    assert [item.undone_at is not None for item in entities.decisions(lab.database, document)] == [True] * 3


MASK = """Chapter 1

Marren Oake came ashore with Osric. Then Marren Oake slept, and Osric waited for Marren Oake.

Chapter 2

At night Redmane rode by. They say that Redmane never spoke, and nobody had seen Redmane by day.

Chapter 3

In the end it was plain that Redmane was none other than Marren Oake. Osric had known it of Marren Oake.
"""


def test_a_mask_that_falls_in_a_late_chapter_is_one_entity_until_a_person_splits_it(lab: Laboratory) -> None:
    book = lab.book(MASK)
    path = str(book)
    lab.run(load("glossary"), book)
    found = entities.glossed(lab.database, lab.ops, path)
    (row,) = [
        row for row in entities.listed(lab.database, found, limit=99, citations=0) if row["name"] == "Marren Oake"
    ]
    assert row["aliases"] == ["Redmane"]
    assert row["count"] == 9
    (stated,) = row["stated"]
    assert (stated["alias"], stated["name"], stated["times"]) == ("Redmane", "Marren Oake", 1)
    (citation,) = stated["citations"]
    assert citation["section"] == "Chapter 3"
    assert MASK[citation["start"] : citation["end"]] == stated["quote"]

    decide(lab, path, DecisionKind.SPLIT, "Redmane", "Marren Oake")
    assert names(lab, path)["Redmane"] == (4, [])
    book.write_text(MASK.replace("Chapter 2", "Chapter 2\n\nRedmane came, and Osric hid from Redmane.\n"))
    lab.run(load("glossary"), book)
    edited = names(lab, path)
    assert edited["Redmane"] == (6, [])
    assert edited["Marren Oake"] == (5, [])
    entities.undo(lab.database, entities.glossed(lab.database, lab.ops, path).document.id, None)
    assert names(lab, path)["Redmane"] == (11, ["Marren Oake"]), "one again, shown by the name that is now used most"


def test_a_decision_about_names_that_are_not_there_is_refused_or_sleeps(lab: Laboratory) -> None:
    book = lab.book(STORY)
    path = str(book)
    with pytest.raises(NotFoundError, match="no document"):
        names(lab, "nothing.txt")
    lab.run(load("summary"), book)
    with pytest.raises(NotFoundError, match="no glossary"):
        names(lab, path)
    lab.run(load("glossary"), book)
    for kind, one, other in (
        (DecisionKind.MERGE, "Queequeg", "Ahab"),
        (DecisionKind.MERGE, "Captain Ahab", "Ahab"),
        (DecisionKind.SPLIT, "Stubb", "Ahab"),
        (DecisionKind.RENAME, "Queequeg", "Q"),
    ):
        with pytest.raises(UsageError):
            decide(lab, path, kind, one, other)
    decide(lab, path, DecisionKind.MERGE, "Old Thunder", "Ahab")
    book.write_text(STORY.replace("Old Thunder", "the captain"))
    lab.run(load("glossary"), book)
    assert names(lab, path)["Ahab"][0] > 3
    book.write_text(STORY)
    lab.run(load("glossary"), book)
    assert "Old Thunder" in names(lab, path)["Ahab"][1], "it wakes where its names come back"


def test_a_name_keeps_its_first_word_at_the_start_of_a_sentence(lab: Laboratory) -> None:
    book = lab.book(
        "Chapter 1\n\nOld Thunder rode by. Poor Stubb saw it, and Stubb laughed.\n\n"
        "Chapter 2\n\nThe old men had seen Old Thunder, and the poor men had seen Stubb. Old Thunder was gone.\n"
    )
    job = lab.run(load("glossary"), book)
    assert names(lab, str(book)) == {"Old Thunder": (3, []), "Stubb": (3, [])}
    rows = {row["name"]: row for row in lab.output(job)["entries"]}
    assert [place["section"] for place in rows["Old Thunder"]["citations"]] == ["Chapter 1", "Chapter 2"]
