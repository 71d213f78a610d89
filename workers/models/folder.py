"""Folders of local models: where they are, and the fingerprint of what makes their answers."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from pipeline import canonical
from pipeline.errors import SettingsError
from pipeline.ops.values import Json

_BLOCK = 1 << 22
_WEIGHTS = (".safetensors", ".npz", ".gguf", ".bin")
_SMALL = (".json", ".jinja", ".txt", ".model", ".py")  # config, tokenizer, template, and code a config may name
CACHE = "fingerprints.json"


def find_model(name: str, where: str) -> Path:
    """The folder of a model: a path, or a hub's name that is here or can be fetched. Raises SettingsError."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if name.startswith((".", "/", "~")) or name.count("/") != 1:
        raise SettingsError(f"{where}: there is no model folder {name!r}")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise SettingsError(
            f"{where}: there is no model folder {name!r}", hint="pip install 'octavo[mlx]' fetches"
        ) from error
    try:
        return Path(snapshot_download(name, allow_patterns=[f"*{ending}" for ending in _WEIGHTS[:1] + _SMALL]))
    except Exception as error:  # the hub's library raises a dozen kinds, network errors among them
        raise SettingsError(
            f"{where}: the model {name!r} is in no folder here and could not be fetched",
            cause=f"{type(error).__name__}: {error}".splitlines()[0],
            hint="give the path of a model folder",
        ) from error


def fingerprint(folders: Sequence[Path], cache: Path) -> str:
    """SHA-256 over the names and bytes of weights, config, tokenizer and template of a model and its adapters.

    The hash of a file is kept in `cache` by path, size and time of change, for weights are large.
    """
    known = _known(cache)
    found: dict[str, Json] = {}
    parts: list[list[str]] = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in _WEIGHTS + _SMALL:
                entry = _entry(path, known)
                found[str(path.resolve())] = entry
                parts.append([str(path.relative_to(folder)), entry["sha256"]])
    if any(known.get(name) != entry for name, entry in found.items()):
        _keep(cache, known | found)
    return canonical.digest(parts).hex()


def _entry(path: Path, known: dict[str, Json]) -> dict[str, Json]:
    status = path.stat()
    stamp = [status.st_size, status.st_mtime_ns]
    old = known.get(str(path.resolve()))
    if old is not None and old["stamp"] == stamp:
        return dict(old)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return {"stamp": stamp, "sha256": digest.hexdigest()}


def _known(cache: Path) -> dict[str, Json]:
    try:
        found = canonical.loads(cache.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _keep(cache: Path, entries: dict[str, Json]) -> None:
    partial = cache.with_name(f"{cache.name}.{os.getpid()}")
    with contextlib.suppress(OSError):  # only a cache: without it the next command hashes again
        cache.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(canonical.dumps(entries))
        partial.replace(cache)
