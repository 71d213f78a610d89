"""PostgreSQL and Redis of the benchmark's own, as `octavo up` starts them: durable commits, a socket, a free port."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

from workers.supervise.broker import OwnRedis, free_ports
from workers.supervise.postgres import OwnPostgres
from workers.supervise.service import Service

START_S = 60.0


@dataclass(frozen=True, slots=True)
class Servers:
    """Where they are."""

    database_url: str
    redis_url: str

    @property
    def plain_redis_url(self) -> str:
        """Another database of the same Redis, for plain Celery."""
        return self.redis_url.rsplit("/", 1)[0] + "/1"

    def another_database(self, name: str) -> str:
        """A new database of the same PostgreSQL; gives its URL."""
        engine = create_engine(self.database_url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return make_url(self.database_url).set(database=name).render_as_string(hide_password=False)


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Start both in a folder, and stop them at the end."""
    folder.chmod(0o755)  # where this process is root, PostgreSQL runs as an ordinary user
    state = folder / "servers"
    state.mkdir(mode=0o755, exist_ok=True)
    path = os.environ.get("PATH")
    postgres = OwnPostgres(state, path)
    postgres.make()
    redis = OwnRedis(state, path, free_ports(1)[0])
    try:
        with _running(postgres.service(), folder), _running(redis.service(), folder):
            yield Servers(postgres.url, redis.url)
    finally:
        postgres.close()


def _told(service: Service) -> dict[str, str]:
    return {name: value for name, value in service.env.items() if value is not None}


@contextmanager
def _running(service: Service, folder: Path) -> Iterator[None]:
    groups: list[int] | None = None if service.user is None else []
    with (folder / f"{service.name}.log").open("ab") as log:
        process = subprocess.Popen(
            service.argv, cwd=service.folder, env={**os.environ, **_told(service)}, stdout=log, stderr=log,
            user=service.user, group=service.user, extra_groups=groups,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + START_S
        while service.health is not None and not service.health.ok():
            if process.poll() is not None or time.monotonic() > deadline:
                said = (folder / f"{service.name}.log").read_text(errors="replace")
                raise SystemExit(f"{service.name} did not start: {said[-2000:]}")
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(service.stop_signal)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
