"""Joins entries that the book itself says are one: "the Gull was none other than Marren Oake".

A statement joins names of people (or of one kind), the alias's bearer being clear (`pipeline.reduce.aliases`); the
entity is shown by the name that the book uses most. A word that is no name by itself becomes one by such a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipeline.ops.values import Json
from pipeline.reduce.aliases import Link, linked
from pipeline.reduce.glossary.candidates import Candidate, Kept, whole

_PEOPLE = ("person", "name")


def join(kept: Sequence[Kept], candidates: Mapping[str, Candidate], summaries: Sequence[Json]) -> list[Kept]:
    """The entries, those that are one by a statement joined. Neither argument's order changes what comes out."""
    stated = [link for summary in summaries for link in summary.get("aliases", ())]
    if not stated:
        return list(kept)
    spelt = {alias_key: alias for alias_key, alias, _, _ in sorted(stated, reverse=True)}
    weights = {key: candidate.count for key, candidate in candidates.items()}
    links = linked([(alias_key, name_key, times) for alias_key, _, name_key, times in stated], weights)
    owner: dict[str, list[Kept]] = {}
    for entry in sorted(kept, key=lambda one: (one.name, one.kind)):
        for key, _ in dict.fromkeys(entry.members):
            if entry not in owner.setdefault(key, []):
                owner[key].append(entry)
    gone: set[int] = set()
    for root, found in _groups(links, owner):
        if id(root) not in gone:
            _join_group(root, found, gone, owner, candidates, spelt)
    return [entry for entry in kept if id(entry) not in gone]


def _groups(links: Sequence[Link], owner: Mapping[str, list[Kept]]) -> Iterator[tuple[Kept, list[Link]]]:
    """(entry, its links) by the name that they lead to, where that name is an entry of one sense."""
    by_root: dict[str, list[Link]] = {}
    for link in links:
        by_root.setdefault(link.root, []).append(link)
    for root in sorted(by_root):
        bearers = [entry for entry in owner.get(root, ()) if entry.kind in _PEOPLE] or owner.get(root, [])
        if len(bearers) == 1:
            yield bearers[0], by_root[root]


def _join_group(
    root: Kept,
    links: Sequence[Link],
    gone: set[int],
    owner: dict[str, list[Kept]],
    candidates: Mapping[str, Candidate],
    spelt: Mapping[str, str],
) -> None:
    """Put what the links name under the root; adds to `gone` the ids of the entries that are no more."""
    parts = [(root.count, root.name)]
    for link in links:
        root.stated.append((link.alias, link.root))
        entry = _entry_of(link.alias, root, owner, candidates)
        if entry is None or id(entry) in gone or entry is root:
            root.aliases.add(spelt[link.alias])
            continue
        parts.append((entry.count, entry.name))
        root.absorb(entry, entry.name)
        gone.add(id(entry))
        owner |= {key: [root] for key, _ in entry.members}
    name = min(parts, key=lambda part: (-part[0], part != parts[0], part[1]))[1]
    root.aliases = (root.aliases | {part[1] for part in parts}) - {name}
    root.name = name


def _entry_of(
    alias: str, root: Kept, owner: Mapping[str, list[Kept]], candidates: Mapping[str, Candidate]
) -> Kept | None:
    """The entry of an alias, or what was counted of it though it was judged no name; None when there is neither.

    English names stand without the article that their statement may have ("the Gull").
    """
    for key in (alias, alias.removeprefix("the ")):
        found = owner.get(key, [])
        alike = [entry for entry in found if entry.kind == root.kind or {entry.kind, root.kind} <= set(_PEOPLE)]
        if len(alike) == 1:
            return alike[0]
        if not found and key in candidates:
            return whole(candidates[key], root.kind)
    return None
