"""The one reader of the environment and of `octavo.toml`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from pipeline.errors import SettingsError
from pipeline.spec import SamplingSpec, describe

FILE = "octavo.toml"
PREFIX = "OCTAVO_"
LEAST_TOKEN = 20  # characters of a token that a person chose


class LimitsSpec(BaseModel):
    """What a provider allows, shared by all workers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrency: Annotated[int | None, Field(ge=1)] = None  # calls in flight
    requests_per_minute: Annotated[int | None, Field(ge=1)] = None
    tokens_per_minute: Annotated[int | None, Field(ge=1)] = None
    window_s: Annotated[float, Field(gt=0, le=3600)] = 60  # the minute; tests shrink it


class ModelProfile(BaseModel):
    """A model by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: Literal["extractive", "mlx", "openai"] = "extractive"
    slots: Annotated[int | None, Field(ge=1, le=4096)] = None  # calls at once; None: as many as suit the provider
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None  # never the key itself
    api_key_keyring: Annotated[str | None, Field(pattern=r"^[^/]+/.+$")] = None
    identity: str | None = None
    tokenizer: str | None = None
    token_factor: Annotated[float, Field(gt=0, le=20)] = 1.0
    context_window: Annotated[int | None, Field(ge=64)] = None
    output_reserve: Annotated[int, Field(ge=1)] = 1024
    input_price: Annotated[float, Field(ge=0)] = 0.0
    output_price: Annotated[float, Field(ge=0)] = 0.0
    currency: str = "USD"
    limits: LimitsSpec | str | None = None
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 600
    connect_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 10
    thinking: bool | Literal["low", "medium", "high"] | None = None
    json_mode: Literal["prompt", "object", "schema"] = "prompt"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: bool = True
    sampling: SamplingSpec = SamplingSpec()
    extra_body: dict[str, Any] = Field(default_factory=dict)
    ca_file: Path | None = None
    adapters: Path | None = None

    @model_validator(mode="after")
    def _fields_fit(self) -> ModelProfile:
        if self.provider != "extractive" and not self.model:
            raise ValueError(f"a profile of provider {self.provider!r} needs a model")
        if self.provider == "openai":
            _check_url(self.base_url)
        for name, provider in _ONLY.items():
            if self.provider != provider and name in self.model_fields_set:
                raise ValueError(f"{name} is for provider {provider!r}, this one is {self.provider!r}")
        if self.api_key_env and self.api_key_keyring:
            raise ValueError("api_key_env and api_key_keyring are set, one is enough")
        return self

    @property
    def calls_at_once(self) -> int:
        """Slots: as set, else the cores for what computes here, eight for what waits for a server or makes batches."""
        return self.slots or ((os.cpu_count() or 1) if self.provider == "extractive" else 8)


_ONLY = {
    "base_url": "openai", "api_key_env": "openai", "api_key_keyring": "openai", "ca_file": "openai",
    "connect_timeout_s": "openai", "extra_body": "openai", "max_tokens_field": "openai", "adapters": "mlx",
}  # fmt: skip


def _check_url(url: str | None) -> None:
    if not url:
        raise ValueError("a profile of provider 'openai' needs a base_url, such as http://127.0.0.1:8080/v1")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValueError(f"base_url is not a URL: {error}") from None
    if parts.username or parts.password:
        raise ValueError("base_url holds a name or password: name the key's variable in api_key_env instead")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("base_url must begin with http:// or https:// and name a host")
    if parts.query or parts.fragment:
        raise ValueError("base_url has a query or fragment: it is a server's address and a path, no more")


class RetentionSpec(BaseModel):
    """What `octavo gc` keeps. What a job, a view, a kept revision or a trace reaches is kept in any case."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    results: Literal["keep", "reachable"] = "keep"
    results_days: Annotated[int | None, Field(ge=0)] = None
    results_bytes: Annotated[int | None, Field(ge=0)] = None
    jobs: Annotated[int, Field(ge=0)] = 10
    jobs_days: Annotated[float, Field(ge=0)] = 0
    revisions: Annotated[int, Field(ge=1)] = 100
    refreshes: Annotated[int, Field(ge=0)] = 100
    calls_days: Annotated[float, Field(ge=0)] = 365  # what calls outside jobs (questions, tests, probes) used


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
    web_token: SecretStr | None = None  # lets its holder do all that the web pages and the API can do
    flower_url: str | None = None  # where Flower is found by a browser: the pages link to it
    upload_mb: Annotated[int, Field(ge=1, le=100_000)] = 512  # a book that comes in by HTTP may have so many megabytes
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    debug: bool = False
    failpoint: str | None = None  # where the process is to be killed; for tests alone (workers.failpoints)
    retention: RetentionSpec = RetentionSpec()  # what octavo gc keeps
    limits: dict[str, LimitsSpec] = Field(default_factory=dict)  # by name; a step, or a model's profile, names them
    models: dict[str, ModelProfile] = Field(default_factory=lambda: {"extractive": ModelProfile()})

    @field_validator("web_token")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < LEAST_TOKEN:
            raise ValueError(f"a token needs {LEAST_TOKEN} characters or more")
        return value

    @field_validator("flower_url")
    @classmethod
    def _plain_address(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"https?://[^\s/@]+(/[^\s]*)?", value):
            raise ValueError("it is an address that begins with http:// or https://, without a name or password in it")
        return value

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


def api_key(name: str, profile: ModelProfile) -> SecretStr | None:
    """The key of a profile; None when it names none. Raises SettingsError when it is not where the profile says."""
    if profile.api_key_env:
        value = os.environ.get(profile.api_key_env, "").strip()
        if not value:
            raise SettingsError(
                f"Model {name!r} takes its key from {profile.api_key_env}, which is not set",
                hint=f"export {profile.api_key_env}=…, here and wherever a worker runs",
            )
        return SecretStr(value)
    return _from_keyring(name, profile.api_key_keyring) if profile.api_key_keyring else None


def _from_keyring(name: str, place: str) -> SecretStr:
    service, _, user = place.partition("/")
    try:
        import keyring
    except ImportError as error:
        raise SettingsError(
            f"Model {name!r} takes its key from a keyring, and the package keyring is not installed",
            hint="pip install 'octavo[keyring]'",
        ) from error
    try:
        value = keyring.get_password(service, user)
    except Exception as error:  # back ends of keyring raise errors of their own
        raise SettingsError(f"The keyring can not be asked for {place!r}: {type(error).__name__}: {error}") from error
    if not value:
        raise SettingsError(
            f"The keyring has no key {place!r} for model {name!r}", hint=f"keyring set {service} {user}"
        )
    return SecretStr(value)


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
        if value is not None and name not in ("models", "limits", "retention"):
            found[name] = [part for part in value.split(",") if part] if name == "ops" else value
    return found
