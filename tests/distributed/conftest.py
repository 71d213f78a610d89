"""Real PostgreSQL, real Redis, real worker processes, a provider that counts: each test's own fleet."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from db import migrate
from db.database import Database
from db.engine import make_engine
from tests.distributed.books import calm_export
from tests.distributed.fleet import Fleet
from tests.distributed.servers import Postgres, Provider, Redis, own_postgres
from workers.supervise.postgres import MissingProgramError

TEMPLATE = "octavo_template"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One cluster a session, with a migrated template."""
    try:
        with own_postgres() as server:
            server.sql(f"CREATE DATABASE {TEMPLATE}")
            database = Database(make_engine(server.url(TEMPLATE)))
            migrate.upgrade(database)
            database.close()
            yield server
    except MissingProgramError as error:
        pytest.skip(str(error))


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[Redis]:
    """A broker of the test's own."""
    try:
        server = Redis(tmp_path)
    except MissingProgramError as error:
        pytest.skip(str(error))
    yield server
    server.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider of the test's own."""
    made = Provider()
    yield made
    made.close()


@pytest.fixture
def fleet(
    tmp_path: Path, postgres: Postgres, redis_server: Redis, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    """No worker yet, an empty database."""
    monkeypatch.setenv("STUB_PORT", str(provider.port))
    name = f"fleet_{uuid.uuid4().hex[:12]}"
    postgres.sql(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    made = Fleet(tmp_path, postgres, name, redis_server, provider)
    yield made
    made.close()
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], bytes]:
    """The export of an undisturbed run in embedded mode, made once for each pipeline and text."""
    made: dict[tuple[str, str], bytes] = {}

    def export(pipeline: str, text: str) -> bytes:
        if (pipeline, text) not in made:
            made[pipeline, text] = calm_export(tmp_path_factory.mktemp("calm"), pipeline, text)
        return made[pipeline, text]

    return export
