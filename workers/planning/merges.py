"""Plan the two levels of a merge: shards over the parts of all outputs, then the judgement over their summaries."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from db.database import Database, Repositories
from db.layout import pack
from db.values import NewTask, Step
from pipeline import canonical
from pipeline.ops.kinds import MergeOp
from workers.planning.context import JobContext
from workers.planning.folds import write_level
from workers.planning.partitions import PART_BYTES, Feed, parts_of, shards_for
from workers.planning.plan import JUDGEMENT, QUESTIONS
from workers.planning.questions import questions
from workers.planning.shards import shards_of

BATCH_OUTPUTS = 256
PARTS_AT_ONCE = 1_000_000  # hashes of parts that are held: a merge of more is planned in several passes


def plan_merge(database: Database, context: JobContext, step: Step) -> None:
    """Write the tasks of a merge's level: 1, the shards; 2, the judgement; from 3 on, rounds of questions."""
    if step.level >= QUESTIONS:
        tasks, unasked = questions(database, context, step)
        write_level(database, step, tasks, unasked=unasked)
    else:
        make = {1: _shards, JUDGEMENT: _judgement}[step.level]
        write_level(database, step, make(database, context, step))


def _shards(database: Database, context: JobContext, step: Step) -> list[NewTask]:
    plan = context.plan_of(step)
    assert isinstance(plan.op, MergeOp)
    feed = Feed(plan.op, shards_for(context.selection.total), plan.params)
    with database.read() as rows:
        source = _source(rows, context, step)
    _complete(database, source.id, feed)
    maker = plan.keys(node="shard")
    tasks: list[NewTask] = []
    with database.read() as rows:
        passes = -(-rows.results.partition_bytes(source.id, feed.scheme) // (PARTS_AT_ONCE * PART_BYTES)) or 1
        each = -(-feed.shards // passes)
        for first in range(0, feed.shards, each):
            shards = range(first, min(first + each, feed.shards))
            for shard, ordinals, hashes in _parts(rows, source.id, feed, shards):
                key = maker.key([hashes[at : at + 32] for at in range(0, len(hashes), 32)])
                tasks.append(NewTask(len(tasks), key, inputs=pack(ordinals.tolist()), scope=shard))
    return tasks


def _parts(rows: Repositories, step_id: int, feed: Feed, shards: range) -> Iterator[tuple[int, array[int], bytes]]:
    """(shard, ordinals of the leaves that have parts in it, hashes of those parts) of the shards that have any."""
    ordinals = {shard: array("q") for shard in shards}
    hashes = {shard: bytearray() for shard in shards}
    for ordinal, parts in rows.results.partitions_of(step_id, feed.scheme):
        for shard, sha in parts_of(parts):
            if shard in shards:
                ordinals[shard].append(ordinal)
                hashes[shard] += sha
    for shard in shards:
        if found := ordinals.pop(shard):
            yield shard, found, bytes(hashes.pop(shard))


def _source(rows: Repositories, context: JobContext, step: Step) -> Step:
    position = context.plan_of(step).source
    return next(item for item in rows.jobs.steps(context.job.id) if item.position == position and item.level == 0)


def _complete(database: Database, step_id: int, feed: Feed) -> None:
    """Partition what was answered before there was such a merge: usually nothing."""
    with database.read() as rows:
        missing = rows.results.unpartitioned(step_id, feed.scheme)
    for at in range(0, len(missing), BATCH_OUTPUTS):
        batch = missing[at : at + BATCH_OUTPUTS]
        with database.read() as rows:
            outputs = rows.results.outputs([key for _, key in batch])
        made = [feed.partition(sha, outputs[key]) for sha, key in batch]
        with database.write() as rows:
            rows.results.add_partitions(made)


def _judgement(database: Database, context: JobContext, step: Step) -> list[NewTask]:
    plan = context.plan_of(step)
    assert isinstance(plan.op, MergeOp)
    with database.read() as rows:
        steps = rows.jobs.steps(context.job.id)
        shards = next(s for s in steps if s.position == step.position and s.level == 1)
        values, _ = shards_of(rows, shards)
        ordinals: Sequence[int] = sorted(rows.tasks.keys(shards.id))
        # The key is made of the summaries' hashes: a change that does not reach them stops here.
        summaries = [canonical.digest(plan.op.summarize(value)) for value in values]
    return [NewTask(0, plan.keys(node="judgement").key(summaries), inputs=pack(ordinals))]
