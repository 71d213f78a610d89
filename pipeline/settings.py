"""The one reader of the environment and of `octavo.toml`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.errors import SettingsError
from pipeline.spec import describe

FILE = "octavo.toml"
PREFIX = "OCTAVO_"


class ModelProfile(BaseModel):
    """A model by name. Other providers come with the issue that builds them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: Literal["extractive"] = "extractive"
    slots: Annotated[int, Field(ge=1, le=4096)] = Field(default_factory=lambda: os.cpu_count() or 1)  # calls at once


class LimitsSpec(BaseModel):
    """What a provider allows, shared by all workers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrency: Annotated[int | None, Field(ge=1)] = None  # calls in flight
    requests_per_minute: Annotated[int | None, Field(ge=1)] = None
    tokens_per_minute: Annotated[int | None, Field(ge=1)] = None
    window_s: Annotated[float, Field(gt=0, le=3600)] = 60  # the minute; tests shrink it


class Settings(BaseModel):
    """Everything that can be set. Units are in the names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: Path = Path(".octavo")
    database_url: str | None = None  # None: the SQLite file in the state folder
    redis_url: str | None = None  # with a database on a server: work is done by workers over this broker
    model: str = "extractive"
    tokenizer: str | None = None  # a tokenizer.json, or "characters"; None: the built-in one
    lease_s: Annotated[float, Field(gt=0.2, le=3600)] = 30
    reconcile_s: Annotated[float, Field(gt=0.01, le=3600)] = 2
    op_slots: Annotated[int, Field(ge=1, le=4096)] = 4  # calls in flight of ops that ask no model
    window_per_slot: Annotated[float, Field(ge=1, le=1000)] = 2  # tasks in flight for each slot of the model
    ops: tuple[str, ...] = ()  # modules with ops of the user's own
    debug: bool = False
    failpoint: str | None = None  # where the process is to be killed; for tests alone (workers.failpoints)
    limits: dict[str, LimitsSpec] = Field(default_factory=dict)  # by name; a step, or a model's profile, names them
    models: dict[str, ModelProfile] = Field(default_factory=lambda: {"extractive": ModelProfile()})

    @property
    def distributed(self) -> bool:
        """Is the work done by workers (a database server and a broker), not in this process?"""
        return self.database_url is not None and self.redis_url is not None

    @property
    def url(self) -> str:
        """The database's URL."""
        if self.database_url:
            return self.database_url
        try:
            return f"sqlite:///{quote(str(self.state / 'octavo.db'))}"
        except UnicodeEncodeError as error:
            raise SettingsError(
                "The name of the state folder is not UTF-8", hint="name another with --state"
            ) from error


def load(environ: Mapping[str, str], folder: Path, overrides: Mapping[str, Any]) -> Settings:
    """Defaults, then `octavo.toml` in `folder`, then OCTAVO_* variables, then `overrides` that are not None.

    Raises SettingsError naming the file or variable, the key and what is allowed.
    """
    data: dict[str, Any] = {}
    path = folder / FILE
    if path.is_file():
        data |= _from_file(path)
    data |= _from_environment(environ)
    data |= {name: value for name, value in overrides.items() if value is not None}
    models = {"extractive": ModelProfile()} | dict(data.pop("models", {}))
    try:
        return Settings.model_validate(data | {"models": models})
    except ValidationError as error:
        allowed = ", ".join(sorted(Settings.model_fields))
        raise SettingsError(
            f"Settings: {describe(error, Settings)}", hint=f"set in {FILE} or OCTAVO_*; known: {allowed}"
        ) from error


def current(overrides: Mapping[str, Any]) -> Settings:
    """The settings of this process."""
    return load(os.environ, Path.cwd(), overrides)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}", hint="mend the line it names") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} can not be read: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in Settings.model_fields:
        value = environ.get(PREFIX + name.upper())
        if value is not None and name not in ("models", "limits"):
            found[name] = [part for part in value.split(",") if part] if name == "ops" else value
    return found
