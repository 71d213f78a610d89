"""How fit a sentence is to be quoted alone, before what it says is weighed. Factors are in thousandths."""

from __future__ import annotations

import re
import unicodedata

from pipeline.models.extractive import words_en as en
from pipeline.models.extractive.scripts import Script
from pipeline.models.extractive.segment import Sentence

_LETTER = re.compile(r"[^\W\d_]")
_CAPITAL = re.compile(r"(?<![^\W\d_])[^\W\d_a-zß-öø-ÿа-яё][^\W\d_]*")
_FIRST = re.compile(r"[^\W\d_]+")
_QUOTES = re.compile(r"“[^”]*”?|‘[^’]{12,}’|「[^」]*」?|『[^』]*』?|\"[^\"]*\"?")
_FURNITURE = re.compile(
    r"copyright|permission is|licen[cs]e|warrant(?:y|ies)|all rights reserved|isbn"
    r"|project gutenberg|https?:|www\.|\.(?:com|org|net)\b|e-?text|e-?book"
    r"|translator'?s? note|author'?s? note|vote|subscribe|click|next page|sponsored|donat(?:e|ion)"
    r"|求月票|推荐票|推薦票|加更|打赏|打賞|本章未完|下一页|下一頁|手机用户|手機用戶|最新章节|最新章節|更新最快|收藏|书友|書友|作者的话",
    re.IGNORECASE,
)
_LEANING_HAN = (
    "他",
    "她",
    "它",
    "这",
    "這",
    "那",
    "此",
    "其",
    "但",
    "而",
    "于是",
    "於是",
    "因此",
    "所以",
    "也",
    "又",
    "却",
    "卻",
    "则",
    "則",
    "乃",
)
_LEANING_JA = ("それ", "これ", "彼", "その", "この", "しかし", "だから", "すると", "そして", "もっとも")
_MARKUP = re.compile(r"[*_`#|\[\]{}<>\\^=]")
_LONGEST = 1500  # letters: what is longer is no sentence
_UNENDED = 60  # letters without a full stop that may still be a sentence, such as a verse of scripture
_UNBALANCED = (("“", "”"), ("「", "」"), ("『", "』"), ("(", ")"), ("（", "）"), ("《", "》"))


def prior(sentence: Sentence, script: Script) -> int:
    """A factor in thousandths; 0 for what is no sentence a person would quote."""
    text = sentence.text
    letters = len(_LETTER.findall(text))
    if letters * 10 < len(text) * 6 and letters * 10 < (len(text) - _marks(text)) * 6:
        return 0
    if letters > _LONGEST or _FURNITURE.search(text):
        return 0
    if not sentence.ended and letters < (_UNENDED if script is Script.SPACED else _UNENDED // 4):
        return 0
    factor = _length(letters, script) * _speech(text, letters) // 1000 * _opening(text, script) // 1000
    if len(_MARKUP.findall(text)) > 1:
        factor = factor * 400 // 1000
    return factor if sentence.ended else factor * 50 // 1000


def _marks(text: str) -> int:
    """Vowel signs and the like, which are no letters but belong to them."""
    return sum(unicodedata.category(mark).startswith("M") for mark in text)


def _length(letters: int, script: Script) -> int:
    """Sentences of about two lines read best; very short and very long ones are left for need."""
    size = letters if script is Script.SPACED else letters * 4
    if size < 28:
        return 30
    for limit, factor in ((48, 400), (70, 750), (160, 1000), (220, 850), (300, 550), (420, 250)):
        if size < limit:
            return factor
    return 80


def _speech(text: str, letters: int) -> int:
    """Talk tells less than the story does, and half a quotation reads broken."""
    if any(text.count(one) != text.count(two) for one, two in _UNBALANCED) or text.count('"') % 2:
        return 40
    quoted = sum(len(_LETTER.findall(piece)) for piece in _QUOTES.findall(text))
    if quoted * 10 > letters * 8:
        return 250
    if quoted * 10 > letters * 4:
        return 500
    return 800 if quoted else 1000


def _opening(text: str, script: Script) -> int:
    """A sentence that leans on the one before it is a poor quotation."""
    if script is Script.HAN:
        factor = 600 if text.startswith(_LEANING_HAN) else 1000
        return factor * 500 // 1000 if text.count("、") > 3 else factor  # a list
    if script is Script.KANA:
        return 600 if text.startswith(_LEANING_JA) else 1000
    first = _FIRST.search(text)
    word = first.group() if first else ""
    if word[:1].islower():
        return 400
    factor = 550 if word.lower() in en.LEANING else 1000
    if text[-1:] in "?!":
        factor = factor * 600 // 1000
    words = text.count(" ") + 1
    capitals = len(_CAPITAL.findall(text))
    if capitals * 2 > words:
        return factor * 200 // 1000  # a list of names, or a heading
    return factor * 1250 // 1000 if capitals > 1 else factor
