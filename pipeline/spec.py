"""Pipelines as people write them: one TOML file of steps, checked field by field."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from pipeline import canonical
from pipeline.errors import PipelineError
from pipeline.read.reading import SectionKind

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]


class GrainSpec(BaseModel):
    """How the pipeline wants its documents cut."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name = "default"
    limit: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    overlap: Annotated[int, Field(ge=0)] = 0
    heading_level: Annotated[int, Field(ge=0, le=99)] = 1

    @model_validator(mode="after")
    def _overlap_below_limit(self) -> GrainSpec:
        if self.overlap >= self.limit:
            raise ValueError(f"overlap {self.overlap} must be below limit {self.limit}")
        return self


class SamplingSpec(BaseModel):
    """How a language model chooses its words. What is not set is not sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: Annotated[float | None, Field(ge=0, le=10)] = None
    top_p: Annotated[float | None, Field(gt=0, le=1)] = None
    top_k: Annotated[int | None, Field(ge=1)] = None
    min_p: Annotated[float | None, Field(ge=0, le=1)] = None
    repetition_penalty: Annotated[float | None, Field(gt=0, le=10)] = None
    presence_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    frequency_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    seed: Annotated[int | None, Field(ge=0, lt=2**63)] = None
    stop: tuple[str, ...] | None = None
    max_tokens: Annotated[int | None, Field(ge=1)] = None  # of the answer; without it the profile's output_reserve

    def sent(self) -> dict[str, Any]:
        """What is set, as plain JSON."""
        return self.model_dump(mode="json", exclude_none=True)


class NeighboursSpec(BaseModel):
    """What a step shows of a chunk's neighbourhood."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    heading: bool = False  # the titles that lead to its section
    before: Annotated[int, Field(ge=0, le=100_000)] = 0  # characters of the end of the chunk before
    after: Annotated[int, Field(ge=0, le=100_000)] = 0  # characters of the beginning of the next
    summary: Name | None = None  # a fold step above: what it made of the section that the chunk belongs to


class StepSpec(BaseModel):
    """One step: a map over chunks, or a reduce (merge, fold) over outputs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    kind: Literal["map", "merge", "fold"]
    op: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    after: Name | None = None  # the step whose outputs it takes; None: a map takes chunks, a reduce the step before
    model: str | None = None  # a profile's name; None: the run's model
    params: dict[str, Any] = Field(default_factory=dict)
    skip: tuple[SectionKind, ...] = ()  # kinds of section whose chunks the step leaves out
    attempts: Annotated[int, Field(ge=1, le=100)] = 4
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 600
    limits: str | None = None  # [limits.NAME] of octavo.toml that hold its calls; None: those of its model's name
    on_hole: Literal["wait", "fail", "continue"] = "continue"
    on_overlong: Literal["quarantine", "split", "fail"] = "quarantine"  # an input that does not fit the model's window
    prompt: str | None = None  # a template, for op "prompt"
    json_schema: dict[str, Any] | None = None  # of the answer, for op "prompt"
    sampling: SamplingSpec | None = None  # goes before the profile's
    neighbours: NeighboursSpec | None = None
    entities: Name | None = None  # a glossary's merge step above: its chosen entities go with chunks that mention them
    entities_most: Annotated[int, Field(ge=1, le=1000)] = 24


class PipelineSpec(BaseModel):
    """A pipeline: a grain and ordered steps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    description: str = ""
    grain: GrainSpec = GrainSpec()
    step: Annotated[tuple[StepSpec, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _steps_fit(self) -> PipelineSpec:
        names: list[str] = []
        kinds: dict[str, str] = {}
        for number, step in enumerate(self.step):
            if step.name in kinds:
                raise ValueError(f"two steps are called {step.name!r}")
            if step.after is not None and step.after not in kinds:
                raise ValueError(f"step {step.name!r} comes after {step.after!r}, allowed: {names or 'nothing yet'}")
            source = self.source_of(number)
            if step.kind != "map" and (source is None or self.step[source].kind != "map"):
                raise ValueError(f"step {step.name!r} is a {step.kind}: it must come after a map")
            if step.kind == "map" and source is not None and self.step[source].kind != "map":
                raise ValueError(f"step {step.name!r} is a map: it can come after a map only")
            self._shown_fits(step, kinds)
            names.append(step.name)
            kinds[step.name] = step.kind
        return self

    @staticmethod
    def _shown_fits(step: StepSpec, kinds: dict[str, str]) -> None:
        """What a step shows with its chunks comes from steps above it."""
        summary = step.neighbours.summary if step.neighbours else None
        for field, named, kind in (("entities", step.entities, "merge"), ("summary", summary, "fold")):
            if named is not None and kinds.get(named) != kind:
                raise ValueError(f"step {step.name!r} takes {field} from {named!r}, which is no {kind} step above it")
        if (step.neighbours or step.entities) and (step.kind != "map" or step.after is not None):
            raise ValueError(f"step {step.name!r} shows context: it must be a map over chunks, without after")

    def source_of(self, number: int) -> int | None:
        """Position of the step whose outputs step `number` takes; None when it takes chunks."""
        step = self.step[number]
        if step.after is not None:
            return next((i for i, other in enumerate(self.step) if other.name == step.after), None)
        return None if step.kind == "map" or number == 0 else number - 1

    def skipping_boilerplate(self, wanted: bool) -> PipelineSpec:
        """The same pipeline, whose maps of chunks leave out licence blocks and site banners, or take them too."""
        steps = []
        for number, step in enumerate(self.step):
            if step.kind == "map" and self.source_of(number) is None:
                others = tuple(kind for kind in step.skip if kind is not SectionKind.BOILERPLATE)
                skip = (*others, SectionKind.BOILERPLATE) if wanted else others
                step = step if set(skip) == set(step.skip) else step.model_copy(update={"skip": skip})
            steps.append(step)
        return self.model_copy(update={"step": tuple(steps)})

    def canonical(self) -> dict[str, Any]:
        """Plain JSON, for the database and its digest."""
        return self.model_dump(mode="json")

    def digest(self) -> bytes:
        """SHA-256 of the canonical form."""
        return canonical.digest(self.canonical())


def parse(text: str, where: str) -> PipelineSpec:
    """Read a pipeline from TOML. `where` names it in errors. Raises PipelineError."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PipelineError(f"{where} is not TOML: {error}", hint="mend the line it names") from error
    try:
        return PipelineSpec.model_validate(data)
    except ValidationError as error:
        raise PipelineError(
            f"{where}: {describe(error, PipelineSpec)}",
            hint="a pipeline has name, description, [grain] and [[step]]; see the guide",
        ) from error


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """The first fault of a pydantic error about `model` in one line: key, what is wrong, what is allowed."""
    first = error.errors(include_url=False)[0]
    key = ", ".join(f"number {part + 1}" if isinstance(part, int) else part for part in first["loc"])
    text = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        text = f"there is no such key, allowed: {', '.join(_keys_at(model, first['loc'][:-1]))}"
    rest = error.error_count() - 1
    return (f"{key}: {text}" if key else text) + (f" (and {rest} more)" if rest else "")


def _keys_at(model: type[BaseModel], where: tuple[int | str, ...]) -> list[str]:
    """The keys that the table at `where` may have."""
    for part in where:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = [item for item in (annotation, *get_args(annotation)) if _is_model(item)]
        model = inner[0] if inner else model
    return list(model.model_fields)


def _is_model(item: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(item, type) and issubclass(item, BaseModel)


def builtin_names() -> list[str]:
    """Names of the pipelines that come with Octavo."""
    folder = resources.files("pipeline") / "pipelines"
    return sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml"))


def builtin(name: str) -> PipelineSpec:
    """A built-in pipeline by name, and nothing else: for callers who may not name files. Raises PipelineError."""
    if name not in builtin_names():
        raise PipelineError(f"There is no pipeline {name!r}", hint=f"built in: {', '.join(builtin_names())}")
    return load(name)


def load(name: str) -> PipelineSpec:
    """A built-in pipeline by name, or one from a TOML file by path. Raises PipelineError."""
    if name in builtin_names():
        text = (resources.files("pipeline") / "pipelines" / f"{name}.toml").read_text(encoding="utf-8")
        return parse(text, f"pipeline {name}")
    path = Path(name)
    if path.suffix != ".toml" and not path.is_file():
        raise PipelineError(
            f"There is no pipeline {name!r}", hint=f"built in: {', '.join(builtin_names())}; or give a .toml file"
        )
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError as error:
        raise PipelineError(f"There is no pipeline file {name!r}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"The pipeline file {name!r} can not be read: {error}") from error
