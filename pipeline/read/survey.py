"""One streaming pass over a source: decode, hash, count, and hand the text on to whoever looks for structure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from pipeline.errors import EmptyError, ReadError
from pipeline.read.decode import MIXED, BlockDecoder, byte_blocks, decoder_for, encoding_name
from pipeline.read.guess import guess, guess_utf16, is_iso_2022_jp
from pipeline.read.line_ends import LineEnds
from pipeline.read.reading import LineEnding, Reader, Reading, ReadOptions, ReadWarning, Source
from pipeline.read.sniff import sniff
from pipeline.read.tree import Structure
from pipeline.read.watch import LegacyWatch, MixedError, NotUtf8Error, Utf8Watch, Watch

_BOM = "\ufeff"
# No Unicode space, but nothing to see either: a file of these alone is as good as empty.
_UNSEEN = " \t\n\r\f\v\0\u00a0\u00ad\u180e\u200b\u200c\u200d\u2060\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\f")) + b"\x7f"
_BINARY_CONTROLS = bytes(set(range(1, 0x20)) - set(b"\t\n\r\f\v\x1a\x1b"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """What one pass found out about a source."""

    encoding: str
    source_sha256: bytes
    text_sha256: bytes
    byte_count: int
    char_count: int
    line_count: int
    line_endings: tuple[LineEnding, ...]
    warnings: tuple[ReadWarning, ...]


def survey(source: Source, options: ReadOptions, new_sink: Callable[[], Callable[[str], None]]) -> Survey:
    """Read the source once (twice when its encoding shows only late) and feed its text to a sink.

    `new_sink` makes a sink for a fresh pass; a sink takes the text block by block. Raises ReadError when the source
    is empty or no text, UsageError when the forced encoding does not exist.
    """
    if options.encoding is not None:
        return _Pass(source, _forced(source, options.encoding), new_sink()).run()
    head = _head(source)
    encoding = sniff(head) or guess_utf16(head)
    if encoding is not None:
        return _Pass(source, encoding, new_sink()).run()
    _refuse_binary(source, head)
    try:
        _glance(head)
        return _Pass(source, "utf-8", new_sink(), Utf8Watch()).run()
    except NotUtf8Error as found:
        sample, is_mixed, known = found.sample, found.mixed, found.encoding
    if is_iso_2022_jp(sample):
        return _Pass(source, "iso2022_jp_ext", new_sink()).run()
    encoding, score = (known, 1.0) if known else guess(sample)
    warnings = () if score else (_uncertain(encoding),)
    try:
        if not is_mixed:
            return _Pass(source, encoding, new_sink(), LegacyWatch(), warnings).run()
    except MixedError:
        pass
    return _Pass(source, f"{MIXED}{encoding}", new_sink(), warnings=(*warnings, _mixed(encoding))).run()


def text_blocks(source: Source, encoding: str, source_sha256: bytes) -> Iterator[str]:
    """The text of a source that was surveyed before, streamed. Raises ReadError at its end when the bytes changed."""
    decoder, ends, digest = decoder_for(encoding), LineEnds(), hashlib.sha256()
    first = True
    with source.open() as stream:
        for data in byte_blocks(stream, source.name):
            digest.update(data)
            text = ends.feed(decoder.decode(data))
            if first and text:
                text, first = text.removeprefix(_BOM), False
            if text:
                yield text
    text = ends.feed(decoder.decode(b"", final=True), final=True)
    if text:
        yield text.removeprefix(_BOM) if first else text
    if digest.digest() != source_sha256:
        raise ReadError(f"{source.name} changed while it was read; read it again")


class _Pass:
    def __init__(
        self,
        source: Source,
        encoding: str,
        sink: Callable[[str], None],
        watch: Watch | None = None,
        warnings: tuple[ReadWarning, ...] = (),
    ) -> None:
        self._source, self._encoding, self._sink, self._watch = source, encoding, sink, watch
        self._warnings = list(warnings)
        self._decoder, self._ends = decoder_for(encoding), LineEnds()
        self._source_hash, self._text_hash = hashlib.sha256(), hashlib.sha256()
        self._bytes = self._chars = self._lines = 0
        self._nuls = self._controls = 0
        self._first_control: int | None = None
        self._last, self._seen = "", False

    def run(self) -> Survey:
        with self._source.open() as stream:
            for data in byte_blocks(stream, self._source.name):
                self._source_hash.update(data)
                self._bytes += len(data)
                decoded = self._decoder.decode(data)
                if self._watch is not None:
                    self._watch.block(data, decoded, self._decoder)
                self._take(self._ends.feed(decoded))
        self._take(self._ends.feed(self._decoder.decode(b"", final=True), final=True))
        if self._watch is not None:
            self._watch.end(self._decoder)
        if not self._seen:
            raise EmptyError(f"{self._source.name} is empty")
        return self._survey()

    def _take(self, text: str) -> None:
        if not self._chars:
            text = text.removeprefix(_BOM)
        if not text:
            return
        encoded = text.encode("utf-8")
        self._text_hash.update(encoded)
        self._count_controls(text, encoded)
        self._chars += len(text)
        self._lines += text.count("\n")
        self._last = text[-1]
        self._seen = self._seen or bool(text.strip(_UNSEEN))
        self._sink(text)

    def _count_controls(self, text: str, encoded: bytes) -> None:
        found = len(encoded) - len(encoded.translate(None, _CONTROLS))
        if b"\xc2" in encoded:
            found += len(re.findall(rb"\xc2[\x80-\x9f]", encoded))
        if not found:
            return
        if self._first_control is None:
            first = re.search(r"[\x00-\x08\x0b\x0d-\x1f\x7f-\x9f]", text)
            self._first_control = self._lines + 1 + (text.count("\n", 0, first.start()) if first else 0)
        nuls = encoded.count(0)
        self._nuls += nuls
        self._controls += found - nuls

    def _survey(self) -> Survey:
        return Survey(
            encoding=self._encoding,
            source_sha256=self._source_hash.digest(),
            text_sha256=self._text_hash.digest(),
            byte_count=self._bytes,
            char_count=self._chars,
            line_count=self._lines + (self._last != "\n"),
            line_endings=self._ends.runs(),
            warnings=tuple(self._warnings + self._faults()),
        )

    def _faults(self) -> list[ReadWarning]:
        faults = []
        if self._decoder.faults:
            what = f"{self._decoder.faults} place(s) are no valid {self._encoding} and were read as U+FFFD"
            more = f" ({self._decoder.surrogates} of them surrogates)" if self._decoder.surrogates else ""
            at = self._decoder.first_fault
            faults.append(
                ReadWarning(code="invalid-bytes", message=f"{what}{more}; the first is at byte {at}", byte_offset=at)
            )
        for count, code, what in (
            (self._nuls, "nul-characters", "NUL character(s)"),
            (self._controls, "control-characters", "control character(s)"),
        ):
            if count:
                faults.append(
                    ReadWarning(code=code, message=f"{count} {what} are kept as they are", line=self._first_control)
                )
        if not self._ends.complete:
            message = "the line ends change so often that source offsets far into the file are not exact"
            faults.append(ReadWarning(code="line-ends-mixed", message=message))
        return faults


def _forced(source: Source, name: str) -> str:
    """The codec of a forced encoding; UTF-16 and UTF-32 are of the byte order that shows, little-endian where none."""
    encoding = encoding_name(name)
    if encoding not in ("utf-16", "utf-32"):
        return encoding
    shown = sniff(_head(source)) or ""
    return shown if shown.startswith(encoding) else f"{encoding}-le"


def _head(source: Source) -> bytes:
    with source.open() as stream:
        return next(byte_blocks(stream, source.name), b"")[: 1 << 16]


def _glance(head: bytes) -> None:
    """Raise NotUtf8Error when the first bytes alone tell it, before a pass is begun."""
    decoder = BlockDecoder("utf-8")
    Utf8Watch().block(head, decoder.decode(head), decoder)


def _refuse_binary(source: Source, head: bytes) -> None:
    """Text has next to no control characters (NUL padding apart); compressed or compiled bytes are full of them."""
    sample = head.replace(b"\0", b"")
    controls = len(sample) - len(sample.translate(None, _BINARY_CONTROLS))
    try:
        sample[:-4].decode("utf-8")
        limit = 0.3
    except UnicodeDecodeError:
        limit = 0.03
    if len(sample) < 8 and b"\0" in head and controls:
        limit = 0.0
    if controls > limit * len(sample):
        raise ReadError(f"{source.name} is not text: {controls} of its first {len(head)} bytes are control characters")


def _mixed(encoding: str) -> ReadWarning:
    message = f"some lines are UTF-8 and others are not; those were read as {encoding}"
    return ReadWarning(code="encoding-mixed", message=message)


def _uncertain(encoding: str) -> ReadWarning:
    message = f"the encoding could not be told for certain and was read as {encoding}; --encoding forces another"
    return ReadWarning(code="encoding-uncertain", message=message)


def reading_of(source: Source, found: Survey, reader: Reader, structure: Structure) -> Reading:
    """The reading that a survey and the structure found in the same pass make together."""
    return Reading(
        media_type=reader.media_types[0],
        reader=reader.name,
        reader_version=reader.version,
        encoding=found.encoding,
        title=structure.title,
        source_sha256=found.source_sha256,
        text_sha256=found.text_sha256,
        byte_count=found.byte_count,
        char_count=found.char_count,
        line_count=found.line_count,
        sections=structure.sections,
        line_endings=found.line_endings,
        warnings=(*found.warnings, *structure.warnings),
        blocks=partial(text_blocks, source, found.encoding, found.source_sha256),
    )
