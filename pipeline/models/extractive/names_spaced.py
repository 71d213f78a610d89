"""Names in scripts with spaces and capitals: runs of capitalised words, told from sentence starts and headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipeline.models.extractive import words_en as en
from pipeline.models.extractive import words_ru as ru
from pipeline.models.extractive.masking import BLANK
from pipeline.models.extractive.mentions import Mentions
from pipeline.models.extractive.words import words as word_list

_WORD = re.compile(r"[^\W\d_]+(?:['’\-‐][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’](?:s|S)?$")
_ROMAN = re.compile(r"[IVXLCDM]+$")
_OPENERS = "\"'“‘«(\\[*_—–-"
_START = re.compile(
    rf"(?:\A|[.!?…:;¶\ufffc—–][\"'”’»)\]*_]*|--|\n[ \t]*\n|\n[ \t]*(?:\d+[.:]?|[-*+•>])[ \t])[\s{_OPENERS}]*\Z"
)
_CONNECTORS = word_list(
    """
    of de von van der du la le del della di da al ibn bin y
    """
)
_SAYING = re.compile(r"\b(?:said|say|saith|saying|answered|cried|spake|that|him|them|her|unto \w+),\s*\Z")
_CAPS_LINE = re.compile(r"^(?=[^\n]*?[^\W\d_]{2})[^\na-zà-öø-ÿа-яё]+$", re.MULTILINE)
_HEADING = re.compile(
    r"^[ \t]*(?:\#{1,6}[ \t][^\n]*|(?:chapter|book|volume|part|canto|section|act|scene|appendix|ch\.)[ \t]+"
    r"(?:[ivxlcdm]+|\d+)\b[^\n]{0,80})$"
    r"|(?:\A|(?<=\n\n))[^\W\d_][^\n]{0,70}[\w](?=\n[ \t]*\n|\Z)",
    re.MULTILINE | re.IGNORECASE,
)
_LOOK_BACK = 24
_NAME_WORDS = 5
_INSIDE = 3  # a name of its own is written so inside a sentence at least once for so many starts


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """A word of the text."""

    start: int
    end: int
    text: str

    inner: bool = False  # an initial, or an adjective that names may begin with
    adjective: bool = False  # such an adjective: at the start of a sentence it may be no part of the name

    @property
    def capital(self) -> bool:
        """Whether it is written like a name."""
        return self.text[0].isupper()


def find_names(masked: str) -> list[Mentions]:
    """The capitalised names of a chunk (as `masking.mask` gave it), with what tells them from other words."""
    text = _CAPS_LINE.sub(_blank, _HEADING.sub(_blank, masked))
    words = _words(text)
    lower = Counter(word.text for word in words if not word.capital)
    found: dict[str, Mentions] = {}
    for run in _runs(text, words):
        _take(text, words, run, lower, found)
    for mentions in found.values():
        if " " not in mentions.name:
            mentions.note("lower", lower[mentions.name.lower()])
        mentions.kind = _kind(mentions)
    return list(found.values())


def settled(found: list[Mentions]) -> list[Mentions]:
    """The names of a text that stands for itself: what only stands at starts behind an ordinary word is without it."""
    by_name = {mentions.name: mentions for mentions in found if not is_start(mentions.seen)}
    for mentions in found:
        if is_start(mentions.seen) and len(rest := behind(mentions.name)) > 1:
            name = by_name.setdefault(rest, Mentions(name=rest, kind=mentions.kind))
            name.join(mentions)
            name.note("mid", mentions.seen.get("start", 0))
    return list(by_name.values())


def is_start(seen: Mapping[str, int]) -> bool:
    """Does a name stand at starts (all but) alone, behind a word that is an ordinary one?"""
    return (seen.get("mid", 0) + seen.get("list", 0)) * _INSIDE < seen.get("common", 0)


def behind(name: str) -> str:
    """The name behind the first word of one, and behind what joins it (of)."""
    rest = name.split()[1:]
    while rest and (rest[0] in _CONNECTORS or rest[0] == "the"):
        rest = rest[1:]
    return " ".join(rest)


def _blank(match: re.Match[str]) -> str:
    return BLANK * len(match.group())


def _words(text: str) -> list[Word]:
    words = []
    for match in _WORD.finditer(text):
        form = _POSSESSIVE.sub("", match.group())
        if form:
            start = match.start()
            adjective = form[0].isupper() and form.lower() in en.NAME_ADJECTIVES
            initial = len(form) == 1 and text.startswith(".", match.end())
            words.append(
                Word(start=start, end=start + len(form), text=form, inner=initial or adjective, adjective=adjective)
            )
    return words


def _is_name_word(word: Word) -> bool:
    lowered = word.text.lower().replace("’", "'")
    if not word.capital or lowered in en.CONTRACTED or lowered in en.CALENDAR:
        return False
    if (lowered in en.STOP_WORDS and not word.inner) or lowered in ru.STOP_WORDS:
        return False
    if len(word.text) == 1:
        return word.inner or word.text not in "IOA"
    return not (_ROMAN.match(word.text) and len(word.text) < 6)


def _runs(text: str, words: list[Word]) -> Iterator[tuple[int, int]]:
    """Index ranges of capitalised words that stand together."""
    index = 0
    while index < len(words):
        if not _is_name_word(words[index]):
            index += 1
            continue
        last = index
        while (after := _continued(text, words, index, last)) is not None and after - index < _NAME_WORDS:
            last = after
        yield index, last + 1
        index = last + 1


def _continued(text: str, words: list[Word], first: int, last: int) -> int | None:
    """The next word of the name that runs from `first` to `last`, if it goes on."""
    nxt = last + 1
    if nxt >= len(words) or not _joined(text, words[last], words[nxt]):
        return None
    if _is_name_word(words[nxt]):
        # In Petersburg Prince Andrew …: a title begins a name of its own, but ends one in the Jade Widow.
        begins = _is_title(words[nxt]) and not _is_title(words[last]) and _goes_on(text, words, nxt)
        return None if begins else nxt
    if words[nxt].text in _CONNECTORS and nxt + 1 < len(words):
        if words[nxt].text == "of" and first != last:
            return None
        after = nxt + 1
        if words[after].text == "the" and words[nxt].text == "of" and after + 1 < len(words):
            after += 1
        plain = _joined(text, words[nxt], words[nxt + 1]) and _joined(text, words[after - 1], words[after])
        if plain and _is_name_word(words[after]):
            return after
    return None


def _goes_on(text: str, words: list[Word], index: int) -> bool:
    after = index + 1
    return after < len(words) and _is_name_word(words[after]) and _joined(text, words[index], words[after])


def _joined(text: str, one: Word, two: Word) -> bool:
    gap = text[one.end : two.start]
    if gap in (" ", "\n") or (gap.isspace() and gap.count("\n") < 2 and len(gap) < 12):
        return True
    abbreviated = one.text.lower() in en.ABBREVIATED_TITLES or (len(one.text) == 1 and one.capital)
    return abbreviated and gap.startswith(".") and gap[1:].isspace() and gap.count("\n") < 2


def _take(text: str, words: list[Word], run: tuple[int, int], lower: Counter[str], found: dict[str, Mentions]) -> None:
    first, end = run
    at_start = _starts_sentence(text, words[first].start)
    # "Old Thunder came", in a chunk that has "old" too: a name of two words, or an ordinary one before a name? The
    # whole book tells (`pipeline.reduce.glossary.starts`): here the mention is only marked.
    ordinary = words[first].adjective or lower[words[first].text.lower()] > 0
    common = at_start and end - first > 1 and ordinary and not _is_title(words[first])
    while end > first and not _is_name_word(words[end - 1]):
        end -= 1
    if first >= end or (end - first == 1 and (_is_furniture(words[first]) or words[first].inner)):
        return
    start, stop = words[first].start, words[end - 1].end
    name = " ".join(text[start:stop].split())
    mentions = found.setdefault(name, Mentions(name=name))
    mentions.at(start, stop)
    common = common and end - first > 1
    mentions.note("common", int(common))
    mentions.note("start" if at_start else "list" if text[start - 2 : start - 1] == "," else "mid")
    _note_neighbours(text, words, first, end, mentions, common)


def _is_title(word: Word) -> bool:
    return word.text.lower() in en.TITLES


def _is_furniture(word: Word) -> bool:
    return word.text.lower() in en.FURNITURE or len(word.text) < 2


def _starts_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - _LOOK_BACK) : start]
    if before[-1:] == " " and before[-2:-1].isalnum():
        return False
    if _SAYING.search(before):
        return True  # as in the Bible: And God said, Let there be light
    if start > _LOOK_BACK:
        before = "¤" + before  # so that \A does not match inside the text
    return _START.search(before) is not None


def _note_neighbours(text: str, words: list[Word], first: int, end: int, mentions: Mentions, common: bool) -> None:
    before = words[first - 1] if first else None
    after = words[end] if end < len(words) else None
    if before and text[before.end : words[first].start].strip(" \n,") == "":
        plain = before.text.lower()
        # Every autumn, he said, Grey Skerry burned more oil: a place may begin what is said.
        quoted = common and "," in text[before.end : words[first].start]
        mentions.note("speech", int(plain in en.SPEECH and plain != "called" and not quoted))
        mentions.note("place", int(plain in en.PLACE_BEFORE))
        mentions.note("in", int(plain in en.PLACE_SURE))
        mentions.note("the", int(plain in ("the", "this", "that")))
        mentions.note("a", int(plain in ("a", "an", "every", "each", "no", "some", "any", "two", "three")))
    if after and text[words[end - 1].end : after.start] in (" ", "\n"):
        mentions.note("speech", int(after.text in en.SPEECH))
        mentions.note("act", int(after.text in ("had", "was", "has", "is", "who", "would", "could", "did")))
    if text[words[end - 1].end : words[end - 1].end + 2] in ("'s", "’s"):
        mentions.note("own")


def _kind(mentions: Mentions) -> str:
    """What the chunk shows a name to be: by a title or a verb of saying, a preposition, or its head word."""
    parts = mentions.name.lower().replace(".", "").split()
    if len(parts) > 1:
        if parts[-1] in en.ORGANIZATION_HEADS:
            return "organization"
        if parts[-1] in en.PLACE_HEADS or parts[0] in en.PLACE_FIRST:
            return "place"
        if parts[0] in en.TITLES:
            return "person"
    seen = mentions.seen
    if seen.get("speech"):
        return "person"
    if seen.get("in", 0) * 2 >= mentions.count and not seen.get("own") and not mentions.name.isupper():
        return "place"
    return "name"
