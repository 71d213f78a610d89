"""Which ops there are: built in, from installed packages (entry points `octavo.ops`), from modules the user names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from pipeline.errors import PipelineError
from pipeline.ops.builtin import BUILTIN
from pipeline.ops.decorators import ops_of
from pipeline.ops.kinds import Op, kind_of

ENTRY_POINTS = "octavo.ops"


class Registry:
    """Ops by name."""

    def __init__(self, ops: Iterable[Op] = BUILTIN) -> None:
        self._ops: dict[str, Op] = {}
        self.modules: list[str] = []  # those the user named
        for op in ops:
            self.add(op)

    def add(self, op: Op) -> None:
        """Add an op. Raises PipelineError when another op has its name."""
        if op.name in self._ops and self._ops[op.name] is not op:
            raise PipelineError(f"Two ops are called {op.name!r}", hint="give one of them another name")
        self._ops[op.name] = op

    def include(self, modules: Iterable[str]) -> None:
        """Add the ops of modules. Raises PipelineError when one can not be imported or has no ops."""
        for name in modules:
            if name not in self.modules:
                for op in ops_of(_imported(name)):
                    self.add(op)
                self.modules.append(name)

    def names(self) -> list[str]:
        """The names of all ops."""
        return sorted(self._ops)

    def marks(self) -> list[str]:
        """What tells each op from others and from other versions of itself: name@version."""
        return sorted(mark_of(op.name, op.version) for op in self._ops.values())

    def get(self, name: str, kind: str) -> Op:
        """The op of that name. Raises PipelineError when there is none, or when it serves another kind of step."""
        op = self._ops.get(name)
        if op is None:
            raise PipelineError(
                f"There is no op {name!r}", hint=f"known: {', '.join(self.names())}; others come with --ops MODULE"
            )
        if kind_of(op) != kind:
            raise PipelineError(f"Op {name!r} is a {kind_of(op)} op, the step is a {kind}")
        return op


def mark_of(name: str, version: int | str) -> str:
    """name@version."""
    return f"{name}@{version}"


def load(modules: Iterable[str] = ()) -> Registry:
    """The built-in ops, installed packages' and those of the named modules, found in the current folder too.

    Raises PipelineError when a module can not be imported or has no ops.
    """
    registry = Registry()
    for entry in entry_points(group=ENTRY_POINTS):
        for op in ops_of(_imported(entry.module)):
            registry.add(op)
    registry.include(modules)
    return registry


def _imported(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    importlib.invalidate_caches()  # it may have been written since the last look
    try:
        return importlib.import_module(name.removesuffix(".py"))
    except Exception as error:  # a user's module may raise anything while it is imported
        raise PipelineError(
            f"The ops module {name!r} can not be imported: {type(error).__name__}: {error}",
            hint="--ops takes a module name, found in the current folder or on the path",
        ) from error
