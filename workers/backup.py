"""Back up a database that is worked on, and bring it back elsewhere: SQLite by a copy, PostgreSQL by its own tools."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import make_url

from db import backup as files
from db import migrate
from db.database import Database
from pipeline.errors import StorageError, UsageError
from workers.runtime import Runtime
from workers.supervise.postgres import find_programs


def back_up(runtime: Runtime, to: Path) -> int:
    """Write a backup of one moment; gives its size in bytes. Raises UsageError, StorageError, MissingProgramError."""
    if to.exists():
        raise UsageError(f"{to} is there already", hint="name a file that is not")
    part = to.with_name(to.name + ".part")
    part.unlink(missing_ok=True)
    try:
        if runtime.database.embedded:
            files.copy_to(runtime.database, part)
        else:
            _postgres("pg_dump", runtime, ["--format=custom", "--no-owner", "--no-privileges", f"--file={part}"])
        files.on_disk(part)
        part.replace(to)
    except OSError as error:
        raise StorageError(f"The backup can not be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return to.stat().st_size


def restore(runtime: Runtime, path: Path) -> None:
    """Bring a backup into a state, or an empty database, that has nothing yet; then to this version's tables.

    Raises UsageError when there is something already, or the file is no backup.
    """
    if not path.is_file():
        raise UsageError(f"There is no file {path}")
    url = runtime.settings.database_url
    if url is None or url.startswith("sqlite"):
        to = Path(make_url(url).database or "") if url else runtime.settings.state / "octavo.db"
        files.copy_from(path, to)
    else:
        database: Database = runtime.unmigrated()
        if migrate.revision_of(database) is not None:
            raise UsageError(f"{database.where} holds an Octavo already", hint="make an empty database for it")
        name = make_url(url).database or ""
        _postgres("pg_restore", runtime, ["--no-owner", "--exit-on-error", f"--dbname={name}", str(path)], name=False)
    migrate.upgrade(runtime.unmigrated())


def _postgres(program: str, runtime: Runtime, arguments: Sequence[str], *, name: bool = True) -> None:
    """Run one of PostgreSQL's tools against the database. The password goes by the environment."""
    url = make_url(runtime.settings.database_url or "")
    host = url.host or url.query.get("host")
    where = [f"--host={host}"] if host else []
    where += [f"--port={url.port}"] if url.port else []
    where += [f"--username={url.username}"] if url.username else []
    command = [_found(program), *where, *arguments, *([url.database or ""] if name else [])]
    environ = os.environ | ({"PGPASSWORD": str(url.password)} if url.password else {})
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)  # noqa: S603  # its own tools
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise StorageError(f"{program} ended with status {done.returncode}", cause=said[0] if said else None)


def _found(program: str) -> str:
    """A tool on the PATH, or beside a server's programs. Raises MissingProgramError."""
    return shutil.which(program) or str(find_programs(os.environ.get("PATH")).folder / program)
