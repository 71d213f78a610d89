"""Prompts: rendered in a sandbox, the book's text fenced off as data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, meta
from jinja2.exceptions import TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pipeline.errors import PipelineError
from pipeline.models.llm.fence import AROUND, CLOSING_JSON, CLOSING_SCHEMA, CLOSING_TEXT, SYSTEM, TRY, fenced
from pipeline.ops.values import Json


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: str
    content: str


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(  # a prompt is no HTML
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
    )


@lru_cache(maxsize=256)
def _compiled(template: str) -> Any:
    return _environment().from_string(template)


def check_template(template: str, known: Sequence[str], where: str) -> None:
    """Raise PipelineError for a template that is not right, names what it will not see, or does not use the text."""
    try:
        used = meta.find_undeclared_variables(_environment().parse(template))
    except TemplateSyntaxError as error:
        raise PipelineError(f"{where}: line {error.lineno} of the prompt is not right: {error.message}") from error
    unknown = sorted(used - set(known))
    if unknown:
        raise PipelineError(f"{where}: the prompt names {unknown[0]!r}", hint=f"known: {', '.join(sorted(known))}")
    if not used & {"text", "before", "children"}:
        raise PipelineError(f"{where}: the prompt does not use the chunk", hint="write {{ text }} where it is to stand")


def messages(
    template: str,
    values: Mapping[str, Json],
    *,
    schema: Json,
    show_schema: bool,
    attempt: int,
    system_role: bool = True,
    shown: str = "",
) -> list[Message]:
    """The chat that asks for one answer. Its length does not depend on the attempt below the tenth.

    Raises PipelineError when the template can not be rendered.
    """
    try:
        asked = _compiled(template).render(values)
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise PipelineError(f"The prompt can not be rendered: {type(error).__name__}: {error}") from error
    around = f"{AROUND.format(shown=fenced(shown))}\n" if shown else ""
    body = f"{around}{asked.strip()}\n\n{closing_line(schema, show_schema)}".rstrip()
    # Not at the end: a small model would say it after us.
    system = f"{SYSTEM} {TRY.format(attempt=min(attempt, 9))}"
    if system_role:
        return [Message("system", system), Message("user", body)]
    return [Message("user", f"{system}\n\n{body}")]


def closing_line(schema: Json, show_schema: bool) -> str:
    """How the answer is to look."""
    if schema is None:
        return CLOSING_TEXT
    if not show_schema:
        return CLOSING_JSON
    return CLOSING_SCHEMA.format(schema=json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
