"""The composition root: the one place where engines, models and registries are made and joined."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from db.database import Database
from db.engine import make_engine
from db.version import is_current
from pipeline.errors import SettingsError, StorageError
from pipeline.ids import uuid7
from pipeline.models.protocol import Model
from pipeline.ops import registry
from pipeline.ops.values import Json
from pipeline.settings import LimitsSpec, Settings
from pipeline.spec import GrainSpec
from workers import clock, failpoints
from workers.gate import Gate
from workers.governor.local import LocalGovernor
from workers.governor.port import Governor, Limits
from workers.governor.rules import Tuning
from workers.locks import ProcessLock

if TYPE_CHECKING:
    from workers.ingest.ingest import Cutting
    from workers.models.direct import Direct


class UnknownModelError(SettingsError):
    """There is no such model."""


class Runtime:
    """What one process works with, made on first use. Close it at the end."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        if settings.failpoint:
            failpoints.arm(settings.failpoint)
        self._models: dict[str, Model] = {}

    @cached_property
    def database(self) -> Database:
        """The database, made and migrated on first use."""
        database = self.unmigrated()
        if not is_current(database):
            from db import migrate  # Alembic takes a fifth of a second to import

            migrate.upgrade(database)
        if not database.embedded:
            clock.follow(database.clock_ms())
        return database

    def unmigrated(self) -> Database:
        """The database as it stands."""
        url = self.settings.url
        _make_folder(self.settings.state)
        return Database(make_engine(url))

    @cached_property
    def lock(self) -> ProcessLock:
        """This process's lock; its owner nonce stands on every lease it takes."""
        return ProcessLock(self.settings.state / "locks")

    @cached_property
    def ops(self) -> registry.Registry:
        """The ops by name."""
        return registry.load(self.settings.ops)

    def model(self, name: str) -> Model:
        """The model of a profile. Raises UnknownModelError."""
        if name not in self._models:
            profile = self.settings.models.get(name)
            if profile is None:
                known = ", ".join(sorted(self.settings.models))
                raise UnknownModelError(
                    f"There is no model {name!r}", hint=f"known: {known}; others stand in octavo.toml"
                )
            from workers.models.make import make_model  # what makes a model takes a while to load

            self._models[name] = make_model(name, profile, self.settings.state)
        return self._models[name]

    def think(self, name: str, wanted: bool) -> None:
        """From now on a profile's model thinks before it answers, or does not, whatever the profile says."""
        profile = self.settings.models.get(name)
        if profile is not None and profile.provider != "extractive":
            from workers.models.make import make_model

            self._models[name] = make_model(name, profile.model_copy(update={"thinking": wanted}), self.settings.state)

    def limited(self) -> Collection[str]:
        """The names of the limits that are set."""
        return self._limits.keys()

    def allowance(self, limits: str | None) -> Mapping[str, int | None]:
        """What the limits of that name allow."""
        found = self._limits.get(limits) if limits else None
        if found is None:
            return {}
        return {
            "concurrency": found.concurrency,
            "requests_per_minute": found.requests_per_minute,
            "tokens_per_minute": found.tokens_per_minute,
        }

    def limits_of(self, model: str) -> str | None:
        """The name of the limits that hold a model's calls, if any do."""
        profile = self.settings.models.get(model)
        if profile is not None and isinstance(profile.limits, str):
            return profile.limits
        return model if model in self._limits else None

    @cached_property
    def _limits(self) -> dict[str, Limits]:
        """Limits by name: those that stand by themselves, and those of profiles, by the profile's name.

        A model that answers over a network has limits even where its profile sets none: without a number, they still
        make its calls wait when the provider says so or is down.
        """
        found = {name: Limits(**spec.model_dump()) for name, spec in self.settings.limits.items()}
        for name, profile in self.settings.models.items():
            if isinstance(profile.limits, LimitsSpec):
                found[name] = Limits(**profile.limits.model_dump())
            elif isinstance(profile.limits, str) and profile.limits not in found:
                raise SettingsError(
                    f"Model {name!r} names limits {profile.limits!r}",
                    hint=f"set [limits.{profile.limits}] in octavo.toml",
                )
            elif profile.provider == "openai" and profile.limits is None:
                found.setdefault(name, Limits())
        return found

    def gate(self, owner: str) -> Gate:
        """What stands before governed calls: shared by all workers over Redis, or of this process."""
        limits = self._limits
        tuning = Tuning(lease_s=self.settings.lease_s)
        governor: Governor
        if self.settings.distributed:
            from workers.governor.redis import RedisGovernor  # the Redis client takes a while to load

            governor = RedisGovernor(self.settings.redis_url or "", limits, tuning=tuning)
        else:
            governor = LocalGovernor(limits, tuning=tuning)
        return Gate(governor, limits, owner)

    @cached_property
    def _direct_gate(self) -> Gate:
        """What stands before all calls of this process outside jobs."""
        return self.gate(uuid7().hex)

    def direct(self, kind: str, model: str, tell: Callable[[str], None] = lambda _text: None) -> Direct:
        """What asks a model outside jobs, for a command of some `kind`."""
        from workers.models.direct import Direct

        return Direct(
            kind=kind,
            model=model,
            limits=self.limits_of(model),
            gate=self._direct_gate,
            lease_s=self.settings.lease_s,
            database=lambda: self.database,
            tell=tell,
        )

    def cutting(self, spec: GrainSpec, tokenizer: str | None = None) -> Cutting:
        """A grain with the tokenizer that counts for it: that of the settings, where no other is named."""
        from pipeline.split.grain import Grain
        from pipeline.split.tokenizer import load_counter  # a tokenizer, and what reads, take a while to load
        from workers.ingest.ingest import Cutting

        tokenizer = tokenizer or self.settings.tokenizer
        counter = load_counter(Path(tokenizer) if tokenizer and tokenizer != "characters" else tokenizer)
        grain = Grain(name=spec.name, limit=spec.limit, overlap=spec.overlap, heading_level=spec.heading_level)
        return Cutting(grain=grain, counter=counter)

    def cutting_as(self, policy: Mapping[str, Json]) -> Cutting:
        """What cuts as a stored grain's policy says; it does not where the splitter or the tokenizer is another now."""
        spec = GrainSpec.model_validate({name: policy[name] for name in ("limit", "overlap", "heading_level")})
        name = str(policy["tokenizer_name"])
        return self.cutting(spec, name if name == "characters" or Path(name).is_file() else None)

    @property
    def spool(self) -> Path:
        """Where what came by standard input is kept."""
        return self.settings.state / "spool"

    def close(self) -> None:
        """Let go of the database, the models' processes and the lock."""
        for model in self._models.values():
            close = getattr(model, "close", None)
            if close is not None:
                close()
        if "database" in self.__dict__:
            self.database.close()
        if "lock" in self.__dict__:
            self.lock.release()


def _make_folder(state: Path) -> None:
    try:
        state.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise StorageError(
            f"The state folder {state} is a file, or lies in one", hint="name another with --state"
        ) from error
    except OSError as error:
        raise StorageError(
            f"The state folder {state} can not be made: {error.strerror}", hint="name another with --state"
        ) from error
    if not os.access(state, os.R_OK | os.W_OK | os.X_OK):
        raise StorageError(
            f"The state folder {state} can not be written",
            hint="give yourself write access to it, or name another with --state",
        )
