"""A finished fold that is read row by row is the one that is replayed: every section, node, child and parent of it."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest

from db.repositories.nodes import NodeRepository
from db.repositories.tasks import TaskRepository
from pipeline.reduce.foldtree import Ref
from pipeline.spec import load
from tests.integration.conftest import Laboratory
from workers.outputs.folds import open_fold
from workers.outputs.job import view
from workers.outputs.stored_fold import stored_fold
from workers.planning.context import load_context

LENGTHS = [(3, 400, 0, 2), (1,), (90, 90, 90, 1, 1, 1, 1)]  # sentences of the chapters of three volumes


def _chapter(volume: int, chapter: int, lines: int) -> str:
    said = " ".join(f"The boat of {volume} {chapter} {line} lay still at noon." for line in range(lines))
    return f"## Chapter {chapter}\n\n{said}\n\n"


VOLUMES = "".join(
    f"# Volume {volume}\n\n" + "".join(_chapter(volume, chapter, lines) for chapter, lines in enumerate(lengths))
    for volume, lengths in enumerate(LENGTHS)
)


@pytest.mark.parametrize("text", ["novel", "volumes"])
def test_a_stored_fold_is_the_replayed_one(lab: Laboratory, novel: Callable[..., str], text: str) -> None:
    book = lab.book(novel(12) if text == "novel" else VOLUMES, "book.md")
    other = lab.book(novel(1), "other.txt")
    spec = load("summary").model_copy(update={"grain": load("summary").grain.model_copy(update={"limit": 120})})
    job = lab.run(spec, book, other)
    context = load_context(lab.database, lab.ops, job.id, to_read=True)
    with lab.database.read() as rows:
        opened = view(rows, context)
        plan = context.plans[-1]
        replayed, stored = open_fold(opened, plan), stored_fold(opened, plan)
        assert stored is not None
        numbers = range(len(context.forest.sections))
        assert stored.of_sections(numbers) == replayed.of_sections(numbers)
        refs = [Ref(level, ordinal) for level, keys in replayed.keys.items() for ordinal in keys]
        assert max(ref.level for ref in refs) >= 2
        assert stored.keys_of(refs) == replayed.keys_of(refs)
        assert stored.children_of(refs) == replayed.children_of(refs)
        for ref in refs:
            assert stored.parent_of(ref) == replayed.parent_of(ref)
            assert stored.output(ref) == replayed.output(ref)
        assert stored.keys_of([Ref(9, 0), Ref(0, 10**6)]) == {}


def test_a_fold_that_is_not_finished_is_not_read_so(lab: Laboratory, novel: Callable[..., str]) -> None:
    job = lab.begin(load("summary"), lab.book(novel(3)))
    context = load_context(lab.database, lab.ops, job.id, to_read=True)
    with lab.database.read() as rows:
        assert stored_fold(view(rows, context), context.plans[-1]) is None


def test_no_reader_of_a_finished_fold_asks_for_all_keys(lab: Laboratory, novel: Callable[..., str]) -> None:
    from workers.faces import tree
    from workers.faces.results import Outputs, named_sentences

    job = lab.run(load("summary"), lab.book(novel(6)))
    outputs = Outputs(lab.database, lab.ops)
    whole = mock.Mock(side_effect=AssertionError("all of a step was asked for"))
    with (
        lab.database.read() as rows,
        mock.patch.object(TaskRepository, "outputs", whole),
        mock.patch.object(NodeRepository, "inputs", whole),
    ):
        output = outputs.open(rows, job.id)
        assert output.head(0)["sentences"]
        assert output.items(0, after=-1, limit=3)
        plan = tree.fold_of(output, None)
        (root,) = tree.roots(output, plan, after=-1, limit=3)
        found = tree.node(output, plan, root["node"], after=-1, limit=3)
        assert named_sentences(output, plan, found["children"][0]["node"])
        assert tree.path(output, plan, found["children"][0]["node"]) == [root["node"]]
