"""How well reported conflicts and aliases meet a truth file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.reduce.conflicts.words import attribute_key, value_key
from pipeline.reduce.glossary.keys import canonical_key
from tests.oracle import Oracle

Pair = tuple[str, str, frozenset[str]]  # subject, attribute, the two values


@dataclass(frozen=True)
class Score:
    """Counts over the planted contradictions, the explained changes and the stated aliases."""

    planted: int  # contradictions in the book
    given: int  # those of which the extractor gave both sides
    found: int
    found_of_given: int
    reported: int
    wrong: tuple[Pair, ...]
    explained: tuple[Pair, ...]  # explained changes that were reported all the same
    aliases_stated: int
    aliases_right: int
    aliases_wrong: int
    reveals_right: int

    def line(self) -> str:
        """One line of a table."""
        precision = (self.reported - len(self.wrong)) / max(1, self.reported)
        return (
            f"contradictions {self.found}/{self.planted} ({self.found_of_given}/{self.given} of those given), "
            f"precision {precision:.3f}, explained reported {len(self.explained)}; aliases "
            f"{self.aliases_right}/{self.aliases_stated}, wrong {self.aliases_wrong}, reveal chapters right "
            f"{self.reveals_right}/{self.aliases_right}"
        )


def key(text: object) -> str:
    return canonical_key({"name": str(text)})


def right_of(pair: Pair, planted: Iterable[Pair]) -> bool:
    """Is it a planted one? Where the standing value was missed, the last that was not missed stands for it."""
    return any(
        pair[:2] == other[:2] and (pair[2] == other[2] or (pair[1] in ("rank", "owner") and pair[2] & other[2]))
        for other in planted
    )


def _pair(oracle: Oracle, item: dict[str, object]) -> Pair:
    subject = key(oracle.names.get(str(item["subject"]), item["subject"]))
    values = frozenset(
        value_key(str(value) if isinstance(value, str) else str(value).lower()) for value in item["values"]
    )  # type: ignore[attr-defined]
    return subject, attribute_key(str(item["attribute"])), values


def score(oracle: Oracle, reported: Iterable[Pair], links: Sequence[tuple[str, str, int | None]]) -> Score:
    """Judge. `links` are (alias, name, chapter that says so first)."""
    truth = oracle.truth
    found = list(reported)
    planted = {_pair(oracle, item): item for item in truth["contradictions"]}
    explained = {_pair(oracle, item) for item in truth["changes"]} - planted.keys()
    facts = {fact["id"]: fact for fact in truth["facts"]}

    def given_as_it_is(fact: dict[str, object]) -> bool:
        return fact["id"] not in oracle.dropped and fact["id"] not in oracle.lost_under_alias

    def told(item: dict[str, object]) -> bool:
        """Both sides reached the extractor's output: the first, or an earlier statement of the same, and the second."""
        first, second = (facts[fact] for fact in item["facts"])  # type: ignore[attr-defined]
        same = [
            fact
            for fact in truth["facts"]
            if all(fact[name] == first[name] for name in ("subject", "attribute", "value"))
            and fact["seq"] <= second["seq"]
        ]
        firsts = [first] if first["id"] in oracle.changes else same
        return given_as_it_is(second) and any(given_as_it_is(fact) for fact in firsts)

    explained_by = {_pair(oracle, item): item["facts"][1] for item in truth["changes"]}
    silent = {pair for pair, fact in explained_by.items() if fact in oracle.dropped}  # nothing is left that explains
    unexplained = set(found) & explained - silent
    given = {pair for pair, item in planted.items() if told(item)}
    stated = {
        key(fact["value"]): (key(oracle.names[fact["subject"]]), fact["seq"])
        for fact in truth["facts"]
        if fact["attribute"] == "alias" and fact["id"] not in oracle.dropped
    }
    every = {key(a["alias"]): key(c["name"]) for c in truth["characters"] for a in c["aliases"]}
    right = [(alias, name, seq) for alias, name, seq in links if every.get(alias) == name]
    return Score(
        planted=len(planted), given=len(given), found=len(planted.keys() & set(found)),
        found_of_given=len(given & set(found)), reported=len(found),
        wrong=tuple(sorted((pair for pair in set(found) if not right_of(pair, planted)), key=str)),
        explained=tuple(sorted((pair for pair in unexplained if not right_of(pair, planted)), key=str)),
        aliases_stated=len(stated), aliases_right=len(right), aliases_wrong=len(links) - len(right),
        reveals_right=sum(1 for alias, _, seq in right if seq is not None and stated.get(alias, ("", -1))[1] == seq),
    )  # fmt: skip
