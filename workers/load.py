"""Load what claimed tasks need: a chunk's text with what stands around it, or the outputs of a node's children."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import overload
from uuid import UUID

from db.database import Database
from db.layout import unpack
from db.values import Claim, Step
from pipeline.errors import NotFoundError, OctavoError, PipelineError, StorageError
from pipeline.ops.kinds import MergeOp
from pipeline.ops.registry import Registry
from pipeline.surroundings import Surroundings
from workers.clock import now_ms
from workers.execute import Work
from workers.planning.context import JobContext, load_context
from workers.planning.partitions import Feed, shards_for
from workers.planning.plan import QUESTIONS, StepPlan
from workers.planning.questions import shown
from workers.planning.surround import Surrounder

log = logging.getLogger(__name__)

STRANGE_S = 2.0  # a job whose ops are not known here is looked at again after so long


class NodeOutputs(Sequence[bytes]):
    """The outputs of nodes by their keys, each read when it is asked for: the shards of a merge are never all here.

    Raises ConnectionError where the database does not answer: the call that asks is tried again.
    """

    def __init__(self, database: Database, keys: Sequence[bytes]) -> None:
        self._database = database
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> list[bytes]: ...
    def __getitem__(self, at: int | slice) -> bytes | list[bytes]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        try:
            with self._database.read() as rows:
                return rows.results.outputs([self._keys[at]])[self._keys[at]]
        except StorageError as error:
            raise ConnectionError(error.message) from error


class Loader:
    """Loads what claimed tasks need, a batch at a time; keeps the contexts of jobs and steps it has seen."""

    def __init__(self, database: Database, ops: Registry) -> None:
        self._database = database
        self._ops = ops
        self._jobs: dict[UUID, JobContext] = {}
        self._steps: dict[int, Step] = {}
        self._strange: dict[UUID, tuple[float, OctavoError]] = {}  # jobs that can not be done here, and till when
        self.learned: Callable[[], None] = lambda: None  # called when a job was loaded, and with it maybe ops

    def context(self, job_id: UUID) -> JobContext:
        """The context of a job. Raises PipelineError where an op of it is not known here, NotFoundError where a
        document of it is gone; both are looked at again after a while.
        """
        if job_id not in self._jobs:
            until, error = self._strange.get(job_id, (0.0, None))
            if error is not None and time.monotonic() < until:
                raise error
            try:
                self._jobs[job_id] = load_context(self._database, self._ops, job_id)
            except (PipelineError, NotFoundError) as found:
                if error is None:
                    log.warning("job %s can not be done here: %s (%s)", job_id, found.message, found.hint)
                self._strange[job_id] = (time.monotonic() + STRANGE_S, found)
                raise
            self._strange.pop(job_id, None)
            self.learned()
        return self._jobs[job_id]

    def trouble(self, job_id: UUID) -> OctavoError | None:
        """Why the job can not be done here; None: it can."""
        try:
            self.context(job_id)
        except (PipelineError, NotFoundError) as error:
            return error
        return None

    def knows_step(self, step_id: int) -> bool:
        """Can the job of a step be done here?"""
        return self.trouble(self.step(step_id).job_id) is None

    def marks(self) -> list[str]:
        """name@version of each op that is known here."""
        return self._ops.marks()

    def keep(self, jobs: Collection[UUID]) -> None:
        """Forget all jobs but these: a worker lives for months."""
        for kept in (self._jobs, self._strange):
            for job_id in [job_id for job_id in kept if job_id not in jobs]:
                del kept[job_id]
        for step_id in [step_id for step_id, step in self._steps.items() if step.job_id not in jobs]:
            del self._steps[step_id]

    def step(self, step_id: int) -> Step:
        """A step; its state may be old."""
        if step_id not in self._steps:
            with self._database.read() as rows:
                self._steps[step_id] = rows.jobs.step(step_id)
        return self._steps[step_id]

    def load(self, claims: Sequence[Claim], *, nodes: bool = True) -> list[Work]:
        """The work of claims, in order. Without `nodes`, those of reduces are left for `whole` to load one by one."""
        maps = [claim for claim in claims if claim.page_id is not None]
        works = {work.claim.id: work for work in self._maps(maps)}
        load = self._node if nodes else self._bare
        works |= {claim.id: load(claim) for claim in claims if claim.page_id is None}
        return [works[claim.id] for claim in claims]

    def whole(self, work: Work) -> Work:
        """The work with all it needs."""
        return work if work.whole else replace(self._node(work.claim), begun_ms=work.begun_ms)

    def _bare(self, claim: Claim) -> Work:
        step = self.step(claim.step_id)
        return Work(claim, step, self.context(step.job_id).plan_of(step), now_ms(), whole=False)

    def _maps(self, claims: Sequence[Claim]) -> list[Work]:
        if not claims:
            return []
        with self._database.read() as rows:
            texts = rows.tasks.texts([claim.id for claim in claims])
        shown = self._shown(claims)
        works = []
        begun = now_ms()
        for claim in claims:
            step = self.step(claim.step_id)
            context = self.context(step.job_id)
            plan, feeds = context.plan_of(step), context.feeds[step.position]
            before = self._before(step, plan, claim) if plan.source is not None else ()
            text, tokens = texts[claim.id]
            more = shown.get(claim.id)
            document = str(self.context(step.job_id).selection.locate(claim.ordinal).member.document.id)
            works.append(
                Work(claim, step, plan, begun, text, tokens, before, feeds=feeds, shown=more, document=document)
            )
        return works

    def _shown(self, claims: Sequence[Claim]) -> dict[int, Surroundings]:
        """What chunks of steps that show something are shown with, by task."""
        by_step: dict[int, list[Claim]] = {}
        for claim in claims:
            step = self.step(claim.step_id)
            if self.context(step.job_id).plan_of(step).shows:
                by_step.setdefault(step.id, []).append(claim)
        found: dict[int, Surroundings] = {}
        for step_id, mine in by_step.items():
            step = self.step(step_id)
            context = self.context(step.job_id)
            with self._database.read() as rows:
                made = Surrounder(context, context.plan_of(step)).of(rows, {item.ordinal: item.inputs for item in mine})
            found |= {item.id: made[item.ordinal] for item in mine}
        return found

    def _before(self, step: Step, plan: StepPlan, claim: Claim) -> tuple[bytes, ...]:
        """The output that a map after a map takes beside the chunk."""
        with self._database.read() as rows:
            source = self._level(rows.jobs.steps(step.job_id), plan.source, 0)
            keys = rows.tasks.keys(source.id, [claim.ordinal])
            return tuple(rows.results.outputs(list(keys.values())).values())

    @staticmethod
    def _level(steps: Sequence[Step], position: int | None, level: int) -> Step:
        return next(step for step in steps if step.position == position and step.level == level)

    def _node(self, claim: Claim) -> Work:
        step = self.step(claim.step_id)
        context = self.context(step.job_id)
        plan = context.plan_of(step)
        if isinstance(plan.op, MergeOp) and step.level == 1:
            return Work(claim, step, plan, now_ms(), children=self._parts(claim, context, step, plan, plan.op))
        if plan.kind == "merge" and step.level >= QUESTIONS:
            with self._database.read() as rows:
                text, about = shown(rows, context, step, claim.inputs)
            return Work(claim, step, plan, now_ms(), text, children=(about,))
        if plan.kind == "merge":
            return Work(claim, step, plan, now_ms(), children=self._shards(claim, step))
        refs = list(zip(*unpack(claim.inputs or b"", 2), strict=True))
        with self._database.read() as rows:
            steps = rows.jobs.steps(step.job_id)
            keys: dict[tuple[int, int], bytes] = {}
            for level in sorted({level for level, _ in refs}):
                source = self._level(steps, plan.position if level else plan.source, level)
                wanted = [ordinal for at, ordinal in refs if at == level]
                keys |= {(level, ordinal): key for ordinal, key in rows.tasks.keys(source.id, wanted).items()}
            outputs = rows.results.outputs(list(set(keys.values())))
        children = tuple(outputs[keys[ref]] for ref in refs)
        top = context.forest.is_top(claim.scope or 0)
        return Work(claim, step, plan, now_ms(), children=children, top=top)

    def _parts(self, claim: Claim, context: JobContext, step: Step, plan: StepPlan, op: MergeOp) -> tuple[bytes, ...]:
        """The parts of one merge shard, in reading order: its own rows only, not the outputs they come from."""
        (ordinals,) = unpack(claim.inputs or b"", 1)
        scheme = Feed(op, shards_for(context.selection.total), plan.params).scheme
        with self._database.read() as rows:
            source = self._level(rows.jobs.steps(step.job_id), plan.source, 0)
            parts = rows.results.parts(source.id, scheme, claim.scope or 0, ordinals)
        return tuple(parts[ordinal] for ordinal in ordinals)

    def _shards(self, claim: Claim, step: Step) -> NodeOutputs:
        """The shards that a judgement is made of, in order."""
        (ordinals,) = unpack(claim.inputs or b"", 1)
        with self._database.read() as rows:
            keys = rows.tasks.keys(self._level(rows.jobs.steps(step.job_id), step.position, 1).id, ordinals)
        return NodeOutputs(self._database, [keys[ordinal] for ordinal in ordinals])
