"""Texts packed in gzip files and ZIP archives: streamed out under limits, never unpacked to disk by their own names."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from pipeline.errors import ReadError
from pipeline.read.containers import ZIP, container_type
from pipeline.read.reading import Reading, ReadOptions, Source
from pipeline.read.zip_safe import SafeZip, ZipLimits, open_zip

GZIP = "application/gzip"
# Texts in an archive, by the endings of their names.
TEXT_SUFFIXES = frozenset({".txt", ".text", ".md", ".markdown", ".mkd", ".mdown", ".html", ".htm", ".xhtml"})
BOOK_SUFFIXES = frozenset({".epub", ".docx", ".pdf"})
PACKED_SUFFIXES = frozenset({".gz", ".zip", ".7z", ".rar", ".bz2", ".xz", ".zst", ".tar", ".tgz"})
_TRADE_FOLDERS = ("__MACOSX/",)  # what systems put beside a person's files
_BLOCK = 1 << 16


@dataclass(frozen=True, kw_only=True, slots=True)
class PackedLimits:
    """How much a gzip file may unpack to, in bytes."""

    total_bytes: int = 8 << 30
    ratio: int = 200  # unpacked to packed; text stays below 30, and deflate reaches 1,032
    ratio_from: int = 8 << 20  # what unpacks to less may have any ratio


@dataclass(frozen=True, slots=True)
class GzipSource:
    """The text in a gzip file, called by its name without `.gz`."""

    outer: Source
    limits: PackedLimits = PackedLimits()

    @property
    def name(self) -> str:
        """The name that says what the text is: book.md.gz is read as book.md."""
        return self.outer.name.removesuffix(".gz").removesuffix(".GZ")

    def open(self) -> BinaryIO:
        """A stream that ends with a ReadError when the file is damaged or unpacks to more than is allowed."""
        return cast("BinaryIO", io.BufferedReader(_Unpacked(self.outer, self.limits), _BLOCK))


class _Unpacked(io.RawIOBase):
    """The unpacked bytes, counted; the errors of gzip made the project's own."""

    def __init__(self, outer: Source, limits: PackedLimits) -> None:
        self._packed = outer.open()
        self._stream = gzip.GzipFile(fileobj=self._packed, mode="rb")
        self._name, self._limits, self._count = outer.name, limits, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = cast("memoryview", buffer)
        try:
            data = self._stream.read(min(len(view), _BLOCK))
        except (OSError, EOFError, zlib.error) as error:
            raise ReadError(f"{self._name} is a damaged gzip file ({error})") from error
        self._count += len(data)
        self._check()
        view[: len(data)] = data
        return len(data)

    def _check(self) -> None:
        limits = self._limits
        if self._count > limits.total_bytes:
            raise ReadError(f"{self._name} unpacks to more than the {limits.total_bytes >> 30} GiB allowed")
        if self._count > limits.ratio_from and self._count > limits.ratio * max(1, self._packed.tell()):
            raise ReadError(
                f"{self._name} unpacks to more than {limits.ratio} times its size: that is a bomb, not a text"
            )

    def close(self) -> None:
        self._stream.close()
        self._packed.close()
        super().close()


@dataclass(frozen=True, slots=True)
class EntrySource:
    """One text of a ZIP archive."""

    archive: Source
    entry: str
    limits: ZipLimits | None = None

    @property
    def name(self) -> str:
        """The archive's name and the entry's."""
        return f"{self.archive.name}/{self.entry}"

    def open(self) -> BinaryIO:
        """A stream over the entry. Raises ReadError as zip_safe does."""
        archive = open_zip(self.archive, self.limits)
        try:
            stream = archive.open(self.entry)
        except BaseException:
            archive.close()
            raise
        return cast("BinaryIO", io.BufferedReader(_Held(archive, stream), _BLOCK))


class _Held(io.RawIOBase):
    """An entry's stream that closes its archive too."""

    def __init__(self, archive: SafeZip, stream: BinaryIO) -> None:
        self._archive, self._inner = archive, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = cast("memoryview", buffer)
        data = self._inner.read(min(len(view), _BLOCK))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._inner.close()
        self._archive.close()
        super().close()


@dataclass(frozen=True, kw_only=True, slots=True)
class Entries:
    """What an archive holds."""

    names: tuple[str, ...]  # of the texts, as the archive has them
    refused: tuple[tuple[str, str], ...]  # (name or "", reason) of the rest, folders and hidden files left out


def readable_entries(source: Source) -> Entries | None:
    """The texts of a ZIP archive of files, by the endings of their names; None of everything else, books among it.

    The only file of an archive is taken whatever it is called. Raises ReadError when the archive is damaged.
    """
    with source.open() as stream:
        if not stream.read(4).startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return None
    if container_type(source) != ZIP:
        return None
    with open_zip(source) as archive:
        names = [name for name in archive.entries if not _beside(name)]
        refused = [("", warning.message) for warning in archive.warnings]
    wanted = [name for name in names if PurePosixPath(name).suffix.lower() in TEXT_SUFFIXES]
    if not wanted and len(names) == 1 and PurePosixPath(names[0]).suffix.lower() not in PACKED_SUFFIXES | BOOK_SUFFIXES:
        wanted = names
    refused += [(name, _why_not(name)) for name in names if name not in set(wanted)]
    return Entries(names=tuple(wanted), refused=tuple(refused))


def _beside(name: str) -> bool:
    return name.startswith(_TRADE_FOLDERS) or any(part.startswith(".") for part in name.split("/"))


def _why_not(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    if suffix.lower() in PACKED_SUFFIXES:
        return "an archive within an archive; unpack it first"
    if suffix.lower() in BOOK_SUFFIXES:
        return "a book within an archive; unpack it first"
    return f"not a kind of text ({suffix or 'no ending'})"


@dataclass(frozen=True, slots=True)
class _Within:
    """Reads what is in an archive by the reader of what it is; the registry gives the two functions."""

    find_type: Callable[[Source], str]
    read: Callable[[Source, ReadOptions, str], Reading]

    def of(self, inner: Source, outer: Source, by: str, options: ReadOptions) -> Reading:
        with inner.open() as stream:
            if stream.read(4).startswith((b"PK", b"\x1f\x8b")):
                raise ReadError(f"{outer.name} holds an archive within an archive", hint="unpack it first")
        media_type = self.find_type(inner)
        if not media_type.startswith("text/") and media_type != "application/xhtml+xml":
            raise ReadError(f"{outer.name} holds no text but {media_type}", hint="unpack it first")
        return packed(self.read(inner, options, media_type), outer, by)


class GzipReader:
    """A text in a gzip file, read by the reader of what it is."""

    name = "gzip"
    version = 1
    media_types: tuple[str, ...] = (GZIP,)

    def __init__(self, find_type: Callable[[Source], str], read: Callable[[Source, ReadOptions, str], Reading]) -> None:
        self._within = _Within(find_type, read)

    def read(self, source: Source, options: ReadOptions) -> Reading:
        """Read the text; source hash and size are those of the gzip file. Raises ReadError as that reader does."""
        return self._within.of(GzipSource(source), source, self.name, options)


class ZipReader:
    """The one text of a ZIP archive. Of several, ingest makes a document each, or one book of them all."""

    name = "zip"
    version = 1
    media_types: tuple[str, ...] = (ZIP,)

    def __init__(self, find_type: Callable[[Source], str], read: Callable[[Source, ReadOptions, str], Reading]) -> None:
        self._within = _Within(find_type, read)

    def read(self, source: Source, options: ReadOptions) -> Reading:
        """Read the text; source hash and size are those of the archive. Raises ReadError when there is not just one."""
        found = readable_entries(source)
        names = found.names if found else ()
        if len(names) != 1:
            what = f"holds {len(names)} texts" if names else "holds no text"
            hint = "each is a document of its own, or with --as-book all are one" if names else None
            raise ReadError(f"{source.name} {what}", hint=hint)
        return self._within.of(EntrySource(source, names[0]), source, self.name, options)


def packed(reading: Reading, source: Source, by: str) -> Reading:
    """A reading of what was in an archive, as one of the archive itself."""
    digest, size = hashlib.sha256(), 0
    with source.open() as stream:
        while data := stream.read(1 << 20):
            digest.update(data)
            size += len(data)
    return replace(reading, source_sha256=digest.digest(), byte_count=size, reader=f"{by}+{reading.reader}")
