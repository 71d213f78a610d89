"""How a source that was found is opened: a file, a text of an archive, or the parts of a book."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pipeline.read import registry
from pipeline.read.archives import EntrySource
from pipeline.read.joined import Part, digest_of, read_joined
from pipeline.read.reading import Reading, ReadOptions, Source
from pipeline.read.sources import FileSource
from workers.ingest.find import Found, printable

_NOTHING = hashlib.sha256().digest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Stat:
    """What tells without reading that a source may have changed."""

    size: int | None  # bytes; None where only reading tells it
    mtime_ns: int


def read_found(found: Found, options: ReadOptions) -> Reading:
    """Read a source. Raises ReadError."""
    if found.parts:
        parts = [Part(name=name, source=source) for name, source in _parts(found)]
        return read_joined(found.name, parts, options, registry.read)
    return registry.read(_source(found), options)


def stat_of(found: Found) -> Stat:
    """Size and time of a source. Raises OSError."""
    stat = found.path.stat()
    if found.entry is not None:
        return Stat(size=None, mtime_ns=stat.st_mtime_ns)
    if found.parts and found.path.is_dir():
        stats = [(found.path / name).stat() for name in found.parts]
        return Stat(size=sum(one.st_size for one in stats), mtime_ns=max(one.st_mtime_ns for one in stats))
    return Stat(size=None if found.parts else stat.st_size, mtime_ns=stat.st_mtime_ns)


def sha256_of(found: Found) -> bytes:
    """The hash that a reading of the source would have. Raises OSError or ReadError."""
    if found.parts:
        hashed = ((name, _sha256(source)) for name, source in _parts(found))
        return digest_of((name, sha) for name, sha in hashed if sha != _NOTHING)
    return _sha256(_source(found))


def parts_options(found: Found) -> dict[str, object]:
    """What belongs to the options of a reading of a book in parts: which they are, and in which order."""
    if not found.parts:
        return {}
    names = "\0".join(found.parts).encode("utf-8", "surrogateescape")
    return {"parts": hashlib.sha256(names).hexdigest()}


def title_of(found: Found) -> str:
    """What a source is called that does not say it of itself: the name of its file or folder."""
    if found.entry is not None:
        return printable(Path(found.entry).stem)
    path = found.path.resolve() if found.parts else found.path
    return printable(path.name if found.parts and path.is_dir() else path.stem.removesuffix(".txt"))


def _source(found: Found) -> Source:
    file = FileSource(found.path)
    return EntrySource(file, found.entry) if found.entry is not None else file


def _parts(found: Found) -> list[tuple[str, Source]]:
    if found.path.is_dir():
        return [(printable(name), FileSource(found.path / name)) for name in found.parts]
    archive = FileSource(found.path)
    return [(printable(name), EntrySource(archive, name)) for name in found.parts]


def _sha256(source: Source) -> bytes:
    digest = hashlib.sha256()
    with source.open() as stream:
        while data := stream.read(1 << 20):
            digest.update(data)
    return digest.digest()
