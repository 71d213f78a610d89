"""What is odd about a book's headings, told to the reader of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import median

from pipeline.read.boilerplate import Marker
from pipeline.read.chapter_words import CHAPTER_RANK, SIDE_UNITS
from pipeline.read.chapters import Heading
from pipeline.read.numbering import MAX_WARNINGS, Numbered, number_warnings
from pipeline.read.reading import ReadWarning
from pipeline.read.scan import MAX_CANDIDATES, Candidate, Scanner

_MAX_EMPTY = 60  # characters to be seen below a heading that are next to nothing, where half of the others have many
_MANY_TIMES = 6
_BANNERS = {
    Marker.SITE: ("site-banner", "a line of a site, not of the book"),
    Marker.NOTE: ("author-note", "a note to the readers of a site"),
}


def oddities(
    headings: Sequence[Candidate], repeats: Sequence[Candidate], banners: Sequence[Candidate], scanner: Scanner
) -> tuple[ReadWarning, ...]:
    """Warnings by line: numbers double, missing or out of order; headings repeated; chapters with no text.

    Side chapters, banners of sites and notes of authors are told too: what stands beside the book's own count and
    words is for a person to judge.
    """
    repeated = (_repeat_warning(candidate) for candidate in repeats if candidate.heading.unit != "named")
    warnings = [
        *number_warnings(_scopes(headings, _sizes(headings, scanner))),
        *_some(repeated, "headings that stand twice"),
        *_some(_thin_chapters(headings, scanner), "chapters with next to no text"),
        *_some(_side_chapters(headings), "side chapters"),
        *_some(_banners(banners, Marker.SITE), "lines of a site"),
        *_some(_banners(banners, Marker.NOTE), "notes of the author"),
    ]
    if scanner.overfull:
        message = f"more than {MAX_CANDIDATES} lines look like headings; those after them were not looked at"
        warnings.append(ReadWarning(code="too-many-headings", message=message))
    return tuple(sorted(warnings, key=lambda warning: warning.line or 0))


def _sizes(headings: Sequence[Candidate], scanner: Scanner) -> list[int]:
    """How many characters are to be seen below each heading."""
    behind = [*(candidate.seen for candidate in headings[1:]), scanner.seen]
    return [after - candidate.seen for candidate, after in zip(headings, behind, strict=False)]


def _scopes(headings: Sequence[Candidate], sizes: Sequence[int]) -> list[list[Numbered]]:
    """Numbered headings that count together: by unit, and by volume when the count restarts in most volumes."""
    by_unit: dict[tuple[str, int], list[list[Numbered]]] = {}
    volume = 0
    outer = ""
    for candidate, size in zip(headings, sizes, strict=True):
        heading = candidate.heading
        if heading.rank < CHAPTER_RANK or (heading.outer is not None and heading.outer[0] != outer):
            volume += 1
            outer = heading.outer[0] if heading.outer is not None else ""
        if heading.number is None or heading.unit == "named":
            continue
        runs = by_unit.setdefault((_family(heading), heading.rank), [])
        while heading.rank >= CHAPTER_RANK and len(runs) <= volume:
            runs.append([])
        if not runs:
            runs.append([])
        last = max(heading.number, heading.through or 0)
        runs[-1].append(
            Numbered(number=heading.number, title=heading.title, line=candidate.line, size=size, through=last)
        )
    scopes: list[list[Numbered]] = []
    for runs in by_unit.values():
        filled = [run for run in runs if run]
        restarts = sum(run[0].number <= 1 for run in filled[1:])
        scopes.extend(filled if restarts * 2 > len(filled) - 1 else [[one for run in filled for one in run]])
    return scopes


def _family(heading: Heading) -> str:
    return "side" if heading.unit in SIDE_UNITS else "chapter" if heading.rank == CHAPTER_RANK else heading.unit


def _some(warnings: Iterator[ReadWarning], what: str) -> list[ReadWarning]:
    """The warnings, or so many of them and one that says how many there were."""
    kept = list(islice(warnings, MAX_WARNINGS))
    more = sum(1 for _ in warnings)
    if more:
        message = f"there are {len(kept) + more} {what}; {len(kept)} of them are listed"
        kept.append(ReadWarning(code=kept[-1].code, message=message))
    return kept


def _repeat_warning(candidate: Candidate) -> ReadWarning:
    message = f"{candidate.heading.title!r} stands again right below itself"
    return ReadWarning(code="heading-repeated", message=message, line=candidate.line)


def _side_chapters(headings: Sequence[Candidate]) -> Iterator[ReadWarning]:
    for candidate in headings:
        if candidate.heading.unit in SIDE_UNITS:
            message = f"{candidate.heading.title!r} stands beside the count of the chapters"
            yield ReadWarning(code="side-chapter", message=message, line=candidate.line)


def _banners(banners: Sequence[Candidate], marker: Marker) -> Iterator[ReadWarning]:
    code, what = _BANNERS[marker]
    for candidate in banners:
        if candidate.marker is marker:
            message = f"{what}: {candidate.heading.title[:80]!r}"
            yield ReadWarning(code=code, message=message, line=candidate.line)


def _thin_chapters(headings: Sequence[Candidate], scanner: Scanner) -> Iterator[ReadWarning]:
    """Chapters with next to no text, in a book whose chapters have much."""
    chapters = [
        (c, body) for c, body in zip(headings, _sizes(headings, scanner), strict=True) if c.heading.rank >= CHAPTER_RANK
    ]
    if len(chapters) < 10:
        return
    limit = min(_MAX_EMPTY, median(body for _, body in chapters) / _MANY_TIMES)
    for candidate, body in chapters:
        if body <= limit and limit >= 1:
            message = f"{candidate.heading.title!r} has next to no text"
            yield ReadWarning(code="chapter-empty", message=message, line=candidate.line)
