"""What a chunk is shown with: each part in the key by its hash, and a set of entities that changes seldom."""

from __future__ import annotations

import pytest

from pipeline.errors import PipelineError
from pipeline.spec import parse
from pipeline.surroundings import Anchor, Surroundings, choose

AHAB, STUBB = Anchor(name="Ahab", kind="person"), Anchor(name="Stubb", kind="person", aliases=("Mr. Stubb",))


def anchors(*names: str) -> list[Anchor]:
    return [Anchor(name=name, kind="person") for name in names]


def names(found: list[Anchor]) -> str:
    return "".join(anchor.name for anchor in found)


def test_a_chunk_that_is_shown_nothing_keeps_its_key() -> None:
    assert Surroundings().digest() is None
    assert Surroundings().parts() == {}
    assert Surroundings().render() == ""


def test_every_part_changes_the_hash_and_only_by_itself() -> None:
    shown = [
        Surroundings(heading="a"),
        Surroundings(before="a"),
        Surroundings(after="a"),
        Surroundings(summary="a"),
        Surroundings(entities=(AHAB,)),
        Surroundings(entities=(STUBB,)),
        Surroundings(entities=(AHAB, STUBB)),
        Surroundings(heading="a", before="a"),
    ]
    assert len({one.digest() for one in shown}) == len(shown)
    assert Surroundings(before="ab").digest() == Surroundings(before="ab").digest()


def test_a_model_reads_names_kinds_and_accepted_aliases_and_no_counts() -> None:
    text = Surroundings(heading="Ch. 1", before="x", after="y", summary="s", entities=(AHAB, STUBB)).render()
    assert "Ahab (person); Stubb (person, also Mr. Stubb)" in text
    assert text.splitlines()[0] == "Heading: Ch. 1"


def test_the_set_has_hysteresis() -> None:
    first = choose(anchors(*"abcdef"), [], 3)
    assert names(first) == "abc"
    assert names(choose(anchors(*"abdcef"), first, 3)) == "abc", "a rank lost changes nothing"
    assert names(choose(anchors(*"dbaefc"), first, 3)) == "abc", "nor do several, within twice the size"
    assert names(choose(anchors(*"dbaefgc"), first, 3)) == "abd", "who falls far enough leaves, the best comes in"
    assert names(choose(anchors(*"bad"), first, 3)) == "abd", "who is gone leaves"
    assert names(choose(anchors(*"zabc"), [], 3)) == "abz"


def test_kinds_and_aliases_are_those_of_now() -> None:
    assert choose([STUBB], [Anchor(name="Stubb", kind="name")], 3) == [STUBB]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('entities = "nothing"', "no merge step above"),
        ('entities = "extract"', "no merge step above"),
        ('neighbours = { summary = "merge" }', "no fold step above"),
        ('after = "extract"\nneighbours = { heading = true }', "without after"),
    ],
)
def test_what_is_shown_must_come_from_a_step_above(lines: str, says: str) -> None:
    head = 'name = "p"\n[[step]]\nname = "extract"\nkind = "map"\nop = "extract"\n'
    merge = '[[step]]\nname = "merge"\nkind = "merge"\nop = "glossary"\n'
    last = f'[[step]]\nname = "last"\nkind = "map"\nop = "summarize"\n{lines}\n'
    with pytest.raises(PipelineError, match=says):
        parse(head + merge + last, "p.toml")
