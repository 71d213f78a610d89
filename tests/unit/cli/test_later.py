"""Commands are loaded when they are called; until then their names and summaries stand for them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.main import get_command

import octavo
from octavo.cli.exits import Exit
from octavo.cli.later import Later, LaterGroup
from octavo.cli.main import Commands, app, run_guarded

GROUP = get_command(app)
HEAVY = ("sqlalchemy", "celery", "redis", "pydantic", "tokenizers", "rapidfuzz", "pypdfium2")


@pytest.mark.parametrize("later", Commands.later, ids=lambda later: later.name)
def test_a_summary_is_the_first_paragraph_of_the_commands_own_help(later: Later) -> None:
    assert " ".join((later.load().help or "").split("\n\n")[0].split()) == later.help


def test_a_command_that_is_called_is_the_real_one_under_its_name() -> None:
    assert isinstance(GROUP, LaterGroup)
    name, command, rest = GROUP.resolve_command(GROUP.make_context("octavo", ["db"]), ["db", "upgrade"])
    assert (name, command.name, rest) == ("db", "db", ["upgrade"])
    assert "upgrade" in command.commands


@pytest.mark.parametrize("words", [["--version"], ["--help"], []])
def test_what_the_program_says_of_itself_loads_nothing_that_is_slow(words: list[str]) -> None:
    """Half a second for a list of names would be felt at every key of a shell that completes."""
    code = (
        "import sys; from octavo.cli.main import run_guarded; "
        f"run_guarded({words!r}); sys.exit(' '.join(sorted({set(HEAVY)!r} & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout or done.stderr
    assert done.returncode == 0, f"loaded: {done.stderr}"


def test_a_group_without_a_command_shows_what_there_is_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["db"]):
        assert run_guarded(words) == Exit.USAGE
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.startswith("Usage: ")
        assert "\n\nCommands:\n" in shown.err
        assert "error:" not in shown.err
        assert ("--install-completion" in shown.err) == (words == [])


def test_what_octavo_offers_to_those_who_write_ops_is_there_by_name() -> None:
    assert set(octavo.__all__) <= set(dir(octavo))
    assert all(getattr(octavo, name).__module__.startswith("pipeline.") for name in octavo.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'reduce'"):
        octavo.reduce  # noqa: B018
