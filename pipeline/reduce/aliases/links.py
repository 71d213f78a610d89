"""Which alias belongs to which name, judged over all the sentences that say so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_CLEAR = 2  # an alias of several names goes to the one that is stated so many times as often as the next


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """An alias (a canonical key) and the name it belongs to in the end, and how many sentences say so."""

    alias: str
    root: str
    stated: int


def linked(evidence: Iterable[tuple[str, str, int]], weights: Mapping[str, int] | None = None) -> list[Link]:
    """The links that the evidence bears out: (alias, name, how often stated) with canonical keys, in any order.

    An alias has one bearer. Where two names share it (a title that passed from one man to another), it is nobody's
    unless one of them is stated at least twice as often as any other: a wrong merge costs more than a missed one.
    Chains are followed as far as each link is stated itself. Of two names that are stated to be each other's alias,
    the one with more weight (mentions) is the name.
    """
    weights = weights or {}
    stated: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for alias, name, count in evidence:
        if alias and name and alias != name:
            stated[alias][name] += count
    bearer: dict[str, tuple[str, int]] = {}
    for alias in sorted(stated):
        ranked = sorted(stated[alias].items(), key=lambda item: (-item[1], item[0]))
        if len(ranked) == 1 or ranked[0][1] >= _CLEAR * ranked[1][1]:
            bearer[alias] = ranked[0]
    for alias in sorted(bearer):
        _break_circle(alias, bearer, weights)
    return [Link(alias=alias, root=_root(alias, bearer), stated=count) for alias, (_, count) in sorted(bearer.items())]


def _break_circle(start: str, bearer: dict[str, tuple[str, int]], weights: Mapping[str, int]) -> None:
    """If the names that lead on from `start` lead back to it, the weightiest of them is the name of all."""
    circle = [start]
    while circle[-1] in bearer:
        name = bearer[circle[-1]][0]
        if name == start:
            head = min(circle, key=lambda one: (-weights.get(one, 0), one))
            del bearer[head]
            return
        if name in circle:
            return
        circle.append(name)


def _root(alias: str, bearer: Mapping[str, tuple[str, int]]) -> str:
    name = alias
    while name in bearer:
        name = bearer[name][0]
    return name
