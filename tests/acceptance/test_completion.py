"""The shell completes what is in the state folder; where there is nothing it is told nothing, least of all an error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from octavo.cli import complete
from tests.acceptance.command import STORY, Cli


def completed(cli: Cli, words: str) -> list[str]:
    """What a shell is told for a line that ends where the cursor is."""
    line = f"octavo {words}"
    variables = {"_OCTAVO_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    ended = cli.run(environment=variables, prefix=[])
    assert ended.err == ""
    return ended.out.split()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    folder = tmp_path_factory.mktemp("completion")
    cli = Cli(folder, folder / "state")
    for name in ("ferry.md", "bridge.md"):
        (folder / name).write_text(STORY)
    cli.ok("run", "ferry.md", "bridge.md", "--pipeline", "glossary")
    cli.ok("view", "add", "names", "--pipeline", "glossary", "--documents", "ferry.md")
    return cli


def here(cli: Cli) -> Any:
    """A line with `--state` in it."""
    return SimpleNamespace(params={"state": cli.state})


def test_names_of_what_is_there_are_completed(filled: Cli) -> None:
    (job,) = filled.ok("jobs", "--json").json
    end = job["job"][-12:]
    assert set(complete.documents(here(filled), "")) == {"ferry", "bridge"}
    assert complete.documents(here(filled), "br") == ["bridge"]
    assert complete.jobs(here(filled), "") == ["last", end]
    assert complete.jobs(here(filled), end[:10]) == [end]
    assert complete.views(here(filled), "na") == ["names"]
    assert complete.outputs(here(filled), "") == ["names", "last", end]
    assert complete.pipelines("gl") == ["glossary"]
    assert completed(filled, "chunks fer") == ["ferry"]


def test_where_nothing_is_nothing_is_made_and_no_error_is_told(cli: Cli) -> None:
    assert complete.documents(here(cli), "") == []
    assert not cli.state.exists()
    (cli.folder / "octavo.toml").write_text("state = [")
    assert completed(cli, "pause ") == []
