"""The command line as a person meets it: in an empty folder, and in one with a good book in its state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.command import STORY, Cli
from tests.acceptance.served import served
from tests.distributed.servers import Postgres, own_postgres
from workers.supervise.postgres import MissingProgramError


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


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """A PostgreSQL for the jobs that workers do."""
    try:
        with own_postgres() as server:
            yield server
    except MissingProgramError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=["embedded", "workers"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """The command in an empty folder, its jobs done in the process itself, or by workers over PostgreSQL and Redis."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "embedded":
        yield Cli(folder, folder / "state")
        return
    with served(folder, request.getfixturevalue("postgres_server")) as cli:
        yield cli
