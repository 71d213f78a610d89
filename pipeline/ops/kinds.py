"""The kinds of op: a map takes one chunk, a fold takes outputs in order, a merge takes items by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from pipeline.errors import PipelineError
from pipeline.ops.asking import Ask
from pipeline.ops.asking import Params as Params
from pipeline.ops.values import Json, OpOutput

Sees = Literal["sentence", "paragraph", "chapter"]
SPANS: tuple[str, ...] = get_args(Sees)


@dataclass(frozen=True, kw_only=True, slots=True)
class MapOp:
    """Takes one chunk's text. With `run` None the step's model answers; `ask` is how a language model is asked."""

    name: str
    version: int | str
    defaults: Params = field(default_factory=dict)
    run: Callable[[str, Params], OpOutput] | None = None
    output: str = "chunks"  # how a pipeline that ends here is shown
    batch: int = 1  # tasks that one message may ring for; more than one where a call is cheaper than a message
    ask: Ask | None = None
    sees: Sees = "paragraph"  # the least span that it must have before it whole: a grain should not be finer
    points: bool | None = None  # do its items name places within the chunk? None: its results tell
    free: bool = False  # takes parameters of any name, for a prompt of the user's own


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldOp:
    """Takes the outputs of consecutive children. With `run` None the step's model answers.

    `top_params` name the parameters of the book's own node: `top_sentences` becomes its `sentences`.
    """

    name: str
    version: int | str
    defaults: Params = field(default_factory=dict)
    run: Callable[[Sequence[Json], Params], OpOutput] | None = None
    output: str = "fold"
    ask: Ask | None = None

    def node_params(self, params: Params, *, top: bool) -> dict[str, Json]:
        """The parameters of one node: those of the book's own node where `top`."""
        plain = {name: value for name, value in params.items() if not name.startswith("top_")}
        if top:
            plain |= {name.removeprefix("top_"): value for name, value in params.items() if name.startswith("top_")}
        return plain


MOST_QUESTIONS = "most_questions"
QUESTIONS_USUAL, QUESTIONS_ALLOWED = 500, range(100_001)
"""The option of a merge that caps its questions, and so its calls: its default, and the values it may have."""

Part = Sequence[tuple[int, Json]]  # (item index in its leaf output, item)


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """A merge as far as its judgement: what it finds its questions in."""

    values: Sequence[Json]  # of the shards; each may be loaded when it is asked for
    leaves: Sequence[Sequence[int]]  # of each shard: the ordinals of the leaves its parts come from
    resolved: Json  # the judgement
    answered: Sequence[tuple[tuple[tuple[int, int], ...], Json]] = ()  # (places, answer) of rounds of questions before


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One thing that a merge asks. `about` holds no position; `places` are the (leaf, item) whose words are shown."""

    about: Json
    places: tuple[tuple[int, int], ...]  # item -1: the leaf's whole text


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What stands at a place: a leaf's text, and the part of it that the item is."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Inquiry:
    """What a merge may ask after its judgement, each question a task of its own with its own key.

    `option` is the merge's option that says who answers: `off` nobody, `rule` the op's own `run`, `model` the step's
    model where that is a language model, else the rule; an op without `run` is asked of language models alone.
    `find` gives the questions in an order of its own, `shown(about, sources)` the text that the op is asked about, None
    where the places show nothing to be judged. No more than `characters` are shown, and no more is asked than the
    merge's option MOST_QUESTIONS says. With several `rounds`, `find` is asked again with the answers of those before.
    """

    option: str
    op: MapOp
    find: Callable[[Merged], Iterable[Question]]
    shown: Callable[[Json, Sequence[Source]], str | None]
    rounds: int = 1
    characters: int = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeOp:
    """Takes the items of all outputs, partitioned by canonical key into shards, and judges them as a whole.

    `partition(output, shards, params)` gives the parts of one leaf output by shard; `merge(parts, params)` one shard's
    value; `summarize(shard value)` what the judgement needs of it; `resolve(summaries, params)` the judgement.

    `options` are parameters with the values that each may have. At their default they are in no key and no scheme, so
    that what was merged before there was such an option still counts. `keying` are those of them by which items are
    keyed and partitioned.
    """

    name: str
    version: int | str
    partition: Callable[[Json, int, Params], Mapping[int, Part]]
    merge: Callable[[Sequence[Part], Params], Json]
    summarize: Callable[[Json], Json]
    resolve: Callable[[Sequence[Json], Params], Json]
    defaults: Params = field(default_factory=dict)
    output: str = "merge"
    options: Mapping[str, Sequence[Json]] = field(default_factory=dict)
    keying: frozenset[str] = frozenset()
    inquiry: Inquiry | None = None

    def set_options(self, params: Params, *, keying: bool = False) -> dict[str, Json]:
        """The options that are not at their default; only those by which items are keyed where `keying`."""
        names = self.keying if keying else self.options.keys()
        return {name: params[name] for name in sorted(names) if params[name] != self.defaults[name]}

    def node_params(self, params: Params) -> dict[str, Json]:
        """The parameters that are in the keys of shards and judgement."""
        plain = {name: value for name, value in params.items() if name not in self.options}
        return plain | self.set_options(params, keying=True)


Op = MapOp | FoldOp | MergeOp
Asking = MapOp | FoldOp  # those that may ask a model

_KIND_NAMES: dict[type, str] = {MapOp: "map", FoldOp: "fold", MergeOp: "merge"}


def kind_of(op: Op) -> str:
    """The step kind that an op serves."""
    return _KIND_NAMES[type(op)]


def checked_params(op: Op, params: Params) -> dict[str, Json]:
    """The op's defaults with the step's parameters over them. Raises PipelineError for one the op does not know."""
    if isinstance(op, MapOp) and op.free:
        for name in params:
            if not name.isidentifier():
                raise PipelineError(f"Parameter {name!r} of op {op.name!r} is no name that a prompt can use")
        return dict(op.defaults) | dict(params)
    for name, value in params.items():
        if name not in op.defaults:
            allowed = ", ".join(sorted(op.defaults)) or "none"
            raise PipelineError(f"Op {op.name!r} has no parameter {name!r}", hint=f"allowed: {allowed}")
        default = op.defaults[name]
        if default is not None and not _alike(default, value):
            raise PipelineError(f"Parameter {name!r} of op {op.name!r} must be {type(default).__name__}, not {value!r}")
        choices = op.options.get(name) if isinstance(op, MergeOp) else None
        if choices is not None and value not in choices:
            allowed = f"{choices[0]} to {choices[-1]}" if isinstance(choices, range) else ", ".join(map(str, choices))
            raise PipelineError(f"Parameter {name!r} of op {op.name!r} is {value!r}", hint=f"allowed: {allowed}")
    return dict(op.defaults) | {name: _like(op.defaults[name], value) for name, value in params.items()}


def _alike(default: Json, value: Json) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    return isinstance(value, (int, float)) if isinstance(default, float) else isinstance(value, type(default))


def _like(default: Json, value: Json) -> Json:
    # 1 and 1.0 mean the same to a float parameter and must make the same key.
    return float(value) if isinstance(default, float) else value
