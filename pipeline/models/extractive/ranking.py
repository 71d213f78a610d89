"""Picks the sentences that say the most: whole numbers only, so that every machine picks the same.

The gain of a sentence is the sum of the worth of its distinct content words over the square root of its length, as in
SumBasic (Nenkova and Vanderwende 2005): once a sentence is taken, the words it told are worth a quarter, so the next
one tells something else.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import isqrt

from pipeline.models.extractive import words_en as en
from pipeline.models.extractive import words_han as han
from pipeline.models.extractive import words_ru as ru
from pipeline.models.extractive.scripts import HAN, KANA, Script

_WORD = re.compile(r"[^\W\d_]{2,}(?:['’\-][^\W\d_]+)*")
_DULL = en.STOP_WORDS | en.CONTRACTED | ru.STOP_WORDS
_UNSPACED = re.compile(f"[{HAN}{KANA}]+")
_LOG2 = (0, 10, 16, 20, 23, 26, 28, 30, 32, 33, 35, 36, 37, 38, 39, 40, 41)  # ten times log2(1 + n), rounded


_ALIKE = 4  # units: two short sentences may well share a name and a thing


def content(text: str, script: Script) -> frozenset[str]:
    """The distinct content units of a sentence: lower-cased words, or pairs of characters where nothing is spaced."""
    if script is Script.SPACED:
        return frozenset({word.lower() for word in _WORD.findall(text)} - _DULL)
    pairs: set[str] = set()
    for run in _UNSPACED.findall(text):
        pairs.update(run[i : i + 2] for i in range(len(run) - 1))
    dull = han.PARTICLES
    return frozenset(
        pair for pair in pairs if pair[0] not in dull and pair[1] not in dull and pair not in han.STOP_WORDS
    )


def worth(contents: Iterable[frozenset[str]]) -> dict[str, int]:
    """What each unit is worth: ten times log2(1 + the number of sentences it is in); little when in one only."""
    counts = Counter(unit for units in contents for unit in units)
    return {unit: _LOG2[min(count, 16)] if count > 1 else 3 for unit, count in counts.items()}


def gain(units: frozenset[str], worths: dict[str, int], told: set[str]) -> int:
    """How much a sentence adds to what has been told."""
    total = sum(worths[unit] if unit not in told else worths[unit] // 4 for unit in units)
    return total * 100 // isqrt(100 * (len(units) + 6))


def pick(
    contents: Sequence[frozenset[str]], priors: Sequence[int], worths: dict[str, int], wanted: int
) -> list[tuple[int, int]]:
    """Up to `wanted` (index, weight) pairs in order of choice; a prior is a factor in thousandths, 0 leaves it out."""
    told: set[str] = set()
    chosen: list[tuple[int, int]] = []
    left = [index for index, prior in enumerate(priors) if prior > 0]
    while left and len(chosen) < wanted:
        best = max(left, key=_by_gain(contents, priors, worths, told))
        weight = gain(contents[best], worths, told) * priors[best] // 1000
        chosen.append((best, weight))
        told |= contents[best]
        left = [index for index in left if index != best and not alike(contents[index], contents[best])]
    return chosen


def _by_gain(
    contents: Sequence[frozenset[str]], priors: Sequence[int], worths: dict[str, int], told: set[str]
) -> Callable[[int], tuple[int, int]]:
    return lambda index: (gain(contents[index], worths, told) * priors[index], -index)


def alike(one: frozenset[str], two: frozenset[str]) -> bool:
    """Whether two sentences say nearly the same: they share half of the smaller one's units, and four at least."""
    return _is_alike(len(one & two), len(one), len(two))


def _is_alike(shared: int, one: int, two: int) -> bool:
    return shared * 2 >= min(one, two) and (shared >= _ALIKE or shared == one == two)


def repeats(contents: Sequence[frozenset[str]], reach: int) -> list[int]:
    """For each sentence, how many of those at most `reach` places away are `alike`.

    Counts shared units through an index of where each unit stands, which is much quicker than to compare all pairs.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for index, units in enumerate(contents):
        for unit in units:
            places[unit].append(index)
    shared: Counter[tuple[int, int]] = Counter()
    for standing in (found for found in places.values() if len(found) > 1):
        for at, one in enumerate(standing):
            shared.update((one, two) for two in islice(standing, at + 1, at + 1 + reach) if two - one <= reach)
    again = [0] * len(contents)
    for (one, two), count in shared.items():
        if _is_alike(count, len(contents[one]), len(contents[two])):
            again[one] += 1
            again[two] += 1
    return again
