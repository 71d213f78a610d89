"""Which legacy encoding a sample of bytes is in: each candidate is decoded and scored as text of its languages.

The score is a mean over the bytes that are not ASCII: +1 for a byte of a common character, +0.35 for another one of
the script, below zero for what such text does not hold (control characters, symbols, private use, a capital inside a
word, bytes that decode to nothing). Two-byte encodings so compete fairly with one-byte ones, and forty bytes are
enough for most texts, where detectors that need statistics of a longer text go wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import pairwise

from charset_normalizer import from_bytes

from pipeline.read.encoding_models import MODELS, Model

SAMPLE_BYTES = 12_000
_TRUSTED = 0.3  # a score below this is no finding
_MARGIN = 0.005  # what a less likely encoding must be better by
_ABOVE_ASCII = re.compile(rb"[\x80-\xff]")
_LINE_PART = 400
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]|\x1b\(J")
_ASCII = re.compile(r"[\x00-\x7f]+")
_ASCII_LETTER = re.compile(r"[A-Za-z]")
# Ideographs and syllables stand together; one alone among ASCII is a dash or a quote of another encoding.
_LONE_IDEOGRAPH = re.compile(r"(?<![^\x00-\x7f])[\u3041-\u9fff\uac00-\ud7a3](?![^\x00-\x7f])")
_WORD_WITH_ODD_LETTER = re.compile(r"[A-Za-z]*[^\W\d_A-Za-z][^\W\d_]*")
_CATEGORY_WEIGHT = {"Cc": -4.0, "Co": -3.0, "Cn": -4.0, "Cs": -4.0, "So": -1.0, "Sm": -0.7, "Sk": -0.5, "Cf": -0.5,
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
        begin = max(
            place, data.rfind(b"\n", max(0, found.start() - _LINE_PART), found.start()) + 1, found.start() - _LINE_PART
        )
        end = data.find(b"\n", found.start(), found.start() + _LINE_PART)
        place = end if end >= 0 else min(len(data), found.start() + _LINE_PART)
        kept.append(data[begin:place])
        size += place - begin + 1
    return b"\n".join(kept)


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


def _score(sample: bytes, encoding: str, model: Model) -> float:
    text = sample.decode(encoding, "replace")
    odd = _ASCII.sub("", text)
    if not odd:
        return 0.0
    total = sum(_weight(char, model) * count for char, count in Counter(odd).items())
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
