"""The command line as a person meets it: in an empty folder, and in one with a good book in its state."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.command import STORY, Cli


@pytest.fixture
def cli(tmp_path: Path, state: Path) -> Cli:
    """The command in an empty folder with an empty state."""
    folder = tmp_path / "here"
    folder.mkdir()
    return Cli(folder, state)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The command in a folder with one good book, already in the state. Tests look at it and leave it as it is."""
    folder = tmp_path_factory.mktemp("kept")
    cli = Cli(folder, folder / "state")
    (folder / "good.md").write_text(STORY)
    cli.ok("run", "good.md", "--pipeline", "glossary")
    return cli
