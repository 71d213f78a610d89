"""The transaction boundary: nothing else commits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from sqlalchemy import Engine, exc
from sqlalchemy.engine import Connection

from db.engine import READS, WRITES
from db.errors import translate
from db.repositories.attempts import AttemptRepository
from db.repositories.chunks import ChunkRepository
from db.repositories.contents import ContentRepository
from db.repositories.decisions import DecisionRepository
from db.repositories.dispatches import DispatchRepository
from db.repositories.documents import DocumentRepository
from db.repositories.entity_sets import EntitySetRepository
from db.repositories.jobs import JobRepository
from db.repositories.leases import LeaseRepository
from db.repositories.lists import ListRepository
from db.repositories.nodes import NodeRepository
from db.repositories.results import ResultRepository
from db.repositories.retention import RetentionRepository
from db.repositories.search import SearchRepository
from db.repositories.task_lists import TaskListRepository
from db.repositories.tasks import TaskRepository
from db.repositories.traces import TraceRepository
from db.repositories.usage import UsageRepository
from db.repositories.views import ViewRepository
from db.repositories.web import WebRepository


class Repositories:
    """One transaction's repositories, bound to its connection once."""

    def __init__(self, connection: Connection) -> None:
        self.documents = DocumentRepository(connection)
        self.contents = ContentRepository(connection)
        self.chunks = ChunkRepository(connection)
        self.results = ResultRepository(connection)
        self.jobs = JobRepository(connection)
        self.tasks = TaskRepository(connection)
        self.attempts = AttemptRepository(connection)
        self.nodes = NodeRepository(connection)
        self.usage = UsageRepository(connection)
        self.leases = LeaseRepository(connection)
        self.dispatches = DispatchRepository(connection)
        self.decisions = DecisionRepository(connection)
        self.entity_sets = EntitySetRepository(connection)
        self.search = SearchRepository(connection)
        self.traces = TraceRepository(connection)
        self.lists = ListRepository(connection)
        self.task_lists = TaskListRepository(connection)
        self.web = WebRepository(connection)
        self.views = ViewRepository(connection)
        self.retention = RetentionRepository(connection)


class Database:
    """A database: opens read and write transactions, translates what the driver says."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        # SQLite has one writer, and who finds it busy sleeps and asks again: threads of one process take turns here.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else nullcontext()
        self._reads = READS.get(engine.dialect.name, {})
        self.where = engine.url.render_as_string(hide_password=True)

    @property
    def embedded(self) -> bool:
        """Is it an SQLite file?"""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def write(self) -> Iterator[Repositories]:
        """A transaction that writes: committed at the end, rolled back on any error. On SQLite it is IMMEDIATE."""
        with (
            self._translated(),
            self._turn,
            self.engine.connect() as connection,
            connection.execution_options(**WRITES).begin(),
        ):
            yield Repositories(connection)

    @contextmanager
    def read(self) -> Iterator[Repositories]:
        """A transaction that reads one state of the database."""
        with (
            self._translated(),
            self.engine.connect() as connection,
            connection.execution_options(**self._reads).begin(),
        ):
            yield Repositories(connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError as error:
            raise translate(error, self.where) from error

    def clock_ms(self) -> int:
        """The database server's time, in ms since the Unix epoch."""
        with self.read() as rows:
            return rows.dispatches.clock_ms()

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()
