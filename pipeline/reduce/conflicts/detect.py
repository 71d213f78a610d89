"""Which facts disagree: by the order of their places, once it is known whose alias is whose.

A value holds from where it is first stated until the book states a change. Within that stretch another value is a
contradiction. What looks back (a memory, a dream) is left out; attributes that have several values at once, or pass,
contradict nothing; a rank may rise without a word, but falls only with one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.reduce.conflicts.words import CLIMBING, MANY_VALUED, ONE_VALUED, PASSING, kin

Places = tuple[tuple[int, int], ...]  # of both sides of a contradiction

_SHARE = (
    2  # an attribute has many values when at least half of the subjects that have several facts have several values
)
_SUBJECTS = 4  # and so many subjects show it
_FACTS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A fact at its place. `order` grows along the book; `subject` and `value` are keys after alias resolution."""

    subject: str
    attribute: str
    value: str
    order: tuple[int, int]
    change: bool = False
    past: bool = False
    ref: int = 0  # the caller's number of it


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """Two facts that can not both be so."""

    first: Fact
    second: Fact


@dataclass(frozen=True, slots=True)
class Rules:
    """What was learned of the attributes from all facts."""

    many: frozenset[str]
    ladders: Mapping[str, Mapping[str, int]]  # of climbing attributes: how high each value stands


def detect(facts: Iterable[Fact], changed: Collection[Places] = frozenset()) -> list[Conflict]:
    """The contradictions among facts given in any order; one for each pair of values of a subject's attribute.

    `changed` are the places of contradictions that were judged to be stated changes: from the second place on the new
    value holds, and what comes later is compared with that. They are among what is given all the same.
    """
    groups: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        if not fact.past:
            groups[fact.subject, fact.attribute].append(fact)
    for group in groups.values():
        group.sort(key=lambda fact: (fact.order, fact.value))
    rules = _learn(groups)
    found: list[Conflict] = []
    for (_, attribute), group in sorted(groups.items()):
        if attribute not in rules.many and len({fact.value for fact in group}) > 1:
            found += _among(group, rules.ladders.get(attribute), changed)
    return sorted(found, key=lambda conflict: (conflict.first.order, conflict.second.order, conflict.first.attribute))


def _among(group: Sequence[Fact], ladder: Mapping[str, int] | None, changed: Collection[Places]) -> list[Conflict]:
    """One subject's attribute, in order of places."""
    found: list[Conflict] = []
    told: set[frozenset[str]] = set()
    standing: Fact | None = None  # the first statement of the value that holds now
    for fact in group:
        if standing is None or fact.change:
            standing = fact if standing is None or fact.value != standing.value else standing
            continue
        if fact.value == standing.value or _compatible(fact.value, standing.value):
            continue
        if ladder is not None and ladder.get(fact.value, 0) >= ladder.get(standing.value, 0):
            standing = fact
            continue
        if (standing.order, fact.order) in changed:
            found.append(Conflict(first=standing, second=fact))
            standing = fact
            continue
        pair = frozenset((fact.value, standing.value))
        if pair not in told:
            told.add(pair)
            found.append(Conflict(first=standing, second=fact))
    return found


def _compatible(one: str, two: str) -> bool:
    """Does one value only say more than the other (grey, grey-blue)?"""
    return one in two or two in one


def _learn(groups: Mapping[tuple[str, str], Sequence[Fact]]) -> Rules:
    attributes: dict[str, list[Sequence[Fact]]] = defaultdict(list)
    for (_, attribute), group in groups.items():
        attributes[attribute].append(group)
    many: set[str] = set()
    ladders: dict[str, Mapping[str, int]] = {}
    for attribute, found in attributes.items():
        if (
            kin(attribute, MANY_VALUED)
            or kin(attribute, PASSING)
            or (not kin(attribute, ONE_VALUED) and _has_many_values(found))
        ):
            many.add(attribute)
        if kin(attribute, CLIMBING):
            many.discard(attribute)
            ladders[attribute] = _ladder(found)
    return Rules(frozenset(many), ladders)


def _has_many_values(groups: Sequence[Sequence[Fact]]) -> bool:
    """Is it usual that a subject has several values at once? Then they do not exclude each other.

    Told by the facts that state no change: where they differ within most subjects, they are no rivals.
    """
    plain = [[fact for fact in group if not fact.change] for group in groups]
    several = [group for group in plain if len(group) > 1]
    differing = [group for group in several if len({fact.value for fact in group}) > 1]
    enough = len(several) >= _SUBJECTS and sum(map(len, several)) >= _FACTS
    return enough and len(differing) * _SHARE >= len(several)


def _ladder(groups: Sequence[Sequence[Fact]]) -> dict[str, int]:
    """How high each value stands: by who comes after whom in most of the subjects that have both."""
    after: dict[tuple[str, str], int] = defaultdict(int)
    values: set[str] = set()
    for group in groups:
        order = list(dict.fromkeys(fact.value for fact in group))
        values.update(order)
        for at, low in enumerate(order):
            for high in order[at + 1 :]:
                after[low, high] += 1
    return {
        value: sum(after[other, value] > after[value, other] for other in values if other != value)
        - sum(after[value, other] > after[other, value] for other in values if other != value)
        for value in values
    }
