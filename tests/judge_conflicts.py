"""How well reported conflicts and aliases meet a truth file.

A report is right when it names a planted contradiction: its subject, its attribute and both its values, one side in
the chapter of the statement that does not fit. All else that is reported is wrong, a second report of the same one too.

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
            and report.values == frozenset(said(value) for value in item["values"])
            and (said(item["values"][1]), second["seq"]) in report.places
        )

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
        first, second = (self.facts[fact] for fact in item["facts"])
        again = [
            fact["id"]
            for fact in self.facts.values()
            if all(fact[name] == first[name] for name in ("subject", "attribute", "value"))
        ]
        # What began with a change (a rank reached, a thing handed on, a death) began with that sentence alone.
        firsts = [first["id"]] if first["id"] in self.oracle.changes else again
        return second["id"] in self.oracle.reaching and not self.oracle.reaching.isdisjoint(firsts)


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
