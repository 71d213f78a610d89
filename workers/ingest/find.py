"""Which sources a person means: a file, a folder, a glob, the texts of an archive, or standard input."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from pipeline.errors import ReadError, UsageError
from pipeline.read.archives import readable_entries
from pipeline.read.numerals import HAN_NUMERAL, parse_number
from pipeline.read.sources import FileSource

# In a folder, files of these names are looked at; what they are is decided by their content. A file that is named
# itself is always looked at.
TEXT_SUFFIXES = {".txt", ".text", ".md", ".markdown", ".mkd", ".gz", ".zip"} | {
    ".epub", ".html", ".htm", ".xhtml", ".docx", ".pdf"
}  # fmt: skip
STDIN = "-"
_PIECES = re.compile(rf"([0-9０-９]+|第[{HAN_NUMERAL}]+|/)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A source on disk. `uri` names its document."""

    path: Path
    uri: str
    name: str  # fit for printing
    entry: str | None = None  # the one text of the archive `path` that is meant
    parts: tuple[str, ...] = ()  # the chapter files within the folder or archive `path`, in order, that are one book


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """Something in a folder or archive that is no source, and why."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What the arguments name: sources, each once, in order, and what was left out."""

    sources: tuple[Found, ...]
    skipped: tuple[Skipped, ...]


@dataclass(slots=True)
class _Search:
    spool: Path
    as_book: bool
    found: dict[str, Found] = field(default_factory=dict)
    skipped: dict[str, Skipped] = field(default_factory=dict)

    def add(self, source: Found) -> None:
        self.found.setdefault(source.uri, source)

    def skip(self, path: Path, reason: str) -> None:
        name = printable(str(path))
        self.skipped.setdefault(name, Skipped(name=name, reason=reason))


def find(arguments: Sequence[str], spool: Path, stdin: BinaryIO) -> list[Found]:
    """The sources that the arguments name, each once, in order. Raises ReadError or UsageError."""
    return list(look(arguments, spool, stdin).sources)


def look(arguments: Sequence[str], spool: Path, stdin: BinaryIO, *, as_book: bool = False) -> Finding:
    """The sources that the arguments name, and what was left out. `as_book`: each folder or archive is one book.

    Raises ReadError when there is none, UsageError for an argument that can name none.
    """
    search = _Search(spool, as_book)
    for argument in arguments:
        if argument == STDIN:
            search.add(_spooled(stdin, spool))
        else:
            _argument(argument, search)
    return Finding(sources=tuple(search.found.values()), skipped=tuple(search.skipped.values()))


def printable(name: str) -> str:
    """A file's name with undecodable bytes and control characters replaced."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(char if char.isprintable() or char == " " else "\N{REPLACEMENT CHARACTER}" for char in text)


def natural(path: Path | str) -> list[tuple[int, int, str]]:
    """A sort key in which chapter 2 comes before chapter 10, and 第二章 before 第十章."""
    key = []
    for part in _PIECES.split(str(path).casefold()):
        if part and part.isdecimal():
            key.append((1, int(part[:18]), part))
        elif part and part[0] == "第" and len(part) > 1:
            key.append((1, parse_number(part[1:]) or 0, part))
        elif part:
            key.append((0 if part == "/" else 2, 0, part))
    return [*key, (0, 0, str(path))]


def _file(path: Path) -> Found:
    return Found(path=path, uri=path.resolve().as_uri(), name=printable(path.name))


def _argument(argument: str, search: _Search) -> None:
    if not argument or "\0" in argument:
        raise UsageError(
            f"{printable(argument)!r} is no file name", hint="name a file, a folder, a glob, or - for standard input"
        )
    path = Path(argument)
    try:
        if path.is_dir():
            _folder(path, search)
            return
        if path.exists():
            _named(path, search)
            return
    except OSError as error:
        raise ReadError(f"{printable(argument)} can not be read: {error.strerror}") from error
    if not glob.has_magic(argument):
        raise ReadError(f"There is no file {printable(argument)}")
    matches = sorted((Path(name) for name in glob.glob(argument, recursive=True)), key=natural)  # noqa: PTH207
    files = [match for match in matches if match.is_file()]
    if not files:
        raise ReadError(
            f"No file matches {printable(argument)}", hint="quote the pattern if your shell should not expand it"
        )
    for match in files:
        _named(match, search)


def _named(path: Path, search: _Search) -> None:
    """A file that a person named: read whatever it is called, and through a link if it is one."""
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode):
        with path.open("rb") as stream:
            search.add(_spooled(stream, search.spool))
        return
    if not stat.S_ISREG(mode):
        raise ReadError(f"{printable(str(path))} is no file", hint="name a file, a folder, or - for standard input")
    for source in _expanded(path, search):
        search.add(source)


def _expanded(path: Path, search: _Search) -> Iterator[Found]:
    """A file as it is, or the texts of an archive: each a document of its own, or all one book."""
    entries = readable_entries(FileSource(path))
    if entries is None:
        yield _file(path)
        return
    for name, reason in entries.refused:
        search.skip(path / name if name else path, reason)
    names = sorted(entries.names, key=natural)
    whole = _file(path)
    if len(names) < 2:
        yield whole  # its one text; or none, as reading it says
        return
    if search.as_book:
        yield Found(path=path, uri=whole.uri, name=whole.name, parts=tuple(names))
        return
    for name in names:
        uri = f"{whole.uri}#{quote(name)}"
        yield Found(path=path, uri=uri, name=printable(f"{path.name}/{name}"), entry=name)


def _folder(path: Path, search: _Search) -> None:
    if not os.access(path, os.R_OK | os.X_OK):
        raise ReadError(f"The folder {printable(str(path))} can not be read", hint="give yourself read access to it")
    files = sorted(_walk(path, search), key=lambda file: natural(file.relative_to(path)))
    if not files:
        kinds = ", ".join(sorted(TEXT_SUFFIXES))
        raise ReadError(f"The folder {printable(str(path))} has no readable files", hint=f"looked for {kinds}")
    if search.as_book:
        name = printable(path.resolve().name)
        parts = tuple(str(file.relative_to(path)) for file in files)
        search.add(Found(path=path, uri=path.resolve().as_uri(), name=name, parts=parts))
        return
    for file in files:
        try:
            for source in _expanded(file, search):
                search.add(source)
        except ReadError:
            search.add(_file(file))  # reading it says what is wrong with it, beside what becomes of the others


def _walk(path: Path, search: _Search) -> Iterator[Path]:
    """The files of a folder that may be texts. Links are not followed: what they lead to may lie anywhere."""
    for folder, folders, names in os.walk(path, onerror=lambda error: _unreadable(error, search)):
        for name in folders:
            if not name.startswith(".") and (Path(folder) / name).is_symlink():
                search.skip(Path(folder) / name, "a symbolic link; name the folder itself to have it read")
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            file = Path(folder) / name
            why = _why_not(file)
            if why is None:
                yield file
            elif why:
                search.skip(file, why)


def _why_not(file: Path) -> str | None:
    """Why a file of a folder is left out; "" for hidden ones, None when it is not."""
    if file.name.startswith("."):
        return ""
    try:
        mode = file.lstat().st_mode
    except OSError as error:
        return error.strerror or "can not be read"
    if stat.S_ISLNK(mode):
        return "a symbolic link; name the file itself to have it read"
    if not stat.S_ISREG(mode):
        return "no regular file"
    if file.suffix.lower() not in TEXT_SUFFIXES:
        return f"not a kind of file that is looked for ({file.suffix or 'no ending'}); name it to have it read"
    return None


def _unreadable(error: OSError, search: _Search) -> None:
    search.skip(Path(str(error.filename)), error.strerror or "can not be read")


def _spooled(stdin: BinaryIO, spool: Path) -> Found:
    """What can be read only once, kept in the state folder: reading takes more than one pass."""
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
    return Found(path=final, uri=f"stdin:{digest.hexdigest()}", name="standard input")
