"""What a job resolved once, when it was planned: its steps with their ops, models and parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from db.values import Job
from pipeline.errors import PipelineError
from pipeline.keys import Identity, KeyMaker
from pipeline.models.protocol import Model
from pipeline.ops.kinds import FoldOp, MergeOp, Op, checked_params
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.read.reading import SectionKind
from pipeline.spec import PipelineSpec, StepSpec

LOCAL = "local"  # the lane of ops that ask no model


@dataclass(frozen=True, kw_only=True, slots=True)
class StepPlan:
    """One step of a job, resolved."""

    position: int
    name: str
    kind: str
    op: Op
    model: str | None  # a profile's name; None when the op asks no model
    model_identity: str | None
    window: int  # tokens that one request may hold
    params: dict[str, Json]
    source: int | None  # position of the step whose outputs it takes
    skip: frozenset[SectionKind]
    attempts: int
    timeout_s: float
    on_hole: str
    limits: str | None  # the limits that hold its calls, by name

    @property
    def lane(self) -> str:
        """Which pool of slots it runs on."""
        return self.model or LOCAL

    def identity(self, **more: Json) -> Identity:
        """What goes into the keys of its nodes."""
        return Identity(
            op=self.op.name, version=self.op.version, model=self.model_identity, params=dict(self.params) | more
        )

    def keys(self, *, top: bool = False, **more: Json) -> KeyMaker:
        """The maker of its keys; of a fold's `top` nodes, or of a merge's `node` kinds."""
        if isinstance(self.op, FoldOp):
            identity = Identity(
                op=self.op.name,
                version=self.op.version,
                model=self.model_identity,
                params=self.op.node_params(self.params, top=top),
            )
            return KeyMaker(identity)
        return KeyMaker(self.identity(**more))


class Models(Protocol):
    """Gives models by profile name."""

    def model(self, name: str) -> Model:
        """The model; raises for an unknown name."""

    def limited(self) -> Collection[str]:
        """The names of the limits that are set."""


def resolve(spec: PipelineSpec, ops: Registry, models: Models, default_model: str) -> list[dict[str, Json]]:
    """The steps of a pipeline with ops, versions, models' identities and parameters, as plain JSON for the job's row.

    Raises PipelineError for an unknown op, parameter or model.
    """
    resolved: list[dict[str, Json]] = []
    for position, step in enumerate(spec.step):
        op = ops.get(step.op, step.kind)
        model = _model(step, op, models, default_model)
        source = spec.source_of(position)
        skip = set(step.skip) | (set(resolved[source]["skip"]) if source is not None else set())
        resolved.append(
            {
                "name": step.name,
                "kind": step.kind,
                "op": op.name,
                "version": op.version,
                "model": model.name if model else None,
                "model_identity": model.identity if model else None,
                "window": model.window if model else 1_000_000_000,
                "params": checked_params(op, step.params),
                "source": source,
                "skip": sorted(skip),
                "attempts": step.attempts,
                "timeout_s": step.timeout_s,
                "on_hole": step.on_hole,
                "limits": _limits(step, model, models),
            }
        )
    return resolved


def _model(step: StepSpec, op: Op, models: Models, default: str) -> Model | None:
    if isinstance(op, MergeOp) or op.run is not None:
        if step.model:
            raise PipelineError(f"Step {step.name!r} names model {step.model!r}, but op {op.name!r} asks none")
        return None
    model = models.model(step.model or default)
    if not model.knows(op.name):
        raise PipelineError(f"Model {model.name!r} does not know op {op.name!r}")
    return model


def _limits(step: StepSpec, model: Model | None, models: Models) -> str | None:
    """The limits a step names, else those of its model's name, if such are set."""
    known = models.limited()
    if step.limits is not None and step.limits not in known:
        allowed = ", ".join(sorted(known)) or "none are set"
        raise PipelineError(
            f"Step {step.name!r} names limits {step.limits!r}", hint=f"[limits.NAME] in octavo.toml: {allowed}"
        )
    return step.limits or (model.name if model and model.name in known else None)


def step_plans(job: Job, ops: Registry) -> list[StepPlan]:
    """The steps of a stored job. Raises PipelineError when an op is gone or has another version than was planned."""
    return plans_from(job.resolved["steps"], ops)


def plans_from(steps: Sequence[Mapping[str, Any]], ops: Registry) -> list[StepPlan]:
    """The steps that `resolve` gave. Raises PipelineError as `step_plans` does."""
    return [_step_plan(position, step, ops) for position, step in enumerate(steps)]


def _step_plan(position: int, step: Mapping[str, Any], ops: Registry) -> StepPlan:
    op = ops.get(step["op"], step["kind"])
    if op.version != step["version"]:
        raise PipelineError(
            f"Op {op.name!r} has changed since the job was planned",
            hint="run the pipeline again: unchanged steps are taken from the memo",
        )
    return StepPlan(
        position=position,
        name=step["name"],
        kind=step["kind"],
        op=op,
        model=step["model"],
        model_identity=step["model_identity"],
        window=step["window"],
        params=dict(step["params"]),
        source=step["source"],
        skip=frozenset(SectionKind(kind) for kind in step["skip"]),
        attempts=step["attempts"],
        timeout_s=step["timeout_s"],
        on_hole=step["on_hole"],
        limits=step["limits"],
    )
