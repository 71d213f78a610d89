"""Multi-word technical terms of expository text, such as a specification."""

from __future__ import annotations

import re
from collections import Counter

from pipeline.models.extractive import words_en as en
from pipeline.models.extractive import words_ru as ru
from pipeline.models.extractive.mentions import Mentions
from pipeline.models.extractive.words import words as word_list

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LONGEST = 3  # words
_PRONOUNS_IN_1000 = 20  # above this a text tells or talks; its word pairs are seldom terms
_VERBS = word_list(
    """
    allow allows allowed applies apply based become begin begins called cause causes change contain containing contains
    define defined defines describe described different end ends example examples exist exists following follow follows
    given gives include included includes including interpreted known main mean means need needed needs new note number
    occur occurs possible produce produces provide provided provides require required requires result results run see
    set start starts takes treated try use used useful uses using want way works write written create creates created
    like look looks able actually add added adding available better certain common current currently easy existing first
    full general good great important instead large last later left let long longer lot making multiple next old open
    original particular previous right running same second several short show shows similar simple simply single small
    special specific specified support supported supports take taken turn valid various work working
    """
)


def is_expository(masked: str) -> bool:
    """Whether the text explains rather than tells: few personal pronouns."""
    words = [word.lower() for word in _WORD.findall(masked)]
    personal = sum(word in en.PRONOUNS for word in words)
    telling = sum(word in en.TELLING for word in words)
    return len(words) >= 40 and personal * 1000 <= _PRONOUNS_IN_1000 * len(words) and telling * 400 < len(words)


def find_terms(masked: str) -> list[Mentions]:
    """Lower-case noun groups of two or three words that come back in the chunk (RAKE's candidates, longest kept)."""
    runs: Counter[tuple[str, ...]] = Counter()
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for group in _groups(masked):
        for size in range(2, _LONGEST + 1):
            for index in range(len(group) - size + 1):
                part = group[index : index + size]
                key = _singular(tuple(word for word, _, _ in part))
                runs[key] += 1
                places.setdefault(key, []).append((part[0][1], part[-1][2]))
    found = []
    again = {key: count for key, count in runs.items() if count > 1}
    longest = [key for key in again if len(key) == _LONGEST]
    for key, count in again.items():
        if len(key) < _LONGEST and any(again[longer] == count and _within(key, longer) for longer in longest):
            continue
        mentions = Mentions(name=" ".join(key), kind="term")
        for start, end in places[key]:
            mentions.at(start, end)
        mentions.note("term", count)
        found.append(mentions)
    return found


def _groups(masked: str) -> list[list[tuple[str, int, int]]]:
    """Runs of content words with nothing but one space or line end between them."""
    groups: list[list[tuple[str, int, int]]] = []
    current: list[tuple[str, int, int]] = []
    for match in _WORD.finditer(masked):
        word = match.group()
        gap = masked[current[-1][2] : match.start()] if current else ""
        if current and (not gap.isspace() or len(gap) > 1):
            groups.append(current)
            current = []
        lowered = word.lower()
        common = (
            lowered in en.STOP_WORDS
            or lowered in ru.STOP_WORDS
            or lowered in _VERBS
            or lowered in en.CONTRACTED
            or len(word) < 3
        )
        if common or (lowered.endswith("ly") and len(word) > 6) or (word[0].isupper() and current):
            groups.append(current)
            current = []
        elif word[0].islower():
            current.append((word, match.start(), match.end()))
    groups.append(current)
    return [group for group in groups if len(group) > 1]


def _singular(words: tuple[str, ...]) -> tuple[str, ...]:
    last = words[-1]
    if last.endswith("ies") and len(last) > 4:
        last = last[:-3] + "y"
    elif last.endswith("s") and not last.endswith(("ss", "us", "is")) and len(last) > 3:
        last = last[:-1]
    return (*words[:-1], last)


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))
