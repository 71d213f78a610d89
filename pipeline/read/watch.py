"""Following a decode over the whole file, to notice late that the bytes are something else than they seemed."""

from __future__ import annotations

from typing import Protocol

from pipeline.read.decode import BlockDecoder
from pipeline.read.guess import SAMPLE_BYTES, guess, is_iso_2022_jp, is_western, sample_of, western

# UTF-8 is given up when it has so few characters of several bytes for each fault: stray bytes are forgiven.
_CHARACTERS_PER_FAULT = 5
_ENOUGH_FAULTS = 64
_FEW_FAULTS = 2  # in a text that is ASCII else: stray bytes, unless they stand where a letter of the West would
_PROOF = 200  # bytes behind the first of their character that prove UTF-8 where there is no fault
_PIECE = 1 << 16
_CERTAIN = 0.5  # a score of guess() from which on stray lines are of another encoding, and not damaged


class Watch(Protocol):
    """Looks at each block beside its decoder."""

    def block(self, data: bytes, text: str, decoder: BlockDecoder) -> None:
        """Look at one block and what it was decoded to."""

    def end(self, decoder: BlockDecoder) -> None:
        """Look at the whole."""


class NotUtf8Error(Exception):
    """The bytes are not UTF-8, or not all of them."""

    def __init__(self, sample: bytes, *, mixed: bool, encoding: str | None = None) -> None:
        super().__init__()
        self.encoding = encoding  # where it is known what they are
        self.sample = sample  # lines with bytes above ASCII that are not UTF-8
        self.mixed = mixed  # a part of the file is UTF-8 all the same


class MixedError(Exception):
    """A part of a file in another encoding is UTF-8."""


class Utf8Watch:
    """Gives up a decode as UTF-8, by raising NotUtf8Error, when the bytes are something that can be named."""

    def __init__(self) -> None:
        self._sample = b""
        self._extra = 0  # bytes behind the first of their character: what only UTF-8 text has
        self._proven = False

    def block(self, data: bytes, text: str, decoder: BlockDecoder) -> None:
        """Look at one block."""
        if data.isascii():
            if b"\x1b$" in data and not self._extra and is_iso_2022_jp(data):
                raise NotUtf8Error(data, mixed=False)
            return
        self._extra += max(0, len(data) - len(text) - 2 * decoder.surrogates)
        self._proven = self._proven or (not decoder.faults and self._extra >= _PROOF)
        if decoder.faults and len(self._sample) < SAMPLE_BYTES:
            self._sample += sample_of(b"\n".join(_not_utf8(data)), SAMPLE_BYTES)
        if decoder.faults >= _ENOUGH_FAULTS:
            self.end(decoder)

    def end(self, decoder: BlockDecoder) -> None:
        """Judge what was seen so far."""
        strange = decoder.faults - decoder.surrogates
        if not strange:
            return
        if self._extra >= _CHARACTERS_PER_FAULT * strange:
            if self._proven and strange >= _ENOUGH_FAULTS and guess(self._sample)[1] >= _CERTAIN:
                raise NotUtf8Error(self._sample, mixed=True)
            return
        if strange <= _FEW_FAULTS and self._extra <= 2 * strange and not decoder.surrogates:  # ASCII else
            if is_western(self._sample):
                raise NotUtf8Error(self._sample, mixed=False, encoding=western(self._sample))
            return
        if self._extra or decoder.surrogates or strange >= _ENOUGH_FAULTS or guess(self._sample)[1]:
            raise NotUtf8Error(self._sample, mixed=self._proven)


class LegacyWatch:
    """Notices by raising MixedError that a part of a file in another encoding is UTF-8."""

    def block(self, data: bytes, text: str, decoder: BlockDecoder) -> None:
        """Look at one block, in pieces of whole lines."""
        del text, decoder
        place = 0
        while place < len(data) and not data.isascii():
            end = data.rfind(b"\n", place, place + _PIECE) + 1 or len(data)
            piece = data[place:end]
            if _behind_first(piece) >= _PROOF:
                raise MixedError
            place = end

    def end(self, decoder: BlockDecoder) -> None:
        """Nothing is left to be judged."""


def _behind_first(piece: bytes) -> int:
    """How many bytes of valid UTF-8 stand behind the first of their character; 0 when it is not valid."""
    try:
        return len(piece) - len(piece.decode("utf-8"))
    except UnicodeDecodeError:
        return 0


def _not_utf8(data: bytes) -> list[bytes]:
    """The lines that are not valid UTF-8, as many as a sample holds."""
    lines, size = [], 0
    for line in data.split(b"\n"):
        if size >= SAMPLE_BYTES:
            break
        if not line.isascii() and not _behind_first(line):
            lines.append(line)
            size += len(line)
    return lines
