"""The encoding of HTML and XHTML: by byte order mark, by what the page says of itself, or as plain text is guessed."""

from __future__ import annotations

import codecs
import re

from pipeline.errors import ReadError
from pipeline.read.decode import encoding_name
from pipeline.read.guess import guess_utf16
from pipeline.read.line_ends import LineEnds
from pipeline.read.reading import ReadOptions, ReadWarning
from pipeline.read.sniff import sniff
from pipeline.read.sources import BytesSource
from pipeline.read.survey import survey

_HEAD = 4096
_TAGS = re.compile(rb"<[^>]*>")
_DECLARED = (
    re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]{1,40})[\"']"),
    re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{1,40})", re.IGNORECASE),
)
# What browsers take these labels for (WHATWG Encoding, section 4.2): supersets that files so labelled really use.
_TAKEN_FOR = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874", "gb2312": "gb18030",
    "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
}  # fmt: skip
_ALWAYS_FIT = ("cp125", "iso8859", "latin", "koi8", "cp874", "mac")


def decode_markup(data: bytes, name: str, forced: str | None = None) -> tuple[str, str, tuple[ReadWarning, ...]]:
    """(text with LF line ends, encoding, warnings) of a page. Raises ReadError for what is no text.

    A declaration counts when the bytes agree with it; otherwise they decide. `forced` goes before all.
    """
    declared = None if forced else declared_encoding(data)
    if declared is not None:
        try:
            text = data.decode(declared)
            return _plain(text), "utf-8" if declared == "utf-8-sig" else declared, ()
        except UnicodeDecodeError:
            pass
    pieces: list[str] = []

    def new_sink() -> list[str]:
        pieces.clear()
        return pieces

    options = ReadOptions(encoding=forced or _guessed(data, name))
    found = survey(BytesSource(name, data), options, lambda: new_sink().append)
    warnings = found.warnings
    if declared is not None and codecs.lookup(declared) != codecs.lookup(found.encoding.removeprefix("utf-8+")):
        message = f"{name} says that it is {declared}, but was read as {found.encoding}"
        warnings = (ReadWarning(code="encoding-declared-wrong", message=message), *warnings)
    return "".join(pieces), found.encoding, warnings


def declared_encoding(data: bytes) -> str | None:
    """The encoding that a page's mark, XML declaration or meta element names, as Python calls it; None without one.

    Bytes that are valid UTF-8 with characters above ASCII are no single-byte encoding, whatever the page says.
    """
    shown = sniff(data[:_HEAD])
    if shown is not None:
        return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else None
    for pattern in _DECLARED:
        stated = pattern.search(data[:_HEAD])
        if stated is None:
            continue
        try:
            encoding = codecs.lookup(encoding_name(stated[1].decode("ascii"))).name
        except Exception:  # noqa: BLE001 - whatever a page calls its encoding is no error of the reader's
            return None
        if encoding.startswith(("utf-16", "utf-32")):
            return None  # it would have shown
        encoding = _TAKEN_FOR.get(encoding, encoding)
        if encoding.startswith(_ALWAYS_FIT) and not data.isascii() and _is_utf8(data):
            return "utf-8"
        return encoding
    return None


def _guessed(data: bytes, name: str) -> str | None:
    """The single encoding that the text between the tags is in; None where it is UTF-8, mixed or shown otherwise.

    Tags are left out, for they make a short text in any language look like English with a few strange characters.
    """
    if sniff(data[:_HEAD]) or guess_utf16(data[:_HEAD]) or _is_utf8(data):
        return None
    try:
        found = survey(BytesSource(name, _TAGS.sub(b"", data)), ReadOptions(), lambda: _nothing)
    except ReadError:
        return None
    return None if found.encoding.startswith("utf-8") else found.encoding


def _nothing(text: str) -> None:
    del text


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _plain(text: str) -> str:
    return LineEnds().feed(text.removeprefix("\ufeff"), final=True)
