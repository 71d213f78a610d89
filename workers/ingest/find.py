"""Which sources a person means: a file, a folder, a glob, or standard input."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pipeline.errors import ReadError, UsageError

TEXT_SUFFIXES = {".txt", ".text", ".md", ".markdown", ".mkd"}
STDIN = "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A source on disk. `uri` names its document."""

    path: Path
    uri: str
    name: str  # fit for printing


def find(arguments: Sequence[str], spool: Path, stdin: BinaryIO) -> list[Found]:
    """The sources that the arguments name, each once, in order. Raises ReadError or UsageError."""
    found: dict[str, Found] = {}
    for argument in arguments:
        for source in _spooled(stdin, spool) if argument == STDIN else _paths(argument):
            found.setdefault(source.uri, source)
    return list(found.values())


def printable(name: str) -> str:
    """A file's name with undecodable bytes and control characters replaced."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(char if char.isprintable() or char == " " else "\N{REPLACEMENT CHARACTER}" for char in text)


def _file(path: Path) -> Found:
    return Found(path=path, uri=path.resolve().as_uri(), name=printable(path.name))


def _paths(argument: str) -> list[Found]:
    if not argument or "\0" in argument:
        raise UsageError(
            f"{printable(argument)!r} is no file name", hint="name a file, a folder, a glob, or - for standard input"
        )
    path = Path(argument)
    try:
        if path.is_dir():
            return _folder(path)
        if path.exists():
            return [_file(path)]
    except OSError as error:
        raise ReadError(f"{printable(argument)} can not be read: {error.strerror}") from error
    if glob.has_magic(argument):
        matches = sorted((Path(name) for name in glob.glob(argument, recursive=True)), key=natural)  # noqa: PTH207
        files = [match for match in matches if match.is_file()]
        if files:
            return [_file(match) for match in files]
        raise ReadError(
            f"No file matches {printable(argument)}", hint="quote the pattern if your shell should not expand it"
        )
    raise ReadError(f"There is no file {printable(argument)}")


def natural(path: Path) -> list[tuple[int, int, str]]:
    """A sort key in which chapter 2 comes before chapter 10."""
    parts = re.split(r"(\d+)", str(path))
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def _folder(path: Path) -> list[Found]:
    if not os.access(path, os.R_OK | os.X_OK):
        raise ReadError(f"The folder {printable(str(path))} can not be read", hint="give yourself read access to it")
    files = [
        Path(folder) / name
        for folder, folders, names in os.walk(path)
        for name in names
        if not _hidden(folders) and not name.startswith(".") and Path(name).suffix.lower() in TEXT_SUFFIXES
    ]
    if not files:
        kinds = ", ".join(sorted(TEXT_SUFFIXES))
        raise ReadError(f"The folder {printable(str(path))} has no readable files", hint=f"looked for {kinds}")
    return [_file(file) for file in sorted(files, key=natural)]


def _hidden(folders: list[str]) -> bool:
    """Keep os.walk out of hidden folders; always False."""
    folders[:] = sorted(name for name in folders if not name.startswith("."))
    return False


def _spooled(stdin: BinaryIO, spool: Path) -> list[Found]:
    # Reading takes more than one pass, so what can be read only once is kept in the state folder.
    spool.mkdir(parents=True, exist_ok=True)
    partial = spool / f"stdin-{os.getpid()}.part"
    digest = hashlib.sha256()
    try:
        with partial.open("wb") as out:
            while block := stdin.read(1 << 20):
                digest.update(block)
                out.write(block)
        final = spool / f"{digest.hexdigest()}.txt"
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)
    return [Found(path=final, uri=f"stdin:{digest.hexdigest()}", name="standard input")]
