"""What could go wrong on this machine, looked for before it does."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import OctavoError
from pipeline.spec import GrainSpec
from workers.runtime import Runtime

ROOMS = ("octavo", "workers", "db", "pipeline")
LEAST_FREE = 500_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    ok: bool
    says: str


def examine(runtime: Runtime) -> list[Finding]:
    """Look at everything; nothing is changed but that an empty database is made."""
    return [
        *shadowed(),
        _tried("state folder", lambda: _state(runtime)),
        _tried("free disk", lambda: _disk(runtime.settings.state)),
        _tried("database", lambda: _database(runtime)),
        _tried("tokenizer", lambda: runtime.cutting(GrainSpec()).counter.name),
        _tried("model", lambda: runtime.model(runtime.settings.model).identity),
        _tried("ops", lambda: f"{len(runtime.ops.names())} known"),
    ]


def shadowed() -> list[Finding]:
    """Is each of the project's top-level packages the project's own? Others may use such names too."""
    home = Path(__file__).resolve().parent.parent
    found = []
    for room in ROOMS:
        spec = importlib.util.find_spec(room)
        places = [Path(place).resolve() for place in (spec.submodule_search_locations or [])] if spec else []
        ok = places == [home / room]
        says = str(places[0]) if places else "not found"
        hint = "" if ok else f": another package of that name hides Octavo's, which is in {home / room}"
        found.append(Finding(check=f"package {room}", ok=ok, says=says + hint))
    return found


def _tried(check: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(check=check, ok=True, says=look())
    except OctavoError as error:
        says = ": ".join(part for part in (error.message, error.cause) if part)
        return Finding(check=check, ok=False, says=says)


def _database(runtime: Runtime) -> str:
    from db import migrate

    return f"{runtime.database.where}, migration {migrate.revision_of(runtime.database)}"


def _state(runtime: Runtime) -> str:
    state = runtime.settings.state.resolve()
    if state.exists() and not os.access(state, os.W_OK):
        raise OctavoError(f"{state} can not be written")
    return str(state)


def _disk(state: Path) -> str:
    place = state if state.exists() else Path.cwd()
    free = shutil.disk_usage(place).free
    if free < LEAST_FREE:
        raise OctavoError(f"only {free // 1_000_000} MB are free at {place.resolve()}")
    return f"{free // 1_000_000} MB"
