"""Chapter numbers that are double, missing, misprinted or out of order: reported, never repaired."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.read.contents import title_key
from pipeline.read.reading import ReadWarning

MAX_WARNINGS = 1000
_FEW = 12
_LIKE = 0.03  # how much the sizes of a chapter that was posted twice differ, where lines were wrapped anew
_PART = re.compile(
    r"[\s,:：·-]*[(（\[]?(?:[上中下]|(?:part|pt\.?|часть)\s*\w{1,5}|[一二三四五六七八九十\d]{1,2})[)）\]]?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Numbered:
    """A heading with a number."""

    number: int
    title: str
    line: int
    size: int  # characters to be seen below it
    through: int  # the last number of one that stands for several; else the number itself


def number_warnings(scopes: Sequence[Sequence[Numbered]]) -> list[ReadWarning]:
    """What is odd about the numbers; each scope counts by itself (the chapters of a book that restarts at one)."""
    warnings: list[ReadWarning] = []
    for scope in scopes:
        for warning in _scope_warnings(scope):
            if len(warnings) >= MAX_WARNINGS:
                message = f"more than {MAX_WARNINGS} oddities of chapter numbers; the rest is not listed"
                return [*warnings, ReadWarning(code="chapter-numbers", message=message)]
            warnings.append(warning)
    return warnings


def _scope_warnings(scope: Sequence[Numbered]) -> Iterator[ReadWarning]:
    printed = {number for heading in scope for number in (heading.number, heading.through)}
    seen: dict[int, Numbered] = {}
    highest: int | None = None
    for index, heading in enumerate(scope):
        number = heading.number
        following = scope[index + 1].number if index + 1 < len(scope) else None
        expected = None if highest is None else highest + 1
        before = scope[index - 1] if index else None
        if before is not None and _are_parts(before, heading):
            message = f"chapter {number} is split: {before.title!r} on line {before.line}, then {heading.title!r}"
            yield ReadWarning(code="chapter-split", message=message, line=heading.line)
            continue
        if expected is not None and number != expected and following == expected + 1 and not _doubles(seen, heading):
            message = f"{heading.title!r} stands where chapter {expected} is due"
            yield ReadWarning(code="chapter-misnumbered", message=message, line=heading.line)
            highest = expected
            printed.add(expected)
            continue
        yield from _place(seen, heading, highest, printed)
        seen.setdefault(number, heading)
        highest = max(heading.through, number if highest is None else highest)


def _place(
    seen: dict[int, Numbered], heading: Numbered, highest: int | None, printed: set[int]
) -> Iterator[ReadWarning]:
    number, line = heading.number, heading.line
    first = seen.get(number)
    if first is not None:
        if title_key(first.title) == title_key(heading.title):
            message = f"{heading.title!r} comes twice, first on line {first.line}"
            yield ReadWarning(code="chapter-duplicate", message=message, line=line)
        else:
            message = (
                f"chapter {number} comes more than once: {first.title!r} on line {first.line}, then {heading.title!r}"
            )
            yield ReadWarning(code="chapter-number-twice", message=message, line=line)
    elif highest is not None and number < highest:
        message = f"{heading.title!r} comes after chapter {highest}"
        yield ReadWarning(code="chapter-out-of-order", message=message, line=line)
    elif highest is not None and number > highest + 1:
        yield from _missing(range(highest + 1, number), printed, line)


def _missing(gap: range, printed: set[int], line: int) -> Iterator[ReadWarning]:
    if len(gap) > 10_000:
        absent = [gap[0], gap[-1]]
        what = f"chapters {gap[0]} to {gap[-1]} are"
    else:
        absent = [number for number in gap if number not in printed]
        listed = ", ".join(map(str, absent[:_FEW])) + (", …" if len(absent) > _FEW else "")
        what = f"chapter {listed} is" if len(absent) == 1 else f"chapters {listed} are"
    if absent:
        yield ReadWarning(code="chapter-missing", message=f"{what} missing before line {line}", line=line)


def _are_parts(before: Numbered, heading: Numbered) -> bool:
    """Whether two titles are the parts of one chapter: equal but for （上）/（下） or (Part 1)/(Part 2)."""
    if before.number != heading.number:
        return False
    one, two = _PART.search(before.title), _PART.search(heading.title)
    return bool(one and two and one[0] != two[0] and before.title[: one.start()] == heading.title[: two.start()])


def _doubles(seen: dict[int, Numbered], heading: Numbered) -> bool:
    """Whether a chapter stands twice, and not two chapters of which one has the other's number."""
    first = seen.get(heading.number)
    if first is None or title_key(first.title) != title_key(heading.title):
        return False
    return abs(first.size - heading.size) <= _LIKE * max(first.size, heading.size)
