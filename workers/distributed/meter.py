"""What a worker process counts of its work, and what it says of itself when it is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from db.repositories.task_statements import SUSPECT_LOSSES
from pipeline.retry import ErrorClass
from pipeline.states import WAITS
from workers.clock import now_ms
from workers.execute import Done, Failed, Returned, Work
from workers.metrics import Metrics, Reading

# The words of errors and of the governor, as the metrics name them.
_CALLS = {ErrorClass.INVALID_OUTPUT: "invalid"}
_WAITS = {"concurrency": "slots", "adaptive": "slots", "cool_down": "circuit"}


class Meter:
    """Counts outcomes. `held` gives the work in flight, `fault` says what is broken, `redis` holds the queues."""

    def __init__(
        self,
        metrics: Metrics,
        *,
        held: Callable[[], Collection[Work]],
        fault: Callable[[], str | None],
        redis: Any,
        queues: Sequence[str],
    ) -> None:
        self.metrics = metrics
        self._held = held
        self._fault = fault
        self._redis = redis
        self._queues = queues
        self._beat_ms: int | None = None

    def beat(self) -> None:
        """The database took a heartbeat."""
        self._beat_ms = now_ms()

    def saw(self, outcome: Done | Failed | Returned) -> None:
        """An outcome was handed over for commit."""
        plan, took = outcome.work.plan, (outcome.ended_ms - outcome.started_ms) / 1000
        op, lane = plan.op.name, plan.lane
        if isinstance(outcome, Done):
            result = outcome.result
            self.metrics.done(op, lane, "computed")
            self.metrics.call(op, lane, "ok", seconds=took, tokens_in=result.tokens_in, tokens_out=result.tokens_out)
        elif isinstance(outcome, Returned):
            if not outcome.reason.startswith(WAITS):
                return
            reason = outcome.reason.removeprefix(WAITS)
            self.metrics.governor_wait(lane, _WAITS.get(reason, reason))
        else:
            kind = outcome.error.kind
            self.metrics.call(op, lane, _CALLS.get(kind, str(kind)), seconds=took)
            last = outcome.work.claim.attempt - outcome.work.claim.losses >= plan.attempts
            tell = self.metrics.hole if last or kind is ErrorClass.PERMANENT else self.metrics.retry
            tell(op, lane, outcome.error.code)

    def claimed(self, works: Sequence[Work]) -> None:
        """Tasks were claimed: those that lost a lease before are counted as such once more."""
        for work in works:
            if 0 < work.claim.losses <= SUSPECT_LOSSES:
                self.metrics.lease_lost(work.plan.lane)

    def reading(self) -> Reading:
        """How the process does. Never raises: what can not be read is left out."""
        fault = self._fault()
        flying: dict[str, int] = {}
        for work in self._held():
            flying[work.plan.lane] = flying.get(work.plan.lane, 0) + 1
        return Reading(
            healthy=fault is None,
            says=fault or "ok",
            in_flight=flying,
            queue_depth=self._depths(),
            heartbeat_s=None if self._beat_ms is None else self._beat_ms / 1000,
        )

    def _depths(self) -> dict[str, int]:
        try:
            with self._redis.pipeline(transaction=False) as pipe:
                for queue in self._queues:
                    pipe.llen(queue)
                return {queue: int(count) for queue, count in zip(self._queues, pipe.execute(), strict=True)}
        except Exception:  # noqa: BLE001  # a scrape must be answered whatever Redis does
            return {}
