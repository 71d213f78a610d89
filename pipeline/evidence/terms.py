"""The words by which chunks are found: the same analysis for texts and for queries, on every database.

Scripts without spaces give bigrams (as Lucene's CJKBigramFilter does), so that a name of two characters is a word;
the last character of a run stands alone too, so that a prefix search finds every single character. All others give
words, width, case and accents folded.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from pipeline.models.extractive import words_en as en
from pipeline.models.extractive import words_han as han
from pipeline.models.extractive import words_ru as ru

_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
_RUN = re.compile(f"([{_UNSPACED}]+)")
_ONE = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(rf"[^\W_{_UNSPACED}]+")
_OWNED = re.compile(r"(?<=\w)['’]s\b")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_MAY_HAVE_ACCENTS = re.compile("[\u00a0-\u10ff\u1b00-\u22ff\u2adc\U00010000-\U0001ffff]")  # what may hold such a mark
_LONGEST = 64  # characters of a word; what is longer is found by its beginning

TIERS = (8, 4, 2)
"""A word that stands so often in a chunk is marked there: its best chunks are found without reading all of them."""
_MARKS = {8: "⁸", 4: "⁴", 2: "²"}

_ASKING = frozenset("谁誰何哪什么麼吗嗎呢几幾的了是在和与與")
_QUESTION_WORDS = frozenset(
    ["who", "whom", "whose", "what", "which", "where", "when", "why", "how", "did", "does", "do"]
)


def fold(text: str) -> str:
    """Text as words are compared: NFKC, case folded, without Latin, Greek and Cyrillic accents."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold()
    if _MAY_HAVE_ACCENTS.search(text) is None:
        return text  # Chinese and Japanese: nothing to be taken apart
    apart = unicodedata.normalize("NFD", text)
    bare = _ACCENTS.sub("", apart)
    return text if len(bare) == len(apart) else unicodedata.normalize("NFC", bare)


def terms_of(text: str) -> Counter[str]:
    """Every term of a text with how often it stands there."""
    found: list[str] = []
    for at, part in enumerate(_RUN.split(_OWNED.sub("", fold(text)))):
        if at % 2:
            found += [part[start : start + 2] for start in range(len(part))]
        else:
            found += [word[:_LONGEST] for word in _WORD.findall(part)]
    return Counter(found)


def tokens_of(terms: Counter[str]) -> list[str]:
    """What the index keeps of a chunk: its terms, and those that stand there often marked with how often."""
    tokens = list(terms)
    for tier in TIERS:
        mark = _MARKS[tier]
        tokens += [term + mark for term, count in terms.items() if count >= tier]
    return tokens


def marked(term: str, tier: int) -> str:
    """The token of a term in the chunks where it stands `tier` times or more."""
    return term + _MARKS[tier]


def is_open(term: str) -> bool:
    """Is it a single character of a script without spaces? It is searched for as the beginning of bigrams."""
    return len(term) == 1 and _ONE.match(term) is not None


def query_terms(query: str) -> list[str]:
    """The terms of a query in their order, each once, without those that say nothing (unless there are no others)."""
    terms: list[str] = []
    for at, part in enumerate(_RUN.split(_OWNED.sub("", fold(query)))):
        if at % 2:
            terms += [part[start : start + 2] for start in range(max(1, len(part) - 1))]
        else:
            terms += [word[:_LONGEST] for word in _WORD.findall(part)]
    unique = list(dict.fromkeys(terms))
    return [term for term in unique if not _says_little(term)] or unique


def _says_little(term: str) -> bool:
    if term.isascii():
        return term in en.STOP_WORDS or term in _QUESTION_WORDS
    return term in ru.STOP_WORDS or term in han.STOP_WORDS or any(sign in _ASKING for sign in term)


def counter_of(terms: Sequence[str]) -> re.Pattern[str] | None:
    """A pattern that finds the spaced terms in folded text; None when there are none."""
    spaced = [re.escape(term) for term in terms if not _ONE.match(term)]
    return re.compile(rf"(?<![^\W_{_UNSPACED}])(?:{'|'.join(spaced)})") if spaced else None


def count_in(folded: str, terms: Iterable[str], spaced: re.Pattern[str] | None) -> dict[str, int]:
    """How often each term stands in a text that `fold` gave. `spaced` is their `counter_of`."""
    counts = {term: folded.count(term) for term in terms if _ONE.match(term)}
    if spaced is not None:
        whole = Counter(_whole_words(folded, spaced))
        counts |= {term: whole[term] for term in terms if term not in counts}
    return counts


def _whole_words(folded: str, spaced: re.Pattern[str]) -> Iterable[str]:
    for found in spaced.finditer(folded):
        word = _WORD.match(folded, found.start())
        if word is not None:
            yield word.group()[:_LONGEST]
