"""Which legacy encoding a sample of bytes is in: each candidate is decoded and scored as text of its languages.

The score is a mean over the bytes that are not ASCII: +1 for a byte of a common character, +0.35 for another one of
the script, below zero for what such text does not hold (control characters, symbols, private use, a capital inside a
word, bytes that decode to nothing). Two-byte encodings so compete fairly with one-byte ones, and forty bytes are
enough for most texts, where detectors that need statistics of a longer text go wrong.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from itertools import pairwise

from charset_normalizer import from_bytes

from pipeline.read.encoding_models import MODELS, Model

SAMPLE_BYTES = 12_000
_TRUSTED = 0.3  # a score below this is no finding
_FOREIGN = 8
_TRUSTED_UTF16 = 0.5
_UTF16_SAMPLE = 4096
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r"))
_ONLY_IN_1252 = re.compile(rb"[\x80-\x9f]")
_WESTERN_SIGNS = frozenset("’‘“”–—…£°½¼¾§©®«»·¿¡\xa0")
_MARGIN = 0.015  # what a less likely encoding must be better by
_ABOVE_ASCII = re.compile(rb"[\x80-\xff]")
_ASCII_BEFORE = 200
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]|\x1b\(J")
_ASCII = re.compile(r"[\x00-\x7f]+")
_ASCII_LETTER = re.compile(r"[A-Za-z]")
# Ideographs and syllables stand together; one alone among ASCII is a dash or a quote of another encoding.
_LONE_IDEOGRAPH = re.compile(r"(?<![^\x00-\x7f])[\u3041-\u9fff\uac00-\ud7a3](?![^\x00-\x7f])")
_WORD_WITH_ODD_LETTER = re.compile(r"[A-Za-z]*[^\W\d_A-Za-z][^\W\d_]*")
_CATEGORY_WEIGHT = {"Cc": -20.0, "Co": -3.0, "Cn": -4.0, "Cs": -4.0, "So": -1.0, "Sm": -0.7, "Sk": -0.5, "Cf": -0.5,
                    "Sc": -0.5, "No": -0.3, "Nl": -0.3, "Po": 0.1, "Pd": 0.3, "Pi": 0.4, "Pf": 0.4, "Ps": 0.1,
                    "Pe": 0.1, "Zs": 0.1}  # fmt: skip


def sample_of(data: bytes, limit: int = SAMPLE_BYTES) -> bytes:
    """The lines of `data` that hold bytes above ASCII, at most about `limit` bytes of them."""
    kept: list[bytes] = []
    size, place = 0, 0
    while size < limit:
        found = _ABOVE_ASCII.search(data, place)
        if found is None:
            break
        # All bytes of the line before the first one above ASCII are characters of their own: it can be cut there.
        begin = max(data.rfind(b"\n", place, found.start()) + 1, place, found.start() - _ASCII_BEFORE)
        end = data.find(b"\n", found.start(), begin + limit)
        kept.append(data[begin : end if end >= 0 else begin + limit])
        size += len(kept[-1]) + 1
        place = data.find(b"\n", begin + len(kept[-1])) + 1
        if not place:
            break
    return b"\n".join(kept)


def western(sample: bytes) -> str:
    """Latin-1 or windows-1252: the latter where a byte is one of the quotes and dashes that only it has."""
    return "cp1252" if _ONLY_IN_1252.search(sample) else "iso8859_1"


def is_western(sample: bytes) -> bool:
    """Whether each byte above ASCII stands where a character of windows-1252 would: é within a word, ’ behind one.

    For the one or two of a long English book, of which no statistics can be made: a stray byte seldom stands so.
    """
    text = f" {sample.decode('cp1252', 'replace')} "
    return all(_stands_right(*text[at - 1 : at + 2]) for at in range(1, len(text) - 1) if not text[at].isascii())


def _stands_right(before: str, char: str, after: str) -> bool:
    if char.isalpha():
        small = char.islower() and (before.isalpha() or after.isalpha())
        return small or (char.isupper() and after.isalpha()) or (char == "à" and before == after == " ")
    return char in _WESTERN_SIGNS and (before.isalnum() or after.isalnum())


def is_iso_2022_jp(data: bytes) -> bool:
    """Whether seven-bit bytes switch to Japanese by escape sequences and decode as such."""
    if not _ISO_2022_JP.search(data):
        return False
    text = data.decode("iso2022_jp_ext", "replace")
    return not text.isascii() and text.count("\ufffd") * 50 < sum(not char.isascii() for char in text)


def guess(sample: bytes) -> tuple[str, float]:
    """The likeliest legacy encoding (a codec name) of bytes that are not UTF-8, and its score; 0 when only a guess."""
    best, best_score = "", _TRUSTED
    for model in MODELS:
        for encoding in model.encodings:
            score = _score(sample, encoding, model)
            if score > best_score + _MARGIN:
                best, best_score = encoding, score
    if best:
        return best, best_score
    found = from_bytes(sample[:8192]).best() if sample else None
    return (found.encoding if found is not None and found.encoding != "ascii" else "cp1252"), 0.0


def guess_utf16(head: bytes) -> str | None:
    """UTF-16 without a mark in a script other than Latin, whose few NULs tell nothing: judged as text, or None.

    Its bytes hold control characters in great number, for half of them are low or high bytes of characters.
    """
    sample = head[: _UTF16_SAMPLE & -2]
    strange = len(sample) - len(sample.translate(None, _CONTROLS))
    if len(sample) < 4 or strange * 50 < len(sample) or _is_utf8_beyond_ascii(sample):
        return None
    if sample.isascii() and strange * 10 < len(sample):
        return None
    scores = [
        (_score(sample[: len(sample) & -2], encoding, model), encoding)
        for encoding in ("utf-16-le", "utf-16-be")
        for model in MODELS
        if not model.latin
    ]
    score, encoding = max(scores)
    return encoding if score >= _TRUSTED_UTF16 else None


def _is_utf8_beyond_ascii(sample: bytes) -> bool:
    if sample.isascii():
        return False
    try:
        codecs.utf_8_decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _score(sample: bytes, encoding: str, model: Model) -> float:
    text = sample.decode(encoding, "replace")
    odd = _ASCII.sub("", text)
    if not odd:
        return 0.0
    total = sum(_weight(char, model) * count for char, count in Counter(odd).items())
    if not model.latin and len(odd) * _FOREIGN < len(_ASCII_LETTER.findall(text)):
        total -= 0.5 * len(odd)  # an English line with one odd byte in it is seldom Russian or Chinese
    total -= len(_LONE_IDEOGRAPH.findall(text)) if model.eastern else _strangers(text, latin=model.latin)
    return total / len(odd)


def _weight(char: str, model: Model) -> float:
    if char == "\ufffd":
        return -6.0
    if char in model.weights:
        return model.weights[char]
    weight = _CATEGORY_WEIGHT.get(unicodedata.category(char))
    if weight is not None:
        return max(weight, -0.3) if model.eastern and weight > -3.0 else weight
    point = ord(char)
    return 0.35 if any(low <= point <= high for low, high in model.usual) else -0.6


def _strangers(text: str, *, latin: bool) -> float:
    """What an alphabet's own words do not have: capitals behind small letters, two scripts or too many accents."""
    count = 0.0
    for found in _WORD_WITH_ODD_LETTER.finditer(text):
        word = found.group()
        plain = len(_ASCII_LETTER.findall(word))
        odd = len(word) - plain
        count += sum(1.5 for one, two in pairwise(word) if one.islower() and two.isupper())
        if latin:
            count += max(0, odd - plain - 1)
        else:
            count += min(odd, plain)
    return count
