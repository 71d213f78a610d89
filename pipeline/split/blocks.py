"""Giant units in bounded memory: runs of text whose ends are chosen by the text around them.

A unit without headings may be as large as the source. It is handed on in blocks, each of which is split (and, when it
has not changed, skipped) by itself. An end is a paragraph or line end with the least hash among all within REACH
characters on both sides. That says nothing of where the block began, so an insertion moves no end but those near it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from pipeline.split.finer import finer
from pipeline.split.marks import BLANK_LINES, LINE, PARAGRAPH, rank

LINE_END = re.compile(r"\n")
WEAK_STEPS = (0, 1, 3, 6)  # sentences, clauses, words, graphemes
NARROW = 4096  # characters looked at for a grapheme's end


def bounded(chars: Iterable[str], *, target: int = 262_144, most: int = 1_048_576) -> Iterator[str]:
    """Blocks that make up the text of one unit, about `target` and never more than `most` characters each.

    A text of up to `target` characters is one block; an empty one is none. Ends are paragraph ends (line ends where
    there is no blank line for long), sentences or words in a giant line, and never inside a grapheme, unless one
    grapheme alone is longer than `most`. `most` must be at least twice `target`.
    """
    if not 2 <= target <= most // 2:
        raise ValueError(f"blocks of {target} characters, {most} at most: most must be at least twice the target")
    parts: list[str] = []
    size = 0
    for part in chars:
        parts.append(part)
        size += len(part)
        if size < most + 2 * target:
            continue
        text = "".join(parts)
        start = 0
        while len(text) - start >= most + target:
            end = start + _end(text[start : start + most + target], target // 2, most, last=False)
            yield text[start:end]
            start = end
        parts = [text[start:]]
        size = len(text) - start
    yield from _rest("".join(parts), target // 2, most)


def _rest(text: str, reach: int, most: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        run = text[start : start + most + 2 * reach]
        end = start + _end(run, reach, most, last=start + len(run) == len(text))
        yield text[start:end]
        start = end


def _end(text: str, reach: int, most: int, *, last: bool) -> int:
    """Where the block at the start of `text` ends; with `last` the unit ends with the text."""
    if last and len(text) <= 2 * reach:
        return len(text)
    end = _least(text, reach, last=last)
    if end is None and last:
        end = len(text)
    return end if end is not None and end <= most else _forced(text, reach, most)


def _least(text: str, reach: int, *, last: bool) -> int | None:
    """The first place whose rank is the least within reach on both sides. The ends of the unit count as less still."""
    window: deque[tuple[int, float, bool]] = deque()  # ranks ascend; whether it was the least when it came
    for at, value in _places(text, reach, last=last):
        while window and at - window[0][0] > reach:
            place, _, least = window.popleft()
            if least and place >= reach:
                return place
        while window and window[-1][1] > value:
            window.pop()
        window.append((at, value, not window))
    return None


def _places(text: str, reach: int, *, last: bool) -> Iterator[tuple[int, float]]:
    """Paragraph ends, and the line ends that have none within reach; at last the end of what is known."""
    before = 0
    for found in BLANK_LINES.finditer(text):
        at = found.end()
        if at == len(text):
            break
        yield from _lines(text, before + reach, at - reach)
        yield at, rank(text, at, PARAGRAPH)
        before = at
    known = len(text)
    yield from _lines(text, before + reach, known - reach)
    # At the end of the unit the window closes over what is left; elsewhere the last places stay undecided.
    yield known - (0 if last else reach), float("-inf")


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, float]]:
    for found in LINE_END.finditer(text, max(start, 0), max(end, 0)):
        yield found.end(), rank(text, found.end(), LINE)


def _forced(text: str, reach: int, most: int) -> int:
    """The best place for an end where the text offers none by its own: the least line or paragraph end, else the best
    within a giant line."""
    places = [place for place in _places(text[:most], reach, last=False) if reach <= place[0] < most and place[1] >= 0]
    for step in WEAK_STEPS:
        if places:
            break
        start = reach if step < WEAK_STEPS[-1] else 2 * reach - min(NARROW, reach)
        places = finer(text, start, 2 * reach, step, 1)
    if not places:
        places = [place for place in finer(text, 0, most, WEAK_STEPS[-1], 1) if place[0] >= reach]
    return min(places, key=lambda place: (place[1], place[0]))[0] if places else most
