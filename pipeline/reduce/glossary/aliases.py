"""Joins surface variants of one name, on sound evidence only and never in chains.

Three rules: a title before a name that is used with one title mainly; a word before a name that is only ever seen at
the start of a sentence ("Poor Queequeg"); and spellings that differ in accents alone.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence

from pipeline.models.extractive import words_en as en
from pipeline.reduce.glossary.candidates import Candidate, Kept, whole

_ONE_TITLE = 800  # thousandths of the titled mentions that the main title must have


def join(kept: Sequence[Kept], candidates: Mapping[str, Candidate]) -> list[Kept]:
    """The entries with their variants joined. An entry takes in others or is taken in, not both."""
    by_key: dict[str, list[Kept]] = defaultdict(list)
    for entry in kept:
        by_key[entry.members[0][0]].append(entry)
    gone: set[int] = set()
    _join_titles(by_key, gone)
    _join_starts(by_key, candidates, gone)
    _join_accents(by_key, gone)
    return [entry for entry in kept if id(entry) not in gone]


def split_title(key: str) -> tuple[str, str]:
    """(title, bare name) of a canonical key; the title is empty when there is none, or nothing but it."""
    first, _, rest = key.partition(" ")
    title = first.rstrip(".")
    return (title, rest) if title in en.TITLES and rest else ("", key)


def _single(by_key: Mapping[str, list[Kept]], key: str) -> Kept | None:
    """The entry of a key when it has one sense only: with two, nobody can say which one a variant means."""
    entries = by_key.get(key, [])
    return entries[0] if len(entries) == 1 else None


def _join_titles(by_key: Mapping[str, list[Kept]], gone: set[int]) -> None:
    titled: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key in sorted(by_key):
        title, bare = split_title(key)
        if title:
            titled[bare][title].append(key)
    full = _full_names(by_key)
    for bare, titles in sorted(titled.items()):
        target = _single(by_key, bare)
        if target is None or target.kind not in ("person", "name") or _is_family(bare, full):
            continue
        counts = {title: sum(entry.count for key in keys for entry in by_key[key]) for title, keys in titles.items()}
        main = min(counts, key=lambda title: (-counts[title], title))
        if counts[main] * 1000 < sum(counts.values()) * _ONE_TITLE:
            continue
        for key in titles[main]:
            for entry in by_key[key]:
                target.absorb(entry, entry.name if counts[main] > 1 else None)
                target.kind = "person"
                gone.add(id(entry))


def _full_names(by_key: Mapping[str, list[Kept]]) -> dict[str, list[str]]:
    """Keys of names of several words, used more than twice and without a title, by their last word."""
    full: dict[str, list[str]] = defaultdict(list)
    for key, entries in by_key.items():
        words = key.split()
        titled = any(word.rstrip(".") in en.TITLES for word in words)
        if len(words) > 1 and not titled and "of" not in words and sum(entry.count for entry in entries) > 2:
            full[words[-1]].append(key)
    return full


def _is_family(bare: str, full: Mapping[str, list[str]]) -> bool:
    """Whether several full names end in this one: then a title before it may mean any of them."""
    return sum(key.endswith(" " + bare) for key in full.get(bare.split()[-1], [])) > 1


def _join_starts(by_key: Mapping[str, list[Kept]], candidates: Mapping[str, Candidate], gone: set[int]) -> None:
    for key in sorted(candidates):
        rest = key.partition(" ")[2]
        candidate = candidates[key]
        target = _single(by_key, rest) if rest else None
        if target is None or candidate.sum("mid", "list") or not candidate.sum("start") or split_title(key)[0]:
            continue
        mine = by_key.get(key, [whole(candidate, target.kind)])
        if id(target) not in gone and candidate.count * 3 < target.count:
            for entry in mine:
                target.absorb(entry, None)
                gone.add(id(entry))


def _join_accents(by_key: Mapping[str, list[Kept]], gone: set[int]) -> None:
    plain: dict[str, list[Kept]] = defaultdict(list)
    for key in sorted(by_key):
        entry = _single(by_key, key)
        if entry is not None and id(entry) not in gone and len(key) > 3 and key[0].isalpha():
            plain[_without_accents(key)].append(entry)
    for same in plain.values():
        best, *others = sorted(same, key=lambda entry: (-entry.count, entry.name))
        for entry in others:
            if entry.kind in (best.kind, "name"):
                best.absorb(entry, entry.name)
                gone.add(id(entry))


def _without_accents(key: str) -> str:
    parts = unicodedata.normalize("NFD", key)
    # Latin, Greek and Cyrillic accents alone: in other scripts the marks are vowels or part of the letter.
    return "".join(mark for mark in parts if not "\u0300" <= mark <= "\u036f")
