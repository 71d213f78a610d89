"""Where bytes come from: a file, or bytes in memory."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pipeline.errors import ReadError


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file on this machine. `open` raises ReadError with the reason when it cannot be opened."""

    path: Path

    @property
    def name(self) -> str:
        """The path as text, with bytes that are no valid name replaced."""
        return str(self.path).encode("utf-8", "replace").decode("utf-8")

    def open(self) -> BinaryIO:
        """Open the file for reading."""
        try:
            return self.path.open("rb")
        except OSError as error:
            raise ReadError(f"{self.name} cannot be opened: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class BytesSource:
    """Bytes already in memory, such as an upload or an archive's entry."""

    name: str
    data: bytes

    def open(self) -> BinaryIO:
        """A fresh stream over the bytes."""
        return io.BytesIO(self.data)
