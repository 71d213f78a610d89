"""A merge's partitions are made with each output; those of outputs from before it, when it is planned."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from octavo import map_op, reduce_op
from pipeline.errors import PipelineError
from pipeline.ops.kinds import MergeOp
from pipeline.states import JobState
from workers.planning import merges
from workers.planning.context import load_context
from workers.planning.partitions import Feed

MAP = """
name = "p"
[grain]
limit = 200
[[step]]
name = "words"
kind = "map"
op = "words"
"""
MERGE = """
[[step]]
name = "count"
kind = "merge"
op = "count"
after = "words"
"""


@map_op(version=1)
def words(text: str) -> dict[str, list[str]]:
    return {"items": text.split()[:5]}


@reduce_op(version=1, key=str.casefold)
def count(items: list[str]) -> int:
    return len(items)


def _unpartitioned(lab, job) -> int:
    context = load_context(lab.database, lab.ops, job.id)
    (feed,) = context.feeds[0] if len(context.plans) > 1 else (Feed(lab.ops.get("count", "merge"), 8, {}),)
    assert isinstance(feed.op, MergeOp)
    with lab.database.read() as rows:
        return len(rows.results.unpartitioned(rows.jobs.steps(job.id)[0].id, feed.scheme))


def _counts(lab, job) -> list[tuple[str, int]]:
    return [(entry["key"], entry["count"]) for entry in lab.output(job)["entries"]]


def test_a_merge_is_planned_over_partitions_that_were_committed_with_the_outputs(
    lab, novel: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.teach(words, count)
    found: list[int] = []
    plan = merges.plan_merge

    def spied(database, context, step) -> None:
        if step.level == 1:
            found.append(_unpartitioned(lab, job))
        plan(database, context, step)

    monkeypatch.setattr("workers.transitions.plan_merge", spied)
    job = lab.begin(MAP + MERGE, lab.book(novel(20)))
    assert lab.work(job).state is JobState.DONE
    assert found == [0]


def test_a_merge_over_outputs_that_were_there_before_gives_the_same(lab, novel: Callable[..., str]) -> None:
    lab.teach(words, count)
    book = lab.book(novel(20))
    before = lab.run(MAP, book)
    assert _unpartitioned(lab, before) == len(lab.tasks(before))
    late = lab.run(MAP + MERGE, book)
    assert lab.calls(late) == len(lab.tasks(late, 1, 1)) + 1
    assert _unpartitioned(lab, late) == 0
    at_once = lab.run(MAP.replace("limit = 200", "limit = 199") + MERGE, book)
    assert _counts(lab, at_once) == _counts(lab, late)


def test_an_error_of_a_merges_key_is_not_the_maps(lab, novel: Callable[..., str]) -> None:
    @reduce_op(name="broken", version=1, key=lambda item: item["no such field"])
    def broken(items: list[str]) -> int:
        return len(items)

    lab.teach(words, broken)
    job = lab.begin(MAP + MERGE.replace('"count"', '"broken"'), lab.book(novel(3)))
    with pytest.raises(PipelineError, match="The key of op 'broken' can not be found"):
        lab.work(job)
    assert {task.state for task in lab.tasks(job)} == {"done"}
