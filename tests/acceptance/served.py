"""The command line over real workers: PostgreSQL, Redis and one `octavo worker`, for the tests that run whole jobs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from db import migrate
from db.database import Database
from db.engine import make_engine
from tests.acceptance.command import Cli
from tests.distributed.fleet import Fleet
from tests.distributed.servers import Postgres, Provider, Redis, until


class ServedCli(Cli):
    """The command, with a database and a broker for its state."""

    def __init__(self, folder: Path, state: Path, more: dict[str, str], fleet: Fleet) -> None:
        super().__init__(folder, state)
        self._more = more
        self.fleet = fleet

    def another_worker(self, slots: int = 4, *, wait: bool = True) -> None:
        """Start one more, told what the first was."""
        self.fleet.worker(slots=slots, wait=wait, **self._more)

    def environment(self, **more: str) -> dict[str, str]:
        return super().environment(**self._more, **more)


@contextmanager
def fleet_in(folder: Path, postgres: Postgres) -> Iterator[Fleet]:
    """A database and a broker for a folder, and no worker yet."""
    name = f"served_{uuid.uuid4().hex[:12]}"
    postgres.sql(f"CREATE DATABASE {name}")
    database = Database(make_engine(postgres.url(name)))
    migrate.upgrade(database)
    database.close()
    redis, provider = Redis(folder), Provider()
    fleet = Fleet(folder, postgres, name, redis, provider)
    try:
        yield fleet
    finally:
        fleet.close()
        provider.close()
        redis.close()
        postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def served(folder: Path, postgres: Postgres, *arguments: str, slots: int = 4, **more: str) -> Iterator[ServedCli]:
    """The command in a folder, its jobs done by a worker (`octavo worker …arguments`) that finds ops there too."""
    with fleet_in(folder, postgres) as fleet:
        told = {
            "OCTAVO_DATABASE_URL": fleet.url,
            "OCTAVO_REDIS_URL": fleet.redis.url,
            "OCTAVO_LEASE_S": "5",
            "OCTAVO_RECONCILE_S": "0.3",
        } | more
        forks = "prefork" in arguments  # then its children beat, not the process that was started
        fleet.worker(*arguments, slots=slots, wait=not forks, **told)
        until(lambda: fleet.ask("SELECT 1 FROM processes"), within_s=60, what="a worker beats")
        yield ServedCli(folder, folder / "state", told, fleet)
