"""Counts a chat in tokens as the model sees it: its own tokenizer, its own chat template."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Protocol

from jinja2.exceptions import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from pipeline.errors import SettingsError
from pipeline.models.llm.fence import JOINER
from pipeline.models.llm.prompts import Message
from pipeline.split.grain import TokenCounter

PER_MESSAGE = 8  # tokens that an unknown template puts around a message
LEAST_SAFETY, SAFETY = 64, 0.1  # kept free where the count is an estimate


class ChatCounter(Protocol):
    """Counts what a chat takes of the window."""

    name: str
    exact: bool  # is it the model's own tokenizer with its own template?

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat, with all that the template adds up to where the answer begins."""

    def count_text(self, text: str) -> int:
        """Tokens of a text by itself."""

    def safety(self, window: int) -> int:
        """Tokens of the window that are left free because the count is not exact."""


class EstimatedCounter:
    """Counts with a tokenizer that may not be the model's: good for plans, with a margin for budgets."""

    exact = False

    def __init__(self, counter: TokenCounter, factor: float = 1.0) -> None:
        self.name = f"{counter.name}, estimated"
        self._counter = counter
        self._factor = factor

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of the texts, times the factor, and a few for each message."""
        texts = self._counter.count_batch([message.content for message in messages])
        return round(sum(texts) * self._factor) + PER_MESSAGE * len(messages)

    def count_text(self, text: str) -> int:
        """Tokens of a text."""
        return round(self._counter.count(text) * self._factor)

    def safety(self, window: int) -> int:
        """A tenth of the window."""
        return max(LEAST_SAFETY, int(window * SAFETY))


@dataclass(frozen=True, kw_only=True)
class ChatTemplate:
    """The template of a model's folder, rendered as `transformers` does (apply_chat_template)."""

    source: str
    special: dict[str, str]  # bos_token, eos_token …
    thinking: bool | None = None

    def render(self, messages: Sequence[Message]) -> str:
        """The prompt as text. Raises SettingsError when the template refuses it."""
        more = {} if self.thinking is None else {"enable_thinking": self.thinking}
        try:
            text: str = self._compiled.render(
                messages=[{"role": message.role, "content": message.content} for message in messages],
                add_generation_prompt=True,
                tools=None,
                documents=None,
                **self.special,
                **more,
            )
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise SettingsError(
                f"The chat template of the model can not be used: {error}",
                hint="a template without system messages needs system_role = false in the profile",
            ) from error
        return text

    @cached_property
    def _compiled(self) -> Any:
        environment = ImmutableSandboxedEnvironment(  # a prompt is no HTML
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = _now
        try:
            return environment.from_string(self.source)
        except TemplateError as error:
            raise SettingsError(f"The chat template of the model is not right: {error}") from error


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _now(form: str) -> str:
    return datetime.now().strftime(form)  # noqa: DTZ005  # the template asks for the local day, as transformers gives it


class FolderCounter:
    """The tokenizer and chat template of a model's folder (tokenizer.json, tokenizer_config.json)."""

    exact = True

    def __init__(self, folder: Path, thinking: bool | None = None) -> None:
        self.name = folder.name
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the library raises plain Exception
            raise SettingsError(
                f"{folder} has no usable tokenizer.json", cause=str(error), hint="name the folder of a model"
            ) from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.template = read_template(folder, thinking)
        special = [token.content for token in self._tokenizer.get_added_tokens_decoder().values() if token.special]
        self._special = re.compile("|".join(map(re.escape, sorted(special, key=len, reverse=True))) or r"(?!)")

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """The token ids of a chat, as the model gets them."""
        safe = [Message(message.role, self._special.sub(_split, message.content)) for message in messages]
        ids: list[int] = self._tokenizer.encode(self.template.render(safe), add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens that a model made."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat, exactly."""
        return len(self.encode(messages))

    def count_text(self, text: str) -> int:
        """Tokens of a text by itself."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def safety(self, _window: int) -> int:
        """None is needed."""
        return 0


def _split(found: re.Match[str]) -> str:
    """A special token of this tokenizer in the text of a message: kept as text."""
    return found[0][:1] + JOINER + found[0][1:]


def read_template(folder: Path, thinking: bool | None) -> ChatTemplate:
    """The chat template of a model's folder. Raises SettingsError when it has none."""
    config = _json(folder / "tokenizer_config.json")
    source = config.get("chat_template")
    if isinstance(source, list):
        named = {item.get("name"): item.get("template") for item in source if isinstance(item, dict)}
        source = named.get("default")
    file = folder / "chat_template.jinja"
    if file.is_file():
        source = file.read_text(encoding="utf-8")
    if not isinstance(source, str):
        raise SettingsError(f"{folder} has no chat template", hint="an instruct model has one; a base model has not")
    special = {
        name: str(value.get("content", "") if isinstance(value, dict) else value)
        for name, value in config.items()
        if name.endswith("_token") and value is not None and not isinstance(value, bool)
    }
    return ChatTemplate(source=source, special=special, thinking=thinking)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} can not be read: {error}") from error
    return found if isinstance(found, dict) else {}
