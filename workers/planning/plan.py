"""What a job resolved once, when it was planned: its steps with their ops, models and parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from db.values import Job
from pipeline.errors import PipelineError
from pipeline.keys import Identity, KeyMaker
from pipeline.models.llm.fence import FIXED
from pipeline.models.protocol import Model, OwnPrompt, Sent
from pipeline.ops.kinds import FoldOp, MapOp, MergeOp, Op, checked_params
from pipeline.ops.registry import Registry
from pipeline.ops.values import Json
from pipeline.read.reading import SectionKind
from pipeline.spec import PipelineSpec, StepSpec

LOCAL = "local"  # the lane of ops that ask no model
JUDGEMENT, QUESTIONS = 2, 3  # levels of a merge above its shards; a round of questions is a level from 3 on


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
    on_overlong: str = "quarantine"
    sent: Sent | None = None  # what a language model is sent beside its input
    neighbours: dict[str, Json] | None = None  # heading, before, after, and summary: the position of a fold
    entities: int | None = None  # the position of the merge whose entities are shown
    entities_most: int = 0
    overlap: bool = False  # is the grain's overlap shown with its chunks?
    asks: bool = False  # does a merge ask questions after its judgement? `model` is then who answers them
    rounds: int = 0  # of these questions, at most
    slots_of: str | None = (
        None  # whose slots the shards and the judgement of such a merge run on in an embedded process
    )

    @property
    def shows(self) -> bool:
        """Are its chunks shown with something beside themselves?"""
        return self.neighbours is not None or self.entities is not None or self.overlap

    @property
    def needs(self) -> list[int]:
        """Positions of the reduces that must be complete before it can be planned."""
        summary = self.neighbours["summary"] if self.neighbours else None
        return [position for position in (self.entities, summary) if position is not None]

    @property
    def merge_levels(self) -> int:
        """Of a merge: 1 the shards, 2 the judgement, from 3 on the rounds of questions where it asks some."""
        return JUDGEMENT + self.rounds

    def is_last(self, level: int, total: int | None) -> bool:
        """Is a complete level of its reduce the last? A level of a fold, or a round of questions, without tasks is."""
        if self.kind == "fold":
            return total == 0
        return level >= self.merge_levels or (level >= QUESTIONS and total == 0)

    def at(self, level: int) -> StepPlan:
        """The step as one of its levels is worked on: of a merge that asks, only the questions know the model."""
        if not isinstance(self.op, MergeOp) or not self.asks:
            return self
        if level < QUESTIONS:
            return replace(self, model=None, model_identity=None, sent=None, limits=None, slots_of=self.model)
        assert self.op.inquiry is not None
        op = self.op.inquiry.op
        return replace(self, op=op if self.model is None else replace(op, run=None), params=dict(op.defaults))

    @property
    def lane(self) -> str:
        """Which pool of slots it runs on."""
        return self.model or self.slots_of or LOCAL

    def identity(self, *, top: bool = False, **more: Json) -> Identity:
        """What goes into the keys of its nodes; of a fold's `top` nodes."""
        params = dict(self.params)
        if isinstance(self.op, FoldOp):
            params = self.op.node_params(self.params, top=top)
        elif isinstance(self.op, MergeOp):
            params = self.op.node_params(self.params)
        if isinstance(self.op, MergeOp):  # what it may ask has a plan of its own (`at`)
            return _identity(self.op.name, self.op.version, None, params | more, None)
        return _identity(self.op.name, self.op.version, self.model_identity, params | more, self.sent)

    def keys(self, *, top: bool = False, **more: Json) -> KeyMaker:
        """The maker of its keys; of a fold's `top` nodes, or of a merge's `node` kinds."""
        return KeyMaker(self.identity(top=top, **more))


def _identity(
    op: str, version: int | str, model: str | None, params: Mapping[str, Json], sent: Sent | None
) -> Identity:
    plain = Identity(op=op, version=version, model=model, params=params)
    if sent is None:
        return plain
    # No parameter of an op has a hyphen in its name.
    llm = {"llm-sent": dict(sent.params)}
    prompt = f"{FIXED}\n{sent.prompt}"
    return replace(plain, prompt=prompt, schema=sent.schema, params=dict(params) | llm)


def leaf_identities(steps: Sequence[Mapping[str, Any]]) -> list[Identity]:
    """What those of the resolved steps put into their keys whose keys hold nothing else but a chunk's text.

    The ops need not be known here: all of it was resolved.
    """
    return [
        _identity(
            step["op"],
            step["version"],
            step["model_identity"],
            step["params"],
            Sent(**step["sent"]) if step.get("sent") else None,
        )
        for step in steps
        if step["kind"] == "map"
        and step["source"] is None
        and not any(step.get(name) for name in ("neighbours", "overlap"))
        and step.get("entities") is None
    ]


class Models(Protocol):
    """Gives models by profile name."""

    def model(self, name: str) -> Model:
        """The model; raises for an unknown name."""

    def limited(self) -> Collection[str]:
        """The names of the limits that are set."""

    def allowance(self, limits: str | None) -> Mapping[str, int | None]:
        """What the limits of that name allow: concurrency, requests_per_minute, tokens_per_minute."""

    def limits_of(self, model: str) -> str | None:
        """The limits that hold a model's calls, by name."""


def resolve(spec: PipelineSpec, ops: Registry, models: Models, default_model: str) -> list[dict[str, Json]]:
    """The steps of a pipeline with ops, versions, models' identities and parameters, as plain JSON for the job's row.

    Raises PipelineError for an unknown op, parameter or model.
    """
    resolved: list[dict[str, Json]] = []
    for position, step in enumerate(spec.step):
        op = ops.get(step.op, step.kind)
        params = checked_params(op, step.params)
        model = _model(step, op, models, default_model, params)
        sent = _sends(step, op, model, params)
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
                "params": params,
                "source": source,
                "skip": sorted(skip),
                "attempts": step.attempts,
                "timeout_s": step.timeout_s,
                "on_hole": step.on_hole,
                "limits": _limits(step, model, models),
                "on_overlong": step.on_overlong,
                "sent": None if sent is None else {"prompt": sent.prompt, "schema": sent.schema, "params": sent.params},
                **_shown(spec, step, op),
                **(_asks(op, params, model) if isinstance(op, MergeOp) else {}),
                **({"overlap": True} if spec.grain.overlap and _takes_overlap(op, sent, source) else {}),
            }
        )
    return resolved


def _model(step: StepSpec, op: Op, models: Models, default: str, params: Mapping[str, Json]) -> Model | None:
    if isinstance(op, MergeOp) and op.inquiry is not None and params[op.inquiry.option] == "model":
        asked = models.model(step.model or default)
        return asked if asked.knows(op.inquiry.op) else None
    if isinstance(op, MergeOp) or op.run is not None:
        if step.model:
            raise PipelineError(f"Step {step.name!r} names model {step.model!r}, but op {op.name!r} asks none")
        return None
    model = models.model(step.model or default)
    if not model.knows(op):
        raise PipelineError(
            f"Model {model.name!r} does not know op {op.name!r}", hint="--model, or model in the step, names another"
        )
    return model


def _asks(op: MergeOp, params: Mapping[str, Json], model: Model | None) -> dict[str, Json]:
    """The version of the op that answers a merge's questions, where it asks some: of a model, or of a rule."""
    if op.inquiry is None or params[op.inquiry.option] == "off":
        return {}
    asks = model is not None or op.inquiry.op.run is not None
    return {"asks": op.inquiry.op.version} if asks else {}


def _sends(step: StepSpec, op: Op, model: Model | None, params: Mapping[str, Json]) -> Sent | None:
    own = OwnPrompt(
        where=f"Step {step.name!r}",
        prompt=step.prompt,
        schema=step.json_schema,
        sampling={} if step.sampling is None else step.sampling.sent(),
        split=step.on_overlong == "split",
    )
    asking = op.inquiry.op if isinstance(op, MergeOp) and op.inquiry is not None else op
    if model is None or isinstance(asking, MergeOp):
        if own.prompt or own.schema is not None or own.sampling:
            raise PipelineError(f"{own.where} has a prompt, a schema or sampling, but op {op.name!r} asks no model")
        return None
    return model.sends(asking, params if asking is op else asking.defaults, own)


def _shown(spec: PipelineSpec, step: StepSpec, op: Op) -> dict[str, Json]:
    """What a step shows with its chunks, steps by position; nothing for a step that shows nothing."""
    if step.neighbours is None and step.entities is None:
        return {}
    if isinstance(op, MapOp) and op.run is not None and "context" not in op.defaults:
        raise PipelineError(
            f"Step {step.name!r} shows context, and op {op.name!r} takes none",
            hint="give the function a parameter context=None",
        )
    positions = {other.name: at for at, other in enumerate(spec.step)}
    near = None
    if step.neighbours is not None:
        named = step.neighbours.summary
        near = step.neighbours.model_dump() | {"summary": None if named is None else positions[named]}
    return {
        "neighbours": near,
        "entities": None if step.entities is None else positions[step.entities],
        "entities_most": step.entities_most,
    }


def _takes_overlap(op: Op, sent: Sent | None, source: int | None) -> bool:
    """Does an op see the grain's overlap? A language model does, and a function that takes a context; others never
    learn of it, so it is in none of their keys."""
    if not isinstance(op, MapOp) or source is not None:
        return False
    return sent is not None or (op.run is not None and "context" in op.defaults)


def _limits(step: StepSpec, model: Model | None, models: Models) -> str | None:
    """The limits a step names, else those of its model's name, if such are set."""
    known = models.limited()
    if step.limits is not None and step.limits not in known:
        allowed = ", ".join(sorted(known)) or "none are set"
        raise PipelineError(
            f"Step {step.name!r} names limits {step.limits!r}", hint=f"[limits.NAME] in octavo.toml: {allowed}"
        )
    return step.limits or (models.limits_of(model.name) if model else None)


def step_plans(job: Job, ops: Registry, *, to_read: bool = False) -> list[StepPlan]:
    """The steps of a stored job. Raises PipelineError when an op is gone or has another version than was planned.

    Only `to_read` what a job gave, another version will do: nothing is called.
    """
    return plans_from(job.resolved["steps"], ops, to_read=to_read)


def plans_from(steps: Sequence[Mapping[str, Any]], ops: Registry, *, to_read: bool = False) -> list[StepPlan]:
    """The steps that `resolve` gave. Raises PipelineError as `step_plans` does."""
    return [_step_plan(position, step, ops, to_read) for position, step in enumerate(steps)]


def _asked_version(op: Op) -> int | str | None:
    return op.inquiry.op.version if isinstance(op, MergeOp) and op.inquiry is not None else None


def _unset_options(op: MergeOp) -> dict[str, Json]:
    """The options of a merge at their defaults: a job that was planned before there was one has none."""
    return {name: op.defaults[name] for name in op.options}


def _step_plan(position: int, step: Mapping[str, Any], ops: Registry, to_read: bool) -> StepPlan:
    op = ops.get(step["op"], step["kind"])
    if op.version != step["version"] and to_read:
        op = replace(op, version=step["version"])
    elif op.version != step["version"] or ("asks" in step and _asked_version(op) != step["asks"]):
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
        params=(_unset_options(op) if isinstance(op, MergeOp) else {}) | step["params"],
        source=step["source"],
        skip=frozenset(SectionKind(kind) for kind in step["skip"]),
        attempts=step["attempts"],
        timeout_s=step["timeout_s"],
        on_hole=step["on_hole"],
        limits=step["limits"],
        on_overlong=step.get("on_overlong", "quarantine"),
        sent=Sent(**step["sent"]) if step.get("sent") else None,
        neighbours=step.get("neighbours"),
        entities=step.get("entities"),
        entities_most=step.get("entities_most", 0),
        overlap=step.get("overlap", False),
        asks="asks" in step,
        rounds=op.inquiry.rounds if "asks" in step and isinstance(op, MergeOp) and op.inquiry is not None else 0,
    )
