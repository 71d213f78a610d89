"""Who a set of sentences is about: the names that come back in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pipeline.models.extractive import names_han, ranking
from pipeline.models.extractive import words_en as en
from pipeline.models.extractive.scripts import Script

_INNER_CAPITAL = re.compile(r"(?<=[a-z,;] )[^\W\d_a-zß-öø-ÿа-яё][^\W\d_]+")
_BACK = 3  # times a name must come back


def lead_units(texts: Sequence[str], script: Script) -> frozenset[str]:
    """The content units (as of `ranking.content`) that are names found in at least three of the sentences."""
    if script is Script.HAN:
        return _han_units(texts)
    if script is Script.KANA:
        return frozenset()
    counts = Counter(name.lower() for text in texts for name in set(_INNER_CAPITAL.findall(text)))
    return frozenset(name for name, count in counts.items() if count >= _BACK and name not in en.STOP_WORDS)


def _han_units(texts: Sequence[str]) -> frozenset[str]:
    units: set[str] = set()
    for found in names_han.find_names("\n".join(texts)):
        seen = found.seen
        acts = seen.get("act", 0) + seen.get("with", 0) + seen.get("speech", 0)
        if found.count >= _BACK and len(found.right) >= _BACK and acts >= 2 and seen.get("both", 0) >= 2:
            units |= ranking.content(found.name, Script.HAN)
    return frozenset(units)
