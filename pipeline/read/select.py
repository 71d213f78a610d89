"""Which candidates are headings, judged by what stands around them and by the others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, pstdev

from pipeline.read.chapter_words import CHAPTER_RANK
from pipeline.read.chapters import Heading
from pipeline.read.contents import title_key
from pipeline.read.numerals import parse_number
from pipeline.read.scan import Candidate

_DEEP_INDENT = 4
_MOST = 0.8
_NUMBERS = 3  # lone numbers that make a sequence
_TOP = 200  # characters to be seen before a heading at the top of a file that holds one chapter of many
_PAGES = 20  # lone numbers from which on they are checked for being page numbers


def headings_among(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that are headings. Boilerplate and tables of contents are already left out."""
    plain = [candidate for candidate in candidates if not _within_paragraph(candidate)]
    verses = _verses([c for c in plain if c.heading.unit == "verse"], len(plain))
    kept = [c for c in plain if c.heading.unit not in ("verse", "number", "contents")]
    kept = _counting(_without_strays(kept))
    numbers = _numbers([c for c in plain if c.heading.unit == "number" and c.blank_before and c.blank_after], kept)
    return sorted([*kept, *verses, *numbers], key=lambda candidate: candidate.start)


def without_repeats(headings: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Headings, and those left out because they only repeat the one right before them."""
    kept: list[Candidate] = []
    repeats: list[Candidate] = []
    for candidate in headings:
        before = kept[-1] if kept else None
        if before is not None and _repeats(before, candidate):
            repeats.append(candidate)
        else:
            kept.append(candidate)
    return kept, repeats


def _repeats(before: Candidate, candidate: Candidate) -> bool:
    one, two = before.heading, candidate.heading
    if two.unit == "named" and one.rank == CHAPTER_RANK and candidate.seen == before.seen and one.unit != "named":
        return _is_bare(one)  # "Postscript" right below "Chapter 25" is that chapter's title
    if one.unit == two.unit == "named" and candidate.seen > before.seen:
        return _name(one) == _name(two)  # a running head of the same part
    return candidate.seen == before.seen and title_key(one.title) == title_key(two.title)


def _is_bare(heading: Heading) -> bool:
    return parse_number(heading.title.split()[-1].strip(".:")) is not None


def _name(heading: Heading) -> str:
    return title_key(heading.title.split("(")[0].split(":")[0])


def _within_paragraph(candidate: Candidate) -> bool:
    isolated = candidate.blank_before or candidate.blank_after
    if candidate.reads_on:
        return True
    if candidate.heading.sure:
        return False
    return candidate.hangs or not isolated


def _without_strays(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Leave out what differs from most (deep indent, no blank line around) and does not continue the numbers."""
    sure = [candidate for candidate in candidates if candidate.heading.sure]
    flush = sum(candidate.indent < _DEEP_INDENT for candidate in sure)
    apart = sum(candidate.blank_before or candidate.blank_after for candidate in sure)
    kept: list[Candidate] = []
    number: int | None = None
    for candidate in candidates:
        heading = candidate.heading
        follows = heading.number == (number or 0) + 1 and heading.rank >= CHAPTER_RANK
        odd_indent = candidate.indent >= _DEEP_INDENT and flush * 2 > len(sure)
        joined = not candidate.blank_before and not candidate.blank_after
        odd_place = joined and (candidate.hangs or apart >= _MOST * len(sure)) and apart < len(sure)
        if (odd_indent or odd_place or candidate.is_long) and not follows:
            continue
        kept.append(candidate)
        if heading.rank < CHAPTER_RANK:
            number = 0
        elif heading.number is not None and heading.unit != "named":
            number = heading.number
    return kept


def _counting(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Leave out weak and doubtful headings that do not fit the count, and lines that say that a chapter ends."""
    systems = _systems(candidates)
    kept: list[Candidate] = []
    counts: dict[str, int] = {}
    for candidate in candidates:
        heading = candidate.heading
        last = counts.get(heading.unit)
        if heading.ends and kept and kept[-1].heading.unit == heading.unit and last == heading.number:
            continue
        if heading.weak and heading.unit not in systems:
            continue
        if heading.doubtful and heading.number != (last or 0) + 1:
            continue
        kept.append(candidate)
        if heading.rank < CHAPTER_RANK:
            counts.clear()
        if heading.number is not None:
            counts[heading.unit] = heading.number
    return kept


def _systems(candidates: Sequence[Candidate]) -> set[str]:
    """Units whose weak headings count up, most of them one by one: the book's system, and no chance."""
    numbers: dict[str, list[int]] = {}
    for candidate in candidates:
        if candidate.heading.weak:
            numbers.setdefault(candidate.heading.unit, []).append(candidate.heading.number or 0)
    first = {unit for unit, found in numbers.items() if found[0] in (0, 1)}
    top = {one.heading.unit for one in candidates[:1] if one.heading.weak and one.seen <= _TOP}
    return {
        unit
        for unit in first | top
        if sum(two == one + 1 for one, two in pairwise(numbers[unit])) >= _MOST * (len(numbers[unit]) - 1) - 1
    }


def _verses(verses: Sequence[Candidate], others: int) -> list[Candidate]:
    """Heads such as "Genesis 1" when they are the book's system: most of them go on from the one before."""
    verses = [candidate for candidate in verses if candidate.blank_before and candidate.blank_after]
    if len(verses) < 5 or len(verses) * 2 < others:
        return []
    going_on = 0
    before = ("", 0)
    for candidate in verses:
        heading = candidate.heading
        name = heading.outer[0] if heading.outer else ""
        going_on += heading.number == (before[1] + 1 if name == before[0] else 1)
        before = (name, heading.number or 0)
    return list(verses) if going_on >= _MOST * len(verses) else []


def _numbers(numbers: Sequence[Candidate], headings: Sequence[Candidate]) -> list[Candidate]:
    """Numbers alone on a line when they count chapters, and not pages.

    In a book with other headings a run of them must fit between its neighbours; in a book without they must count up
    from one, and not stand as regularly as page numbers do.
    """
    if headings:
        return _fitting_runs(numbers, headings)
    values = [candidate.heading.number or 0 for candidate in numbers]
    steps = sum(two in (one, one + 1) for one, two in pairwise(values))
    if len(numbers) < _NUMBERS or values[0] > 2 or steps < _MOST * (len(values) - 1) or _are_pages(numbers):
        return []
    return list(numbers)


def _are_pages(numbers: Sequence[Candidate]) -> bool:
    gaps = [two.seen - one.seen for one, two in pairwise(numbers)]
    return len(numbers) >= _PAGES and pstdev(gaps) < 0.3 * fmean(gaps)


def _fitting_runs(numbers: Sequence[Candidate], headings: Sequence[Candidate]) -> list[Candidate]:
    both = sorted([*numbers, *headings], key=lambda candidate: candidate.start)
    kept: list[Candidate] = []
    run: list[Candidate] = []
    before: Candidate | None = None
    for candidate in [*both, None]:
        if candidate is not None and candidate.heading.unit == "number":
            run.append(candidate)
            continue
        if run and _fits(before, run, candidate):
            kept.extend(run)
        run, before = [], candidate
    return kept


def _fits(before: Candidate | None, run: Sequence[Candidate], after: Candidate | None) -> bool:
    """Whether a run counts up by one, leads to the heading behind it and goes on from the one before it."""
    values = [candidate.heading.number or 0 for candidate in run]
    if any(two not in (one, one + 1) for one, two in pairwise(values)):
        return False
    low = before.heading.number if before is not None else None
    high = after.heading.number if after is not None else None
    return high == values[-1] + 1 and (low is None or values[0] == low + 1)
