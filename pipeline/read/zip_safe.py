"""ZIP archives read under limits: nothing is unpacked to disk, and no entry is trusted to be what it says.

Used by the readers of EPUB and DOCX, and by whatever reads archives of texts.
"""

from __future__ import annotations

import io
import lzma
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from dataclasses import dataclass, field
from types import TracebackType
from typing import BinaryIO, NoReturn, Self, cast

from pipeline.errors import ReadError
from pipeline.read.reading import ReadWarning, Source

_END = b"PK\x05\x06"
_END_SIZE = 22
_END64 = b"PK\x06\x06"
_LOCATOR64 = b"PK\x06\x07"
_DRIVE = re.compile(r"[A-Za-z]:")
_BLOCK = 1 << 16
# What zipfile raises for archives that are not what they say.
DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, OverflowError, RuntimeError,
    ValueError,
)  # fmt: skip


class ZipLimitError(ReadError):
    """The archive unpacks to more than is allowed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ZipLimits:
    """How much an archive may hold. Sizes in bytes, unpacked."""

    entries: int = 50_000
    directory_bytes: int = 16 << 20  # of the central directory, which is held in memory
    entry_bytes: int = 256 << 20
    total_bytes: int = 1 << 30  # of all that is read, whatever else is in the archive
    ratio: int = 200  # unpacked to packed; text stays below 30, and deflate reaches 1,032
    ratio_from: int = 8 << 20  # entries that unpack to less may have any ratio


@dataclass(frozen=True, kw_only=True, slots=True)
class ZipEntry:
    """A file in an archive."""

    name: str  # with "/" between folders; never absolute, never with ".."
    size: int  # unpacked, as the archive says
    packed: int


@dataclass(slots=True)
class SafeZip:
    """An open archive. Close it, or use it in a `with` statement.

    Symbolic links, names that lead out of the archive, and names no file system could hold are in `warnings` instead
    of `entries`. Of several entries of one name the last counts, as the archive's own directory has it.
    """

    name: str  # of the archive, for messages
    limits: ZipLimits
    entries: dict[str, ZipEntry]
    warnings: list[ReadWarning]
    _archive: zipfile.ZipFile
    _stream: BinaryIO
    _infos: dict[str, zipfile.ZipInfo]
    _folded: dict[str, str]
    _read: int = field(default=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()
        self._stream.close()

    def find(self, name: str) -> ZipEntry | None:
        """The entry of a name; if there is none, the one that differs only in case or in how accents are composed."""
        return self.entries.get(name) or self.entries.get(self._folded.get(_fold(name), ""))

    def open(self, name: str) -> BinaryIO:
        """A stream over an entry that ends with a ZipLimitError when more comes out than the limits allow.

        Raises ReadError when there is no such entry, or it is encrypted or damaged; ZipLimitError over the limits.
        """
        entry = self.entries.get(name)
        if entry is None:
            raise ReadError(f"{self.name} has no entry {name}")
        limits = self.limits
        if entry.size > limits.entry_bytes:
            self._limit(name, f"unpacks to {_size(entry.size)}, more than the {_size(limits.entry_bytes)} allowed")
        if entry.size > limits.ratio_from and entry.size > limits.ratio * max(1, entry.packed):
            times = entry.size // max(1, entry.packed)
            self._limit(name, f"unpacks to {_size(entry.size)}, {times} times its size: it is a ZIP bomb, no text")
        try:
            return cast(
                "BinaryIO", io.BufferedReader(_Bounded(self, name, self._archive.open(self._infos[name])), _BLOCK)
            )
        except DAMAGE as error:
            self._refuse(name, _why(error))

    def read(self, name: str) -> bytes:
        """An entry, whole. Raises ReadError as `open` does."""
        with self.open(name) as stream:
            return stream.read()

    def _refuse(self, name: str, why: str) -> NoReturn:
        raise ReadError(f"{self.name}: its entry {name} {why}")

    def _limit(self, name: str, why: str) -> NoReturn:
        raise ZipLimitError(f"{self.name}: its entry {name} {why}")

    def _account(self, name: str, count: int, so_far: int) -> None:
        self._read += count
        if so_far > self.limits.entry_bytes:
            self._limit(name, f"unpacks to more than the {_size(self.limits.entry_bytes)} allowed")
        if self._read > self.limits.total_bytes:
            raise ZipLimitError(f"{self.name} unpacks to more than the {_size(self.limits.total_bytes)} allowed")


class _Bounded(io.RawIOBase):
    """One entry's bytes, counted; the errors of the archive made the project's own."""

    def __init__(self, archive: SafeZip, name: str, stream: object) -> None:
        self._zip, self._name, self._inner = archive, name, cast("BinaryIO", stream)
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = cast("memoryview", buffer)
        try:
            data = self._inner.read(min(len(view), _BLOCK))
        except DAMAGE as error:
            self._zip._refuse(self._name, _why(error))
        self._count += len(data)
        self._zip._account(self._name, len(data), self._count)
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._inner.close()
        super().close()


def open_zip(source: Source, limits: ZipLimits | None = None) -> SafeZip:
    """Open an archive. Raises ReadError when it is none, is damaged, or has more entries than allowed."""
    limits = limits or ZipLimits()
    stream = source.open()
    try:
        _check_directory(stream, source.name, limits)
        archive = zipfile.ZipFile(stream)
    except DAMAGE as error:
        stream.close()
        raise ReadError(f"{source.name} is a damaged ZIP archive ({error})") from error
    except ReadError:
        stream.close()
        raise
    infos, warnings = _infos(archive)
    entries = {
        name: ZipEntry(name=name, size=info.file_size, packed=info.compress_size) for name, info in infos.items()
    }
    folded = {_fold(name): name for name in reversed(infos)}
    return SafeZip(name=source.name, limits=limits, entries=entries, warnings=warnings, _archive=archive,
                   _stream=stream, _infos=infos, _folded=folded)  # fmt: skip


def unsafe_name(name: str) -> str | None:
    """Why an entry's name ("/" between folders) can not be a path inside the archive, or None when it can."""
    if not name or "\0" in name or len(name) > 4096:
        return "is no file name"
    if name.startswith("/") or _DRIVE.match(name):
        return "is an absolute path"
    if ".." in name.split("/"):
        return "leads out of the archive"
    return None


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _infos(archive: zipfile.ZipFile) -> tuple[dict[str, zipfile.ZipInfo], list[ReadWarning]]:
    infos: dict[str, zipfile.ZipInfo] = {}
    warnings: list[ReadWarning] = []
    for info in archive.infolist():
        # What the archive wrote is judged, for zipfile cuts names at a NUL; some archives of Windows write "\\".
        name = info.orig_filename.replace("\\", "/")
        why = unsafe_name(name)
        if why is None and stat.S_ISLNK(info.external_attr >> 16):
            why = "is a symbolic link"
        if why is not None:
            warnings.append(ReadWarning(code="entry-refused", message=f"entry {name!r} {why}; it was left out"))
        elif not name.endswith("/"):
            if name in infos:
                message = f"there are several entries {name!r}; the last one was read"
                warnings.append(ReadWarning(code="entry-duplicate", message=message))
            infos[name] = info
    return infos, warnings


def _check_directory(stream: BinaryIO, name: str, limits: ZipLimits) -> None:
    """Refuse too many entries before they are all held in memory."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - _END_SIZE - 0xFFFF))
    tail = stream.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise ReadError(f"{name} is a damaged ZIP archive: its end is missing")
    count, directory = struct.unpack_from("<HI", tail, at + 10)
    locator = tail.rfind(_LOCATOR64, 0, at)
    if locator >= 0 and locator == at - 20:
        (place,) = struct.unpack_from("<Q", tail, locator + 8)
        if place < size:
            stream.seek(place)
            record = stream.read(56)
            if len(record) == 56 and record.startswith(_END64):
                count, directory = struct.unpack_from("<QQ", record, 32)
    if count > limits.entries or directory > limits.directory_bytes:
        raise ZipLimitError(f"{name} has {count} entries, more than the {limits.entries} allowed")


def _why(error: BaseException) -> str:
    text = str(error)
    if "encrypted" in text or "password" in text:
        return "is encrypted"
    if isinstance(error, NotImplementedError):
        return f"is packed in a way that can not be read ({text.lower()})"
    return f"is damaged ({text})" if text else "is damaged"


def _size(count: int) -> str:
    return f"{count / (1 << 20):.0f} MiB" if count >= 1 << 20 else f"{count} bytes"
