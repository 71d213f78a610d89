"""The table of contents at the front: a run of headings with nothing between them, which come again in the book."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.read.chapter_words import CHAPTER_RANK
from pipeline.read.scan import Candidate

_PAGE_NUMBER = re.compile(r"(?:[\s.·…_]{2,}|\t)\d{1,4}$")
_NO_LETTERS = re.compile(r"[\W_]+")
_MAX_GAP = 100  # characters between two entries: the second line of a long title
_NOTHING = 4  # characters that are as good as none: a page number
_ENTRIES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentsSpan:
    """Candidates first..last (indices) are one table of contents."""

    first: int
    last: int


def title_key(title: str) -> str:
    """What two writings of one title have in common: letters and digits without case, width or page number."""
    folded = unicodedata.normalize("NFKC", _PAGE_NUMBER.sub("", title)).casefold()
    return _NO_LETTERS.sub("", folded) or folded.strip()


def contents_spans(candidates: Sequence[Candidate]) -> list[ContentsSpan]:
    """Every table of contents among the candidates, in order. Linear in their number."""
    keys = [title_key(candidate.heading.title) for candidate in candidates]
    last_place = {key: index for index, key in enumerate(keys)}
    spans, index = [], 0
    while index < len(candidates):
        end = _run_end(candidates, index)
        span = _judge_run(candidates, keys, last_place, index, end)
        if span is not None:
            spans.append(span)
        index = max(end, span.last + 1 if span else end)
    return spans


def _run_end(candidates: Sequence[Candidate], first: int) -> int:
    """Index behind the run of candidates that stand close together, from `first` on."""
    end = first + 1
    while end < len(candidates) and candidates[end].seen - candidates[end - 1].seen <= _MAX_GAP:
        end += 1
    return end


def _judge_run(
    candidates: Sequence[Candidate], keys: Sequence[str], last_place: dict[str, int], first: int, end: int
) -> ContentsSpan | None:
    word = next((i for i in range(first, end) if candidates[i].heading.unit == "contents"), None)
    announced, first = word is not None, first if word is None else word
    stop = _first_repeat(candidates, keys, first, end)
    if stop == end and stop - 1 > first and last_place[keys[stop - 1]] < end:
        stop -= 1  # the last of the run is followed by text and does not come again: it is the book's first heading
    entries = range(first + announced, stop)
    if len(entries) < (2 if announced else _ENTRIES):
        return None
    gaps = [candidates[i + 1].seen - candidates[i].seen for i in entries if i + 1 < stop]
    if sum(gap <= _NOTHING for gap in gaps) < 0.7 * len(gaps):
        return None
    again = sum(last_place[keys[i]] >= stop for i in entries)
    if again * 2 < len(entries) and not (announced and stop < len(candidates)):
        return None
    return ContentsSpan(first=first, last=stop - 1)


def _first_repeat(candidates: Sequence[Candidate], keys: Sequence[str], first: int, end: int) -> int:
    """Index of the first entry that was already listed under the same volume: there the book itself begins."""
    volume, listed = "", set()
    for index in range(first, end):
        heading = candidates[index].heading
        if heading.unit == "named" or (heading.rank < CHAPTER_RANK and not heading.outer):
            volume = keys[index]  # an epilogue may have chapters of its own
        entry = (volume if keys[index] != volume else "", keys[index])
        if entry in listed:
            return index
        listed.add(entry)
    return end
