"""Works and plans for tests of the hot path."""

from __future__ import annotations

from uuid import UUID

from db.values import Claim, NewResult, Step
from pipeline.ops.kinds import MapOp
from pipeline.ops.values import OpOutput
from pipeline.states import StepState
from workers.execute import Done, Work
from workers.planning.plan import StepPlan

STEP = Step(
    id=1, job_id=UUID(int=1), position=0, level=0, name="m", state=StepState.RUNNING, planned=0, total=None
)  # fmt: skip


def plan(batch: int = 1) -> StepPlan:
    """A map over chunks."""
    op = MapOp(name="echo", version=1, run=lambda text, params: OpOutput(value=text), batch=batch)
    return StepPlan(
        position=0, name="m", kind="map", op=op, model=None, model_identity=None, window=1, params={}, source=None,
        skip=frozenset(), attempts=1, timeout_s=60, on_hole="continue", limits=None,
    )  # fmt: skip


PLAN = plan()


def work(task_id: int, of: StepPlan = PLAN) -> Work:
    """A claimed task."""
    key = task_id.to_bytes(32, "big")
    claim = Claim(task_id, 1, task_id, key, 1, 1, 0, 1, task_id, None, None)
    return Work(claim, STEP, of, 0, text="text")


def done(task_id: int) -> Done:
    """Its outcome."""
    given = work(task_id)
    return Done(given, NewResult(given.claim.key, "echo", b"1", b"h" * 32, b"", 0, 0, 0, 1, ""), 1, 2)
