"""Candidates for names in Chinese: short strings that stand between the places where a name can begin and end.

Nothing is judged here. A chunk shows too little; the sums of a whole book tell 行者 from 行者道 and 孙悟 from 孙悟空
(`pipeline.reduce.glossary`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.models.extractive import words_han as han
from pipeline.models.extractive.mentions import Mentions
from pipeline.models.extractive.scripts import HAN

_RUN = re.compile(f"[{HAN}·]+")
_LONGEST = 4
EDGE = "$"  # stands for punctuation among the neighbours


_QUOTED = re.compile("“[^”]*”?|「[^」]*」?|‘[^’]*’?|『[^』]*』?")


@dataclass(slots=True)
class _Evidence:
    """How often a candidate stood well on both sides, and at the very start of a clause."""

    both: int = 0
    edge: int = 0


def find_names(masked: str) -> list[Mentions]:
    """Candidates of a chunk (as `masking.mask` gave it) with the sums by which they are judged later."""
    evidence: dict[str, _Evidence] = {}
    for run in _RUN.finditer(masked):
        _scan(run.group(), evidence)
    narrated = _QUOTED.sub(lambda match: EDGE * len(match.group()), masked)
    found = []
    for name, seen in evidence.items():
        if not _worth_it(name, seen, masked.count(name)):
            continue
        mentions = Mentions(name=name)
        _count(masked, mentions)
        mentions.seen["both"] = seen.both  # 0 too: its presence tells what kind of candidate this is
        mentions.note("edge", seen.edge)
        mentions.note("told", narrated.count(name))
        mentions.kind = _kind(mentions)
        if not seen.both and mentions.count == 1:
            mentions.right.clear()  # a support for longer or shorter ones, never judged by it
        found.append(mentions)
    return found


def _scan(run: str, evidence: dict[str, _Evidence]) -> None:
    for start in range(len(run) - 1):
        first = run[start]
        if first in han.NEVER_FIRST or first in han.PARTICLES:
            continue
        edge = start == 0
        if edge or run[start - 1] in han.BEFORE:
            _scan_ends(run, start, edge, evidence)


def _scan_ends(run: str, start: int, edge: bool, evidence: dict[str, _Evidence]) -> None:
    size = len(run)
    seldom = run[start] in han.SELDOM_FIRST
    for end in range(start + 2, min(start + _LONGEST, size) + 1):
        last = run[end - 1]
        if last in han.PARTICLES:
            break
        # Four characters that are a whole clause are a phrase much more often than a name.
        ends = run[end] in han.AFTER if end < size else not (edge and end - start == _LONGEST)
        if last in han.NOT_LAST or (not ends and (seldom or last in han.SELDOM_LAST or end - start == _LONGEST)):
            continue
        name = run[start:end]
        if name not in han.STOP_WORDS:
            seen = evidence.setdefault(name, _Evidence())
            seen.both += ends
            seen.edge += edge


def _worth_it(name: str, seen: _Evidence, count: int) -> bool:
    """Whether a chunk shows enough of a candidate to write it down."""
    if len(name) == _LONGEST:
        return seen.both > 0 and (count > 1 or seen.edge > 0)
    return seen.both > 0 or count > 1 or seen.edge > 0


def _count(masked: str, mentions: Mentions) -> None:
    name = mentions.name
    start = masked.find(name)
    while start >= 0:
        end = start + len(name)
        mentions.at(start, end)
        before = masked[start - 1] if start else EDGE
        after = masked[end] if end < len(masked) else EDGE
        edge = not _RUN.match(before)
        mentions.right.add(after if _RUN.match(after) else EDGE)
        mentions.note("speech", int(after in han.SPEECH or masked[end + 1 : end + 2] in ("道", "曰")))
        mentions.note("act", int(edge and after in han.PERSON_AFTER))
        mentions.note("with", int(before in han.PERSON_BEFORE))
        mentions.note("one", int(before in han.DETERMINERS))
        mentions.note("place", int(before in han.LOCATIVE_BEFORE))
        start = masked.find(name, end)


def _kind(mentions: Mentions) -> str:
    if mentions.name[-1] in han.PLACE_LAST:
        return "place"
    if mentions.name[-1] in han.ORGANIZATION_LAST:
        return "organization"
    return "person" if mentions.seen.get("speech") else "name"
