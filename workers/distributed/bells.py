"""Sends bells as Celery messages, and finds those that were lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from db.database import Database
from db.repositories.dispatches import Bell
from pipeline.states import StepState
from workers.clock import now_ms
from workers.distributed.dispatcher import Ring, per_message
from workers.distributed.envelope import Envelope
from workers.distributed.queues import queue_for, readable, readable_batch, readable_node
from workers.load import Loader
from workers.outputs.cite import Sections
from workers.planning.plan import StepPlan

SENTINEL = "octavo:sentinel"  # while it is there, Redis has not been emptied
SENT_AT_ONCE = 200
QUIET_MS = 5_000  # a bell that nobody answered so long may be lost; a shorter lease makes it shorter
BATCH = 1_000


class Bells:
    """Rings for tasks over the broker."""

    def __init__(self, redis: Any, provider: Callable[[str], str]) -> None:
        self._redis = redis
        self._provider = provider
        self._envelope = Envelope()

    def send(self, ring: Ring) -> None:
        """Send the messages of one job's bells. One that is lost is sent again by the reconciler."""
        for step_id, found in groupby(ring.bells, key=lambda bell: bell.step_id):
            plan = ring.context.plan_of(ring.steps[step_id])
            queue = queue_for(plan, self._provider(plan.model) if plan.model else "")
            names, most = Names(ring, plan, ring.steps[step_id].level), per_message(plan, ring.together)
            messages = list(self._messages(list(found), queue, most, names))
            for at in range(0, len(messages), SENT_AT_ONCE):
                self._redis.lpush(queue, *messages[at : at + SENT_AT_ONCE])

    def _messages(self, bells: Sequence[Bell], queue: str, most: int, names: Names) -> Iterator[bytes]:
        for at in range(0, len(bells), most):
            run = bells[at : at + most]
            words = readable_batch(names.of(run[0].ordinal), len(run))
            yield self._envelope.message(queue, [(bell.task_id, bell.dispatch) for bell in run], words)


class Names:
    """How the tasks of one step read."""

    def __init__(self, ring: Ring, plan: StepPlan, level: int) -> None:
        self._context = ring.context
        self._plan = plan
        self._level = level
        self._sections = {id(member): Sections(member.sections) for member in ring.context.selection.members}

    def of(self, ordinal: int) -> str:
        """The name of one task."""
        members = self._context.selection.members
        if self._level > 0:
            title = members[0].document.title if len(members) == 1 else f"{len(members)} documents"
            return readable_node(title, self._plan.name, self._level, ordinal)
        place = self._context.selection.locate(ordinal)
        section = self._sections[id(place.member)].at(place.page.start)
        return readable(place.member.document.title, section.title if section else "", ordinal, self._plan.name)


class Listener:
    """Finds bells that were lost: Redis was emptied, or its queues hold fewer than were rung."""

    def __init__(
        self, database: Database, loader: Loader, redis: Any, queues: Sequence[str], *, lease_ms: int = QUIET_MS
    ) -> None:
        self._database = database
        self._loader = loader
        self._redis = redis
        self._queues = queues
        self._quiet_ms = min(QUIET_MS, lease_ms)

    def lost(self) -> list[Ring]:
        """New bells for those that seem lost. A wrong guess costs a message that is dropped."""
        now = now_ms()
        flushed = bool(self._redis.set(SENTINEL, "1", nx=True))
        rings = []
        with self._database.read() as rows:
            steps = {
                job: [step for step in rows.jobs.steps(job) if step.state is not StepState.COMPLETE]
                for job, _ in rows.dispatches.running()
            }
            ids = [step.id for found in steps.values() for step in found]
            before = now if flushed else now - self._quiet_ms
            silent = rows.dispatches.silent(ids, before_ms=before)
        if not silent or not (flushed or sum(queued(self._redis, self._queues)) < silent):
            return []
        for job, found in steps.items():
            with self._database.write() as rows:
                bells = rows.dispatches.ring_again(
                    [step.id for step in found], before_ms=before, now_ms=now, limit=BATCH
                )
            if bells:
                rings.append(Ring(self._loader.context(job), {step.id: step for step in found}, bells))
        return rings


def queued(redis: Any, queues: Sequence[str]) -> list[int]:
    """How many messages wait in each queue."""
    with redis.pipeline(transaction=False) as pipe:
        for queue in queues:
            pipe.llen(queue)
        return [int(count) for count in pipe.execute()]
