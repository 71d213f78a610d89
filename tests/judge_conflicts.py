"""How well reported conflicts and aliases meet a truth file.

A report is right when it names a planted contradiction: its subject, its attribute and both its values, one side in
the chapter of the statement that does not fit. All else that is reported is wrong, a second report of the same one too.
A rank that fell without a word contradicts every higher rank that was reached before it, so each of those may stand on
the other side: where the last step up was missed, the report names the step before.

The noise takes statements away, so recall is counted twice: over all that were planted, and over those that can be
found at all, of which both sides reach the reducer (an earlier or later statement of the same value serves for a side).
Likewise nobody can tell an explained change from a contradiction where the explanation was missed: such a report counts
against precision all the same. Of those whose explanation reached the reducer none may be reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.reduce.conflicts.words import attribute_key, value_key
from pipeline.reduce.glossary.keys import canonical_key
from tests.oracle import Oracle

Truth = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """A reported conflict: keys, and the values by the chapters (seq) they were said in."""

    subject: str
    attribute: str
    values: frozenset[str]
    places: frozenset[tuple[str, int]]  # (value, chapter) of both sides


@dataclass(frozen=True)
class Score:
    """What was found, by the ids of the truth file; `wrong` and `unexplainable` are reports."""

    planted: frozenset[str]
    findable: frozenset[str]
    found: frozenset[str]
    reported: int
    wrong: tuple[Report, ...]
    explained: tuple[Report, ...]  # of the wrong ones: changes whose explanation reached the reducer
    unexplainable: tuple[Report, ...]  # of the wrong ones: changes whose explanation was missed
    aliases_stated: int  # by a sentence that was not missed
    aliases_right: int
    aliases_wrong: int
    reveals_right: int

    @property
    def precision(self) -> float:
        """Right reports among all."""
        return (self.reported - len(self.wrong)) / max(1, self.reported)

    def check(self) -> None:
        """What must hold of what was found."""
        assert len(self.planted) >= 20
        assert len(self.found & self.findable) >= 0.95 * len(self.findable), self.line()
        assert self.precision >= 0.95, self.line()
        assert self.explained == (), self.line()
        assert self.aliases_right >= 0.95 * self.aliases_stated, self.line()
        assert self.aliases_wrong <= 0.01 * self.aliases_right, self.line()
        assert self.reveals_right == self.aliases_right, self.line()

    def line(self) -> str:
        """One line of a table."""
        return (
            f"contradictions {len(self.found)}/{len(self.planted)} planted, "
            f"{len(self.found & self.findable)}/{len(self.findable)} findable, precision {self.precision:.3f}, "
            f"explained reported {len(self.explained)} (+{len(self.unexplainable)} without their explanation); "
            f"aliases {self.aliases_right}/{self.aliases_stated}, wrong {self.aliases_wrong}, reveal chapters right "
            f"{self.reveals_right}/{self.aliases_right}; missed {sorted(self.findable - self.found)}"
        )


def key(text: object) -> str:
    return canonical_key({"name": str(text)})


def said(value: object) -> str:
    return value_key(value if isinstance(value, str) else str(value).lower())


class _Judge:
    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.facts: dict[str, Truth] = {fact["id"]: fact for fact in oracle.truth["facts"]}

    def matches(self, item: Truth, report: Report) -> bool:
        """Is it this contradiction, or this change?"""
        second = self.facts[item["facts"][1]]
        return (
            report.subject == key(self.oracle.names.get(item["subject"], item["subject"]))
            and report.attribute == attribute_key(item["attribute"])
            and report.values in [frozenset((self.said(first), self.said(second))) for first in self.firsts(item)]
            and (self.said(second), second["seq"]) in report.places
        )

    def said(self, fact: Truth) -> str:
        """Its value as the reducer has it."""
        return said(self.oracle.names.get(fact["value"], fact["value"]))

    def firsts(self, item: Truth) -> list[Truth]:
        """The statements that the second one contradicts: the planted one, or each rank above it, reached before."""
        first, second = (self.facts[fact] for fact in item["facts"])
        steps = [s for r in self.oracle.truth["ranks"] if r["subject"] == item["subject"] for s in r["timeline"]]
        reached = [self.facts[step["fact"]] for step in steps]
        if item["kind"] != "rank regression":
            return [first]
        lowest = next(at for at, fact in enumerate(reached) if fact["value"] == second["value"])
        return [fact for fact in reached[lowest + 1 :] if fact["seq"] < second["seq"]]

    def resembles(self, change: Truth, report: Report) -> bool:
        """Is it about the values of this change, wherever they were said?"""
        subject = key(self.oracle.names.get(change["subject"], change["subject"]))
        values = frozenset(said(value) for value in change["values"])
        return (report.subject, report.attribute, report.values) == (
            subject,
            attribute_key(change["attribute"]),
            values,
        )

    def findable(self, item: Truth) -> bool:
        """Do both sides reach the reducer?"""
        second = self.facts[item["facts"][1]]
        firsts = {fact["id"] for first in self.firsts(item) for fact in self._again(first)}
        return second["id"] in self.oracle.reaching and not self.oracle.reaching.isdisjoint(firsts)

    def _again(self, first: Truth) -> list[Truth]:
        """All statements of the same. What began with a change (a rank, a gift, a death) began with that sentence."""
        if first["id"] in self.oracle.changes:
            return [first]
        same = ("subject", "attribute", "value")
        return [fact for fact in self.facts.values() if all(fact[name] == first[name] for name in same)]


def score(oracle: Oracle, reported: Sequence[Report], links: Sequence[tuple[str, str, int]]) -> Score:
    """Judge. `links` are (alias, name, chapter that says so first)."""
    judge = _Judge(oracle)
    contradictions = oracle.truth["contradictions"]
    found: set[str] = set()
    wrong: list[Report] = []
    for report in reported:
        mine = [item["id"] for item in contradictions if item["id"] not in found and judge.matches(item, report)]
        if mine:
            found.add(mine[0])
        else:
            wrong.append(report)
    changed = {r: [c for c in oracle.truth["changes"] if judge.resembles(c, r)] for r in wrong}
    silent = {r for r, of in changed.items() if of and all(c["facts"][1] not in oracle.reaching for c in of)}
    every = {key(a["alias"]): (key(c["name"]), a["fact"]) for c in oracle.truth["characters"] for a in c["aliases"]}
    right = [(alias, seq) for alias, name, seq in links if every.get(alias, ("", ""))[0] == name]
    return Score(
        planted=frozenset(item["id"] for item in contradictions),
        findable=frozenset(item["id"] for item in contradictions if judge.findable(item)),
        found=frozenset(found),
        reported=len(reported),
        wrong=tuple(wrong),
        explained=tuple(r for r in wrong if changed[r] and r not in silent),
        unexplainable=tuple(r for r in wrong if r in silent),
        aliases_stated=sum(1 for _, fact in every.values() if fact not in oracle.missed),
        aliases_right=len(right),
        aliases_wrong=len(links) - len(right),
        reveals_right=sum(1 for alias, seq in right if judge.facts[every[alias][1]]["seq"] == seq),
    )
