"""Alembic's entry: runs migrations on the engine it is handed."""

from __future__ import annotations

from typing import Literal

from alembic import context
from sqlalchemy import Engine
from sqlalchemy.types import TypeDecorator

import db.tables  # noqa: F401  # autogenerate and `alembic check` compare with the declared tables
from db.base import Base


def _plainly(kind: str, item: object, _context: object) -> str | Literal[False]:
    """Migrations import no code of the project that may change: a type of ours is written as what it stands for."""
    if kind != "type" or not isinstance(item, TypeDecorator):
        return False
    return f"sa.{item.impl!r}"


def _declared(name: str | None, kind: str, _parents: object) -> bool:
    """What autogenerate and `alembic check` compare: the words of the search index are each database's own."""
    return not (kind == "table" and name is not None and name.startswith("search_words"))


def run() -> None:
    """Run the wanted migrations in one transaction."""
    engine: Engine = context.config.attributes["engine"]
    with engine.connect() as connection:
        options = connection.execution_options(octavo_writes=True)
        context.configure(
            connection=options,
            target_metadata=Base.metadata,
            render_as_batch=engine.dialect.name == "sqlite",
            render_item=_plainly,
            include_name=_declared,
            transactional_ddl=True,
        )
        with options.begin() if not options.in_transaction() else context.begin_transaction():
            if engine.dialect.name == "postgresql":
                options.exec_driver_sql("SELECT pg_advisory_xact_lock(718281828)")
                options.exec_driver_sql("SET LOCAL lock_timeout = '10s'")
            context.run_migrations()


run()
