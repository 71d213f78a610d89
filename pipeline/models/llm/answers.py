"""Reads a model's answer: thoughts apart, JSON found in whatever stands around it, checked against the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from json_repair import repair_json
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match

from pipeline import canonical
from pipeline.errors import PipelineError
from pipeline.models.errors import fault
from pipeline.ops.values import Json
from pipeline.retry import CallError

MOST_BYTES = 8_000_000  # of an answer that is looked at; no model writes so much
_MISSING = object()
_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\n(.*?)```", re.DOTALL)
_THOUGHT = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL)
_OPEN_THOUGHT = re.compile(r"\s*<think(?:ing)?>")
_CLOSED_ONLY = re.compile(r"^(.*?)</think(?:ing)?>", re.DOTALL)  # the template wrote the opening mark into the prompt
_REFUSALS = re.compile(
    r"\s*(?:i(?:'|’)?m sorry|i am sorry|sorry,|i can(?:'|’)?t|i cannot|i can not|i(?:'|’)?m unable|i am unable|"
    r"as an ai\b|i won(?:'|’)t|抱歉|对不起|很抱歉|我无法|我不能)",
    re.IGNORECASE,
)
_JSON_GOES_ON = re.compile(r"\s*(?:[\"\[\]{}0-9-]|true|false|null|$)")
_REFUSAL_MOST = 400  # characters: a longer text that begins so is an answer about something


@dataclass(frozen=True, slots=True)
class Said:
    """What a model wrote, its thoughts apart."""

    answer: str
    thoughts: str


def apart(content: str) -> Said:
    """Take thoughts off an answer. A thought that does not end leaves no answer."""
    thoughts: list[str] = []
    while found := _THOUGHT.match(content):
        thoughts.append(found[1])
        content = content[found.end() :]
    if _OPEN_THOUGHT.match(content):
        return Said("", content)
    if "</think" in content and (closed := _CLOSED_ONLY.match(content)):
        thoughts.append(closed[1])
        content = content[closed.end() :]
    return Said(content.strip(), "\n".join(thoughts).strip())


def refuses(answer: str) -> bool:
    """Does a short text begin as refusals do? Asked only of text that is no JSON where JSON was wanted."""
    return len(answer) <= _REFUSAL_MOST and _REFUSALS.match(answer) is not None


def check_schema(schema: Json) -> None:
    """Raise PipelineError for what is no JSON schema."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path) or "its top"
        raise PipelineError(f"The JSON schema is not right at {where}: {error.message}") from error


def read_json(answer: str, schema: Json) -> Json:
    """The JSON value of an answer. Raises CallError `refused` or `invalid_output`.

    Taken in this order: the whole text, what stands in code fences, every stretch from an opening bracket to its
    closing one. What is not quite JSON is repaired only when it is whole (a text cut off in the middle never becomes a
    result) and only where the repaired value passes the schema.
    """
    if len(answer) > MOST_BYTES:
        raise fault("invalid_output", f"The answer has {len(answer)} characters")
    validator = _validator(canonical.dumps(schema))
    told: CallError | None = None
    for text in _candidates(answer):
        for value in (_strict(text), _repaired(text)):
            if value is _MISSING:
                continue
            wrong = best_match(validator.iter_errors(value))
            if wrong is None:
                return value
            told = told or _unfit(wrong)
    if told is None and refuses(answer):
        raise fault("refused", "The model refuses to answer")
    raise told or fault("invalid_output", "The answer holds no whole JSON value")


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    return Draft202012Validator(canonical.loads(schema))


def _unfit(wrong: Any) -> CallError:
    # The rule and the place, not the value: an error may be shown where no text of the book may stand.
    where = "/".join(str(part) for part in wrong.absolute_path) or "its top"
    return fault("invalid_output", f"The answer does not fit the schema at {where}: rule {wrong.validator}")


def _candidates(answer: str) -> Iterator[str]:
    yield answer
    for found in _FENCE.finditer(answer):
        yield found[1]
    at = 0
    for _ in range(20):
        found_at = min((i for i in (answer.find("{", at), answer.find("[", at)) if i >= 0), default=-1)
        if found_at < 0:
            return
        end = closing(answer, found_at)
        if end is None:
            if _JSON_GOES_ON.match(answer, found_at + 1):
                return  # an answer that was cut off: what is whole inside it is not the answer
            at = found_at + 1
            continue
        yield answer[found_at:end]
        at = end


def closing(text: str, start: int) -> int | None:
    """The end of the bracket that opens at `start`; None when it does not close. Brackets in strings do not count."""
    depth, quoted, escaped = 0, False, False
    for index in range(start, len(text)):
        char = text[index]
        if quoted:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return index + 1
    return None


def _strict(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return _MISSING


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _repaired(text: str) -> Any:
    text = text.strip()
    if not text.startswith(("{", "[")) or closing(text, 0) is None:
        return _MISSING
    try:
        found = repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return _MISSING
    return found if isinstance(found, (dict, list)) else _MISSING
