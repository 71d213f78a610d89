"""Judges candidates of scripts with capitals: a name is written with a capital in the middle of sentences too."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.models.extractive import words_en as en
from pipeline.ops.values import Json
from pipeline.reduce.glossary.candidates import Candidate, Kept, members_of

_ROLE_SHARE = 300  # thousandths of a title's mentions behind "the" that make it a role
_LEAST_SHARE = 20  # a second kind needs at least one mention in so many
_SENSE_SHARE = 200  # thousandths of the typed mentions that a second kind needs to be a sense of its own


def judge(candidates: Mapping[str, Candidate]) -> list[Kept]:
    """The candidates that are names or terms; one whose kinds are both well shown stays two entries (Washington)."""
    kept = []
    for key in sorted(candidates):
        candidate = candidates[key]
        if candidate.sum("term") or _is_name(candidate):
            kept += _senses(candidate)
    return kept


def _is_name(candidate: Candidate) -> bool:
    words = candidate.key.replace(".", "").split()
    middle, lower, count = candidate.sum("mid"), candidate.sum("lower"), candidate.count
    if not middle and not lower:
        middle = candidate.sum("list") // 2  # only ever named after a comma
    if len(words) > 1 and words[0] in en.TITLES:
        return True
    if count < 2 and not (len(words) > 1 and middle):
        return False
    if candidate.share("a") > 250:
        return False  # "a Frenchman", "every Sunday": one of many
    if len(words) > 1:
        return middle * 20 >= count or candidate.sum("speech") > 0
    if words[0] in en.FURNITURE or (words[0] in en.TITLES and middle < 3 * lower):
        return False
    if words[0] in en.TITLES and candidate.share("the") > _ROLE_SHARE:
        return False  # the Emperor, whoever he is
    return middle * 8 >= count and middle > lower


def _senses(candidate: Candidate) -> list[Kept]:
    """One entry for each kind with evidence enough; mentions of no known kind go to the best shown one."""
    by_kind: dict[str, list[Json]] = {}
    for entry in candidate.entries:
        by_kind.setdefault(entry["kind"], []).append(entry)
    counts = {kind: sum(entry["count"] for entry in entries) for kind, entries in by_kind.items()}
    typed = {kind: count for kind, count in counts.items() if kind != "name"}
    if not typed:
        return [_kept("name", candidate.entries)]
    best = min(typed, key=lambda kind: (-typed[kind], kind))
    apart = {
        kind
        for kind in typed
        if kind != best
        and typed[kind] * _LEAST_SHARE >= candidate.count
        and _is_sense(by_kind[kind], typed[kind], sum(typed.values()))
    }
    rest = [entry for entry in candidate.entries if entry["kind"] not in apart]
    senses = [_kept(kind, by_kind[kind]) for kind in sorted(apart)]
    return [_kept(best if _is_shown(best, typed[best], candidate) else "name", rest), *senses]


def _is_sense(entries: list[Json], count: int, typed: int) -> bool:
    parts = sum(entry["parts"] for entry in entries)
    return count * 1000 >= typed * _SENSE_SHARE and parts >= 2


def _is_shown(kind: str, typed: int, candidate: Candidate) -> bool:
    """Whether the kind of some mentions may stand for all: "in" is said of more than places, so they need more."""
    if kind != "place":
        return typed * 20 >= candidate.count
    return typed * 10 >= candidate.count and (typed == candidate.count or candidate.share("the") < 300)


def _kept(kind: str, entries: list[Json]) -> Kept:
    best = min(entries, key=lambda entry: (-entry["count"], entry["name"]))
    return Kept(
        name=best["name"],
        kind=kind,
        count=sum(entry["count"] for entry in entries),
        members=members_of(entries),
    )


def trust(candidates: Mapping[str, Candidate]) -> list[Kept]:
    """Entries for candidates whose maker has judged them already."""
    return [kept for key in sorted(candidates) for kept in _senses(candidates[key])]
