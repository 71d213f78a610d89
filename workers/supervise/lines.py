"""The children's output, cut into lines."""

from __future__ import annotations

import os
from collections.abc import Iterator

MOST_BYTES = 16 * 1024  # a longer line is cut into several: no child can fill the supervisor's memory
BITE = 64 * 1024


class LineReader:
    """Reads a pipe without waiting. Bytes that are not UTF-8 are shown as U+FFFD."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.ended = False
        self._rest = b""

    def read(self) -> Iterator[str]:
        """The lines that have come since; at the end also one without its line feed."""
        try:
            data = os.read(self.descriptor, BITE)
        except BlockingIOError:
            return
        if not data:
            self.ended = True
            if self._rest:
                yield self._text(self._rest)
                self._rest = b""
            return
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            yield from self._pieces(line)
        if len(self._rest) > MOST_BYTES:
            yield from self._pieces(self._rest)
            self._rest = b""

    def _pieces(self, line: bytes) -> Iterator[str]:
        for at in range(0, max(1, len(line)), MOST_BYTES):
            yield self._text(line[at : at + MOST_BYTES])

    @staticmethod
    def _text(line: bytes) -> str:
        return line.decode("utf-8", "replace").rstrip("\r")
