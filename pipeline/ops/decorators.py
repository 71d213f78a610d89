"""How users write ops of their own in Python."""

from __future__ import annotations

import hashlib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pipeline import canonical
from pipeline.errors import PipelineError
from pipeline.models.errors import fault
from pipeline.ops.asking import Ask, Material
from pipeline.ops.kinds import SPANS, FoldOp, MapOp, MergeOp, Op, Params, Part, Sees
from pipeline.ops.llm.others import checked_quotes
from pipeline.ops.values import Json, OpOutput

MARK = "__octavo_op__"
F = TypeVar("F", bound=Callable[..., Any])


def map_op(
    *, name: str | None = None, version: int | str | None = None, batch: int = 1, sees: Sees = "paragraph"
) -> Callable[[F], F]:
    """Make a function an op over chunks: it takes the chunk's text and keyword parameters, and gives JSON or OpOutput.

    Without a version the hash of the function's source is its version, so that editing it re-derives its results.
    `batch` says that so many chunks are cheaper to do than one message is to send: workers then get several at a time,
    each still its own row, key, checkpoint, retry and hole. `sees` is the least span that it must have before it whole:
    a sentence, a paragraph or a chapter; `octavo grain` proposes no finer grain.
    """
    if sees not in SPANS:
        raise PipelineError(f"An op can not see a {sees!r} whole", hint=f"allowed: {', '.join(SPANS)}")

    def mark(function: F) -> F:
        def run(text: str, params: Params) -> OpOutput:
            return _output(function(text, **params))

        op = MapOp(
            name=name or function.__name__,
            version=_version(function, version),
            defaults=_defaults(function),
            run=run,
            batch=batch,
            sees=sees,
        )
        setattr(function, MARK, op)
        return function

    return mark


def reduce_op(
    *, name: str | None = None, version: int | str | None = None, key: Callable[[Json], str] | None = None
) -> Callable[[F], F]:
    """Make a function an op over outputs.

    Without `key` it folds: it takes the list of children's outputs in reading order and gives one output. With `key` it
    merges: the items of all outputs (the output itself when it is a list, else its `items`) that have the same key come
    to it together, in reading order, and it gives the merged item.
    """

    def mark(function: F) -> F:
        identity = name or function.__name__
        op: Op
        if key is None:

            def run(children: Sequence[Json], params: Params) -> OpOutput:
                return _output(function(list(children), **params))

            op = FoldOp(name=identity, version=_version(function, version), defaults=_defaults(function), run=run)
        else:
            op = _keyed(identity, _version(function, version, key), function, key)
        setattr(function, MARK, op)
        return function

    return mark


def ops_of(module: types.ModuleType) -> list[Op]:
    """The ops a module defines or imports. Raises PipelineError when it has none."""
    found: list[Op] = [getattr(value, MARK) for value in vars(module).values() if hasattr(value, MARK)]
    if not found:
        raise PipelineError(
            f"Module {module.__name__!r} has no ops", hint="decorate a function with octavo.map_op or octavo.reduce_op"
        )
    return found


def _keyed(name: str, version: int | str, function: Callable[..., Json], key: Callable[[Json], str]) -> MergeOp:
    def partition(output: Json, shards: int, _params: Params) -> Mapping[int, Part]:
        parts: dict[int, list[tuple[int, Json]]] = {}
        for index, item in enumerate(_items(name, output)):
            shard = int.from_bytes(canonical.sha256(_key_of(name, key, item).encode())[:8]) % shards
            parts.setdefault(shard, []).append((index, item))
        return parts

    def merge(parts: Sequence[Part], params: Params) -> Json:
        groups: dict[str, list[tuple[int, int, Json]]] = {}
        for number, part in enumerate(parts):
            for index, item in part:
                groups.setdefault(key(item), []).append((number, index, item))
        entries = [
            {
                "key": value,
                "count": len(found),
                "value": function([item for _, _, item in found], **params),
                "cites": [[number, index] for number, index, _ in found],
            }
            for value, found in sorted(groups.items())
        ]
        return {"entries": entries}

    return MergeOp(
        name=name,
        version=version,
        partition=partition,
        merge=merge,
        summarize=lambda value: len(value["entries"]),
        resolve=lambda summaries, _params: {"entries": sum(summaries)},
        defaults=_defaults(function),
    )


def _items(name: str, output: Json) -> list[Json]:
    items = output.get("items") if isinstance(output, dict) else output
    if not isinstance(items, list):
        raise PipelineError(
            f"Op {name!r} merges items, but an output of the step before has none: {_short(output)}",
            hint="that step must give a list, or an object with a list called items",
        )
    return items


def _key_of(name: str, key: Callable[[Json], str], item: Json) -> str:
    try:
        found = key(item)
    except Exception as error:  # the key function is a user's code: whatever it raises is said with the op's name
        raise PipelineError(
            f"The key of op {name!r} can not be found for {_short(item)}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, str):
        raise PipelineError(f"The key of op {name!r} must be a text, not {found!r} for {_short(item)}")
    return found


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _output(value: Any) -> OpOutput:
    return value if isinstance(value, OpOutput) else OpOutput(value=value)


def _defaults(function: Callable[..., Any]) -> dict[str, Json]:
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters[1:]:
        if parameter.default is inspect.Parameter.empty:
            raise PipelineError(
                f"Parameter {parameter.name!r} of op {function.__name__!r} needs a default",
                hint="the first parameter is the input, all others are settings with defaults",
            )
    return {parameter.name: parameter.default for parameter in parameters[1:]}


def _version(function: Callable[..., Any], version: int | str | None, *more: Callable[..., Any]) -> int | str:
    if version is not None:
        return version
    digest = hashlib.sha256()
    for part in (function, *more):
        digest.update(_source(part).encode())
    return digest.hexdigest()


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError) as error:
        raise PipelineError(
            f"The source of op {getattr(function, '__name__', function)!r} can not be found",
            hint="give the op a version= of its own",
        ) from error


def prompt_op(
    *,
    prompt: str,
    schema: Any = None,
    name: str | None = None,
    version: int | str | None = None,
    join: Callable[[list[Json]], Json] | None = None,
) -> Callable[[F], F]:
    """Make a function an op over chunks that a language model answers: it takes the answer, and gives what is kept.

    `prompt` is a template that sees `text` and the function's settings (its parameters after the first). `schema` is
    the JSON schema of the answer, or a pydantic model, whose instance the function then gets; without one it gets text.
    Quotes in the answer are checked as those of op `prompt` are, unless the function gives an OpOutput of its own.
    `join` puts the kept values of an input that had to be split together; without it such an input is a hole.
    """

    def mark(function: F) -> F:
        identity = name or function.__name__
        defaults = _defaults(function)
        model = schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None

        def finish(answer: Json, material: Material) -> OpOutput:
            given = answer if model is None else _modelled(model, answer)
            kept = function(given, **material.params)
            if isinstance(kept, BaseModel):
                kept = kept.model_dump(mode="json")
            return kept if isinstance(kept, OpOutput) else checked_quotes(kept, material)

        def joined(outputs: Sequence[OpOutput]) -> OpOutput:
            assert join is not None
            return OpOutput(value=join([output.value for output in outputs]))

        ask = Ask(
            prompt=prompt,
            schema=schema if model is None else model.model_json_schema(),
            finish=finish,
            join=joined if join is not None else None,
            version=_version(function, version, *([join] if join is not None else [])),
        )
        op = MapOp(name=identity, version=_version(function, version), defaults=defaults, ask=ask)
        setattr(function, MARK, op)
        return function

    return mark


def _modelled(model: type[BaseModel], answer: Json) -> BaseModel:
    try:
        return model.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = "/".join(str(part) for part in first["loc"]) or "its top"
        raise fault(
            "invalid_output", f"The answer does not fit {model.__name__} at {where}: {first['type']}"
        ) from error
