"""Judges Chinese candidates by how they stand in the whole book.

A name is free on its right side (many characters follow it), it is bounded well now and then on both sides, and it
acts: it begins clauses, speaks, stands after 与, 见, 令, or after 在, 到 when it is a place. A fragment has the
same character after it always; a phrase has a name for its beginning and a verb behind it; a common noun is
counted and pointed at; a form of address is found in speech only; a role (丞相) and a crowd (蜀兵) are nobody's name.
Shares are in thousandths of the mentions.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.models.extractive import words_han as han
from pipeline.reduce.glossary.candidates import Candidate, Kept, whole

_LOCATED = frozenset("中里裡内內外上下前后後间間边邊处處时時")
_SPOKEN = 15  # thousandths of its mentions in which even a man of few words speaks
_OFTEN = 20  # mentions above which shares are trusted fully


def judge(candidates: Mapping[str, Candidate], fragments: Mapping[str, int]) -> list[Kept]:
    """The candidates that are names, with counts free of the longer names they are part of.

    `fragments` are the counts of what can be no name (`possible_kind` says so) but may continue one.
    """
    counts = {key: candidate.count for key, candidate in candidates.items()}
    longer = _extensions({**fragments, **counts})
    kinds: dict[str, str] = {}
    for key in sorted(candidates, key=lambda one: (len(one), one)):
        candidate = candidates[key]
        kind = possible_kind(candidate)
        free = longer.get(key, 0) * 10 < candidate.count * 7
        if kind and free and not _is_phrase(candidate, kinds, candidates):
            kinds[key] = kind
    own = _own_counts(kinds, candidates)
    return [whole(candidates[key], kinds[key], own[key]) for key in sorted(kinds) if own[key] > 1]


def _extensions(counts: Mapping[str, int]) -> dict[str, int]:
    """For each key the count of its most frequent extension by one character, to the right or to the left."""
    best: dict[str, int] = {}
    for key, count in counts.items():
        if len(key) > 2:
            for part in (key[:-1], key[1:]):
                best[part] = max(best.get(part, 0), count)
    return best


def possible_kind(candidate: Candidate) -> str:
    """person, place, organization or name by its own sums; empty for what can be no name."""
    count = candidate.count
    if count < 2 or candidate.share("both") < 150 or candidate.share("one") > 150:
        return ""
    if candidate.key in han.STOP_WORDS or candidate.key in han.ROLES or len(candidate.near) < _freedom(count):
        return ""
    last = candidate.key[-1]
    place = candidate.share("place")
    acts = candidate.share("speech", "act", "with")
    if place >= 150 and place > acts and last not in _LOCATED:
        return "place"
    if last in han.PLACE_LAST and place >= 60 and acts < 250:
        return "place"
    return _person(candidate, acts) if last not in _LOCATED else ""


def _person(candidate: Candidate, acts: int) -> str:
    count = candidate.count
    if acts < (120 if count >= _OFTEN else 250):
        return ""
    if len(candidate.near) < min(8, _freedom(count) + 2) or candidate.share("edge") >= 980:
        return ""
    if count >= _OFTEN and candidate.share("told") < 50:
        return ""  # only ever said in speech: an address such as “sire”
    if count >= _OFTEN and candidate.key[-1] in han.COLLECTIVE_LAST and candidate.share("speech") < _SPOKEN:
        return ""  # soldiers and crowds
    seldom = candidate.key[0] in han.SELDOM_FIRST
    if seldom and candidate.share("speech") < 20:
        return ""
    if candidate.key[-1] in han.ORGANIZATION_LAST and candidate.share("speech") < 50:
        return "organization"
    return "person" if candidate.sum("speech") else "name"


def _freedom(count: int) -> int:
    """How many different characters must follow a name that is mentioned so often."""
    return 4 if count >= _OFTEN else min(4, 2 + count // 6)


def _is_phrase(candidate: Candidate, kinds: Mapping[str, str], candidates: Mapping[str, Candidate]) -> bool:
    """Whether it is a kept name with a verb behind it (行者闻言) or before it (人见行者), or a chance neighbour."""
    key = candidate.key
    for size in range(2, len(key)):
        verb = key[size] in han.AFTER
        if key[:size] in kinds and (verb or candidate.count * 50 < candidates[key[:size]].count):
            return True
        if key[-size:] in kinds and key[-size - 1] in han.BEFORE:
            return True
    return False


def _own_counts(kinds: Mapping[str, str], candidates: Mapping[str, Candidate]) -> dict[str, int]:
    """Mentions that are not part of a longer kept name: 张三 is not mentioned where 张三丰 is."""
    own = {key: candidates[key].count for key in kinds}
    for key in sorted(kinds, key=lambda one: (-len(one), one)):
        inside = {key[i:j] for i in range(len(key)) for j in range(i + 2, len(key) + 1)} - {key}
        for part in sorted(inside & own.keys()):
            own[part] = max(0, own[part] - own[key])
    return own
