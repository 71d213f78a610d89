"""Streaming decode: bytes in blocks of about 1 MiB to text, with every fault counted and none fatal."""

from __future__ import annotations

import codecs
import threading
from collections.abc import Iterator
from typing import BinaryIO

from pipeline.errors import ReadError, UsageError

BLOCK_BYTES = 1 << 20
MIXED = "utf-8+"
_ERRORS = "octavo-count"
# Codecs of Python that turn bytes into text but are no encoding of books: several of them can make lone surrogates.
_NOT_FOR_BOOKS = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7", "mbcs"})
_at_work = threading.local()


def byte_blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """The stream in blocks of at most about 2 MiB, cut behind a line feed byte where there is one."""
    held = b""
    while True:
        try:
            data = stream.read(BLOCK_BYTES)
        except OSError as error:
            raise ReadError(f"{name} cannot be read: {error.strerror or error}") from error
        if not data:
            break
        cut = data.rfind(b"\n") + 1
        if not cut:  # a giant line goes on as it comes
            yield held + data
            held = b""
            continue
        yield held + data[:cut]
        held = data[cut:]
    if held:
        yield held


def encoding_name(name: str) -> str:
    """The codec name of a text encoding that somebody asked for. Raises UsageError when there is no such encoding."""
    try:
        info = codecs.lookup(name)
        decoder = codecs.getincrementaldecoder(info.name)()
        text = decoder.decode(b"")
    except (LookupError, UnicodeError, ValueError, TypeError, AssertionError) as error:
        raise UsageError(
            f"there is no text encoding named {name!r}; try utf-8, gb18030, big5, cp932 or cp1252"
        ) from error
    if not isinstance(text, str) or info.name.replace("_", "-") in _NOT_FOR_BOOKS:
        raise UsageError(f"{name!r} is not an encoding that books are written in; try utf-8, gb18030 or cp1252")
    return "utf-8" if info.name == "utf-8-sig" else info.name


class BlockDecoder:
    """Decodes blocks in order. Bytes that are no character become U+FFFD; their count and first offset are kept.

    A surrogate written as UTF-8 (CESU-8) is one fault and one U+FFFD, so that no lone surrogate reaches the text.
    """

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self.faults = 0
        self.surrogates = 0  # how many of the faults are surrogates written as UTF-8
        self.first_fault: int | None = None  # byte offset into the source
        self._decoder = codecs.getincrementaldecoder(encoding)(_ERRORS)
        self._taken = 0  # bytes given so far
        self._base = 0  # source offset of the first byte that the codec sees in this call

    def decode(self, data: bytes, *, final: bool = False) -> str:
        """Text of the block; a character cut by its end comes with the next one."""
        self._base = self._taken - len(self._decoder.getstate()[0])
        self._taken += len(data)
        _at_work.decoder = self
        try:
            return self._decoder.decode(data, final)
        finally:
            _at_work.decoder = None

    def note(self, start: int, *, surrogate: bool) -> None:
        """Count one fault at an offset into the bytes that the codec sees now."""
        self.faults += 1
        self.surrogates += surrogate
        if self.first_fault is None:
            self.first_fault = self._base + start


class MixedDecoder(BlockDecoder):
    """Decodes each line that is valid UTF-8 as such, and the others by a second encoding.

    For files that were joined from parts of two encodings; the second one must be a superset of ASCII. Blocks end with
    whole lines, but for giant lines.
    """

    def __init__(self, encoding: str) -> None:
        super().__init__(encoding)
        self.encoding = f"{MIXED}{encoding}"

    def decode(self, data: bytes, *, final: bool = False) -> str:
        """Text of the block; its lines are whole, so that the last block is like the others."""
        del final
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return "".join(self._line(line) for line in data.splitlines(keepends=True))
        self._taken += len(data)
        return text

    def _line(self, line: bytes) -> str:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            return super().decode(line, final=True)
        self._taken += len(line)
        return text


def decoder_for(encoding: str) -> BlockDecoder:
    """The decoder of an encoding that a survey found: a codec's name, or one with `utf-8+` before it."""
    if encoding.startswith(MIXED):
        return MixedDecoder(encoding.removeprefix(MIXED))
    return BlockDecoder(encoding)


def _count_and_replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    surrogate = (
        error.encoding == "utf-8"
        and data[start] == 0xED
        and len(data) > start + 2
        and 0xA0 <= data[start + 1] <= 0xBF
        and 0x80 <= data[start + 2] <= 0xBF
    )
    decoder = _at_work.decoder
    if isinstance(decoder, BlockDecoder):
        decoder.note(start, surrogate=surrogate)
    return "\ufffd", start + 3 if surrogate else error.end


codecs.register_error(_ERRORS, _count_and_replace)
