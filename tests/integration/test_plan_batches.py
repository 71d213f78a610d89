"""A map that is planned in many small batches while it runs gives what one that is planned at once gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from octavo import map_op
from pipeline.states import JobState
from workers import embedded
from workers.planning.context import load_context
from workers.planning.maps import plan_batch

SPEC = """
name = "p"
[grain]
limit = 200
[[step]]
name = "m"
kind = "map"
op = "size_of_it"
[[step]]
name = "n"
kind = "map"
op = "twice"
after = "m"
"""


@map_op(version=1)
def size_of_it(text: str) -> int:
    return len(text)


@map_op(version=1)
def twice(text: str, before: object = None) -> list[object]:
    return [before, len(text)]


def test_small_batches_and_one_batch_give_the_same(
    lab, novel: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.teach(size_of_it, twice)
    book = lab.book(novel(30))
    monkeypatch.setattr(embedded, "QUICK_BATCH", 3)
    monkeypatch.setattr(embedded, "BATCH_CHUNKS", 5)
    job = lab.run(SPEC, book)
    assert job.state is JobState.DONE
    ordinals = [task.ordinal for task in lab.tasks(job)]
    assert ordinals == list(range(len(ordinals)))
    assert len(ordinals) > 30
    assert lab.calls(job) <= 2 * len(ordinals)
    again = lab.run(SPEC, book)
    assert lab.calls(again) == 0
    assert lab.canonical(again) == lab.canonical(job)


def test_two_planners_of_one_step_write_every_task_once(lab, novel: Callable[..., str]) -> None:
    lab.teach(size_of_it, twice)
    job = lab.begin(SPEC, lab.book(novel(30)))
    context = load_context(lab.database, lab.ops, job.id)
    with lab.database.read() as rows:
        step = rows.jobs.steps(job.id)[0]
    other = lab.runtime().database
    more = True
    while more:
        more = plan_batch(lab.database, context, step.id, 4)
        more |= plan_batch(other, context, step.id, 4)
    assert [task.ordinal for task in lab.tasks(job)] == list(range(context.selection.total))
    assert not plan_batch(other, context, step.id, 4)
