"""Plan the two levels of a merge: shards over the parts of all outputs, then the judgement over their summaries."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Mapping, Sequence

from db.database import Database
from db.layout import pack
from db.values import NewTask, Step
from pipeline import canonical
from pipeline.ops.kinds import MergeOp
from workers.planning.context import JobContext
from workers.planning.folds import write_level

BATCH_OUTPUTS = 256
CHUNKS_PER_SHARD = 512
LEAST_SHARDS, MOST_SHARDS = 8, 1024
_PART = struct.Struct("<H32s")  # shard, hash of the part


def shards_for(chunks: int) -> int:
    """How many shards a merge over so many chunks has: a power of two, so that it seldom changes as a book grows."""
    wanted = max(LEAST_SHARDS, -(-chunks // CHUNKS_PER_SHARD))
    return int(min(MOST_SHARDS, 1 << (wanted - 1).bit_length()))


def plan_merge(database: Database, context: JobContext, step: Step) -> None:
    """Write the tasks of a merge's level: 1, the shards; 2, the judgement."""
    tasks = _shards(database, context, step) if step.level == 1 else _judgement(database, context, step)
    write_level(database, step, tasks)


def _shards(database: Database, context: JobContext, step: Step) -> list[NewTask]:
    plan = context.plan_of(step)
    assert isinstance(plan.op, MergeOp)
    shards = shards_for(context.selection.total)
    ordinals = [array("q") for _ in range(shards)]
    hashes = [bytearray() for _ in range(shards)]
    for ordinal, parts in _partitions(database, context, step, plan.op, shards):
        for shard, sha in _PART.iter_unpack(parts):
            ordinals[shard].append(ordinal)
            hashes[shard] += sha
    maker = plan.keys(node="shard")
    tasks: list[NewTask] = []
    for shard in range(shards):
        if ordinals[shard]:
            blob = bytes(hashes[shard])
            key = maker.key([blob[at : at + 32] for at in range(0, len(blob), 32)])
            tasks.append(NewTask(len(tasks), key, inputs=pack(ordinals[shard].tolist()), scope=shard))
    return tasks


def _partitions(
    database: Database, context: JobContext, step: Step, op: MergeOp, shards: int
) -> Iterator[tuple[int, bytes]]:
    """(ordinal, parts) of every output of the map step, from the store where it is known."""
    scheme = scheme_of(op, shards)
    with database.read() as rows:
        steps = rows.jobs.steps(context.job.id)
        source = next(s for s in steps if s.position == context.plan_of(step).source and s.level == 0)
        leaves = [(ordinal, key, sha) for ordinal, key, sha, _ in rows.tasks.outputs(source.id) if key and sha]
    for at in range(0, len(leaves), BATCH_OUTPUTS):
        batch = leaves[at : at + BATCH_OUTPUTS]
        with database.read() as rows:
            known = rows.results.partitions(scheme, list({sha for _, _, sha in batch}))
            missing = {sha: key for _, key, sha in batch if sha not in known}
            outputs = rows.results.outputs(list(missing.values()))
        if missing:
            known |= _store(database, op, shards, {sha: outputs[key] for sha, key in missing.items()})
        yield from ((ordinal, known[sha]) for ordinal, _, sha in batch)


def scheme_of(op: MergeOp, shards: int) -> str:
    """The name under which an op's partitions into so many shards are stored."""
    return f"{op.name}/{op.version}/{shards}"


def _store(database: Database, op: MergeOp, shards: int, outputs: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Partition outputs and store their parts; gives the partitions by output hash."""
    partitions: dict[bytes, bytes] = {}
    parts: list[tuple[int, bytes, bytes]] = []
    for sha, output in outputs.items():
        found = op.partition(canonical.loads(output), shards)
        lines = bytearray()
        for shard in sorted(found):
            items = canonical.dumps([[index, item] for index, item in found[shard]])
            parts.append((shard, sha, items))
            lines += _PART.pack(shard, canonical.sha256(items))
        partitions[sha] = bytes(lines)
    with database.write() as rows:
        rows.results.add_partitions(scheme_of(op, shards), partitions, parts)
    return partitions


def _judgement(database: Database, context: JobContext, step: Step) -> list[NewTask]:
    plan = context.plan_of(step)
    assert isinstance(plan.op, MergeOp)
    with database.read() as rows:
        steps = rows.jobs.steps(context.job.id)
        shards = next(s for s in steps if s.position == step.position and s.level == 1)
        keys = rows.tasks.keys(shards.id)
        outputs = rows.results.outputs(list(keys.values()))
    ordinals: Sequence[int] = sorted(keys)
    # The key is made of the summaries' hashes: a change that does not reach them stops here.
    summaries = [canonical.digest(plan.op.summarize(canonical.loads(outputs[keys[at]]))) for at in ordinals]
    return [NewTask(0, plan.keys(node="judgement").key(summaries), inputs=pack(ordinals))]
