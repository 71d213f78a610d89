"""Where the started services keep their data, and as whom they run."""

from __future__ import annotations

import os
import secrets
import shutil
from hashlib import sha256
from pathlib import Path

from pipeline.errors import StorageError

NOBODY = 65534  # the ordinary user that every Unix has
SYSTEM_DATA = Path("/var/lib/octavo")
SECRET_BYTES = 24


def ordinary_user() -> int | None:
    """The numeric user for a program that refuses root; None when this process is not root."""
    return NOBODY if os.geteuid() == 0 else None


def reachable(path: Path) -> bool:
    """Can a user who owns none of it pass through these folders?"""
    existing = [part for part in [path, *path.parents] if part.exists()]
    return all(part.stat().st_mode & 0o001 for part in existing if part.is_dir())


def service_home(state: Path, name: str, user: int | None) -> Path:
    """The folder of a service's data, made and owned by `user`: inside the state folder.

    Where that lies behind a folder which only root can enter, and the service can not run as root, it is a new folder
    of /var/lib/octavo; `NAME.at` in the state folder says which. Raises StorageError when it can not be made.
    """
    try:
        home = state / name if user is None or reachable(state) else _elsewhere(state / f"{name}.at", name)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if user is not None:
            for part in home.parents:
                if SYSTEM_DATA in (part, *part.parents):
                    part.chmod(0o711)
            os.chown(home, user, user)
    except OSError as error:
        raise StorageError(
            f"The folder for {name} can not be made: {error.strerror}: {error.filename}",
            hint="name another state folder with --state",
        ) from error
    return home


def _elsewhere(pointer: Path, name: str) -> Path:
    if pointer.exists():
        return Path(pointer.read_text(encoding="utf-8").rstrip("\n"))
    home = SYSTEM_DATA / secrets.token_hex(8) / name
    pointer.write_text(f"{home}\n", encoding="utf-8")
    return home


def kept_secret(path: Path) -> str:
    """The secret in a file that only its owner can read; made when there is none. A person may write another into it.

    Raises StorageError when the file is empty, can not be read, or can be read by others.
    """
    try:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _read_secret(path)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            made = secrets.token_urlsafe(SECRET_BYTES)
            file.write(made + "\n")
        return made
    except (OSError, UnicodeError) as error:
        raise StorageError(f"The password file {path} can not be used: {error}") from error


def _read_secret(path: Path) -> str:
    if path.stat().st_mode & 0o077:
        raise StorageError(f"The password file {path} can be read by others", hint=f"chmod 600 {path}")
    secret = path.read_text(encoding="utf-8").strip()
    if not secret or any(char.isspace() or char in ",\"'\\" for char in secret):
        raise StorageError(
            f"The password file {path} is empty, or has a space, comma, quote or backslash in its password",
            hint="delete it and start again: a new one is made",
        )
    return secret


def write_private(path: Path, text: str) -> None:
    """A file that only its owner can read, whole or not at all. Raises StorageError."""
    partial = path.with_name(path.name + ".part")
    try:
        partial.unlink(missing_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        partial.replace(path)
    except OSError as error:
        raise StorageError(f"{path} can not be written: {error.strerror}") from error


def copy_programs(found: Path, home: Path) -> Path:
    """An installation copied to where an ordinary user can reach it; gives the copy's folder of programs."""
    target = home / f"programs-{sha256(str(found).encode()).hexdigest()[:12]}"
    if not target.exists():
        partial = target.with_name(target.name + ".part")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(found.parent, partial, symlinks=True)
        partial.rename(target)
    return target / found.name
