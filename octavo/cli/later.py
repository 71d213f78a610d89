"""Commands whose modules are loaded when they are called: to load those of all takes ten times as long as `--help`."""

from __future__ import annotations

from collections.abc import Iterable
from pkgutil import resolve_name
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class Later(TyperCommand):
    """Stands for a command until it is called: its name, and the first paragraph of its help.

    `where` is `module:name` of a function with Typer's annotations, or of a Typer group.
    """

    def __init__(self, name: str, where: str, summary: str, *, takes_unknown: bool = False) -> None:
        super().__init__(name=name, callback=None, help=summary, rich_markup_mode=None)
        self.where = where
        self.settings = {"ignore_unknown_options": True} if takes_unknown else {}

    def load(self) -> TyperCommand | TyperGroup:
        """The command itself."""
        found: Any = resolve_name(self.where)
        command: Any
        if isinstance(found, typer.Typer):
            command = typer.main.get_group(found)
        else:
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
            alone.command(context_settings=self.settings)(found)
            command = typer.main.get_command(alone)
        command.name = self.name
        assert isinstance(command, TyperCommand | TyperGroup)
        return command


class LaterGroup(TyperGroup):
    """A group of such commands. Its subclasses say which."""

    later: Iterable[Later] = ()

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in self.later:
            self.add_command(command)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name, the command and the other words."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Later) else command, rest
