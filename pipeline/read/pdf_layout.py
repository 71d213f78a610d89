"""From the lines of a PDF to its paragraphs: running heads left out, notes apart, lines and broken words joined.

A PDF says where its glyphs stand and nothing of what they are. What is a head, a note or a paragraph is read off the
page as a person would: by what comes again at the same place, by size, by indents and by the space between.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from pipeline.read.pdf_lines import Line

_EDGE_ROWS = 2  # rows at the top and at the bottom of a page that may be running heads
_SAME_ROW = 0.4  # of a line's height: lines whose baselines are no further apart stand beside each other
_REPEATS = 3  # pages on which a head comes again
_APART = 1.6  # of a line's height: how far a second row of a head stands from the text
_BAND = 4.0  # points: heads of different pages at one height
_NUMBER = re.compile(r"\W*(?:page\s+)?(?:\d{1,5}|[ivxlcdm]{1,8})(?:\s*(?:/|of)\s*\d{1,5})?\W*", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_ITEM = re.compile(r"(?:[-•‣◦▪●○■□–—*]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")
_NOTE = re.compile(r"(?:\d{1,3}|[*†‡§¹²³⁴⁵⁶⁷⁸⁹])\W?\s*\S")
_SENTENCE_END = frozenset('.!?。！？…:：;”"’」』）)')
_WIDE = re.compile(r"[\u2e80-\u303f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_MARK = re.compile(r"\d{1,3}|[*†‡§]{1,3}")
_SMALL_MARK = 0.85  # of the text's height: the mark of a note
_RAISED = 0.7  # of a line's height: how far a mark stands above its line
_SHOWS = 20  # distances that are the same, so that they are the document's
_SMALL = 0.9  # of the body's height: notes are set smaller
_GAP = 1.35  # of the usual distance of lines: a wider one ends a paragraph
_WIDE_GAP = 2.2  # up to here, a sentence that has not ended may go on
_SIZES = 0.12  # sizes further apart than this share are different
_INDENT = 0.8  # of a line's height
_TEXT_WIDTH = 0.6  # of a page's column
_SLACK = 1.2  # of a line's height: text that is not justified leaves as much free at its right edge


@dataclass(slots=True)
class Paragraph:
    """Lines that belong together."""

    text: str
    page: int  # of its first line, from 0
    y: float
    height: float
    turns: list[tuple[int, int]] = field(default_factory=list)  # (offset in the text, page) where another page begins
    lines: int = 1
    is_contents: bool = False


@dataclass(slots=True)
class Layout:
    """A document as paragraphs."""

    paragraphs: list[Paragraph]
    notes: list[tuple[int, Paragraph]]  # (index of the paragraph behind which a note's page begins, note)
    heads: int  # lines that were left out as running heads and page numbers
    body: float  # the usual height of a line


def layout(lines: Sequence[Line]) -> Layout:
    """Make paragraphs of all lines of a document, in their order."""
    pages: defaultdict[int, list[Line]] = defaultdict(list)
    for line in lines:
        pages[line.page].append(line)
    heads = _running_heads(pages)
    weights: Counter[float] = Counter()
    for line in lines:
        weights[round(line.height * 2) / 2] += len(line.text)
    body = weights.most_common(1)[0][0] if weights else 1.0
    leading = _leading(pages, body)
    joiner = _Joiner(body, _words(lines), leading)
    notes: list[tuple[int, Paragraph]] = []
    for number in sorted(pages):
        kept = _with_marks([line for line in pages[number] if id(line) not in heads])
        text, small = _without_notes(kept, body)
        joiner.page(text)
        if small:
            apart = _Joiner(body, joiner.words, None)
            apart.page(small)
            notes.extend((len(joiner.paragraphs), paragraph) for paragraph in apart.paragraphs)
    return Layout(paragraphs=joiner.paragraphs, notes=notes, heads=len(heads), body=body)


def _rows(lines: Iterable[Line]) -> list[list[Line]]:
    """Lines from the top of a page down, those beside each other together."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda one: -one.y):
        if rows and abs(rows[-1][0].y - line.y) <= _SAME_ROW * line.height:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def _gaps(lines: Iterable[Line]) -> list[float]:
    """The distances of lines that follow each other closely."""
    return [one.y - two.y for one, two in pairwise(lines) if 0 < one.y - two.y < 3 * one.height]


def _leading(pages: dict[int, list[Line]], body: float) -> float | None:
    """The distance that most lines of the text keep; None where too few show one. A page may be all table."""
    counts: Counter[float] = Counter()
    for lines in pages.values():
        sized = [line for line in lines if abs(line.height - body) <= _SIZES * body]
        counts.update(round(gap * 2) / 2 for gap in _gaps(sized))
    if not counts or counts.most_common(1)[0][1] < _SHOWS:
        return None
    return counts.most_common(1)[0][0]


def _running_heads(pages: dict[int, list[Line]]) -> set[int]:
    """Identities of the lines at the edges of pages that come again, number aside, and of page numbers."""
    edges: list[tuple[Line, tuple[str, int, int]]] = []
    texts: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    numbers: Counter[tuple[str, int]] = Counter()
    for lines in pages.values():
        rows = _rows(lines)
        if len(rows) < 3:
            continue
        for side, chosen in (("top", rows[:_EDGE_ROWS]), ("bottom", rows[-_EDGE_ROWS:])):
            for depth, row in enumerate(chosen if side == "top" else reversed(chosen)):
                inner = rows[depth + 1] if side == "top" else rows[-depth - 2]
                if depth and abs(row[0].y - inner[0].y) < _APART * row[0].height:
                    break  # it stands as close to the text as a line of it
                for line in row:
                    edges.append((line, (side, depth, round(line.y / _BAND))))
                    texts[side, _key(line.text)].add(line.page)
                    if depth == 0 and _NUMBER.fullmatch(line.text):
                        numbers[side, round(line.y / _BAND)] += 1
    found: set[int] = set()
    bands: defaultdict[tuple[str, int], list[bool]] = defaultdict(list)
    for line, (side, depth, band) in edges:
        again = len(texts[side, _key(line.text)]) >= _REPEATS and not line.has_leader
        number = bool(_NUMBER.fullmatch(line.text)) and (
            sum(numbers[side, near] for near in (band - 1, band, band + 1)) >= _REPEATS
        )
        if again or number:
            found.add(id(line))
        if depth == 0:
            bands[side, band].append(again or number)
    # Where nearly all lines at one height are heads, so is a title that stands there on one page only.
    whole = {band for band, flags in bands.items() if len(flags) >= 5 and sum(flags) >= 0.7 * len(flags)}
    found.update(id(line) for line, (side, depth, band) in edges if depth == 0 and (side, band) in whole)
    return found


def _key(text: str) -> str:
    return _DIGITS.sub("#", text.casefold())


def _with_marks(lines: list[Line]) -> list[Line]:
    """The marks of notes, raised and so lines of their own, joined with the line that they stand before or behind."""
    kept: list[Line] = []
    mark: Line | None = None
    for line in lines:
        if mark is not None:
            is_before = abs(mark.y - line.y) <= _RAISED * line.height and mark.right <= line.left + line.height
            if is_before and mark.height < line.height:
                line = replace(line, text=f"{mark.text} {line.text}", left=mark.left)
            elif kept:
                kept[-1] = replace(kept[-1], text=f"{kept[-1].text}[{mark.text}]")
            mark = None
        if kept and _MARK.fullmatch(line.text) and line.height <= _SMALL_MARK * kept[-1].height:
            mark = line
        else:
            kept.append(line)
    if mark is not None:
        kept[-1] = replace(kept[-1], text=f"{kept[-1].text}[{mark.text}]")
    return kept


def _without_notes(lines: list[Line], body: float) -> tuple[list[Line], list[Line]]:
    """A page's lines, and those at its foot that are set smaller and begin like a note."""
    begin = len(lines)
    while begin and lines[begin - 1].height <= _SMALL * body:
        begin -= 1
    while begin < len(lines) and not _NOTE.match(lines[begin].text):
        begin += 1
    if begin == len(lines) or not begin or any(line.y < lines[begin].y for line in lines[:begin]):
        return lines, []
    return lines[:begin], lines[begin:]


def _words(lines: Iterable[Line]) -> set[str]:
    """The words of a document, those broken at a line's end left out, small letters."""
    words: set[str] = set()
    for line in lines:
        found = _WORD.findall(line.text.casefold())
        words.update(found[:-1] if line.breaks_word or line.text.endswith("-") else found)
    return words


class _Joiner:
    def __init__(self, body: float, words: set[str], leading: float | None) -> None:
        self._body = body
        self._leading = leading  # of the whole document; None: each page's own
        self.words = words
        self.paragraphs: list[Paragraph] = []
        self._before: Line | None = None

    def page(self, lines: list[Line]) -> None:
        """Add the lines of the next page."""
        if not lines:
            return
        gaps = _gaps(lines)
        leading = self._leading or (median(gaps) if gaps else self._body * 1.2)
        left, right = _column(lines)
        rights = _edges(lines, leading, left, right)
        is_contents = sum(line.has_leader for line in lines) * 2 >= len(lines) >= 4
        for line, edge in zip(lines, rights, strict=True):
            how = self._joined(line, leading, left, edge)
            self._add(line, how, is_contents=is_contents)
            self._before = line

    def _joined(self, line: Line, leading: float, left: float, right: float) -> str | None:
        """What stands between a line and the one before: None for a new paragraph, "\\n", "" or " "."""
        before = self._before
        if before is None:
            return None
        if before.page != line.page or line.y > before.y + before.height:
            return self._across(before, line)
        down = before.y - line.y
        if abs(down) <= _SAME_ROW * line.height:
            return " "
        usual = leading * max(1.0, line.height / self._body)
        if down > _GAP * usual and not (down < _WIDE_GAP * usual and _goes_on(before, line)):
            return None
        if abs(line.height - before.height) > _SIZES * max(line.height, before.height):
            return None
        if before.has_leader or line.has_leader or _ITEM.match(line.text):
            return "\n"
        if _would_fit(line, before, right):
            return None if before.text[-1] in _SENTENCE_END and not _continues(line) else "\n"
        if _ITEM.match(before.text) and line.left > before.left:
            return self._seam(before, line)  # the text of an item hangs behind its bullet
        if line.left - before.left > _INDENT * line.height and line.left - left > _INDENT * line.height:
            return None if before.text[-1] in _SENTENCE_END else self._seam(before, line)
        return self._seam(before, line)

    def _across(self, before: Line, line: Line) -> str | None:
        """Whether a paragraph goes on at the top of the next page or column."""
        if abs(line.height - before.height) > _SIZES * line.height or before.has_leader or _ITEM.match(line.text):
            return None
        if before.breaks_word or before.text.endswith("-") or (
            before.text[-1] not in _SENTENCE_END and _continues(line)
        ):  # fmt: skip
            return self._seam(before, line)
        return None

    def _seam(self, before: Line, line: Line) -> str:
        """What joins two full lines: nothing between wide characters, and where a word was broken."""
        if _WIDE.match(before.text[-1]) and _WIDE.match(line.text[0]):
            return ""
        return "" if before.breaks_word or (before.text.endswith("-") and _continues(line)) else " "

    def _add(self, line: Line, how: str | None, *, is_contents: bool) -> None:
        if how is None or not self.paragraphs:
            self.paragraphs.append(Paragraph(line.text, line.page, line.y, line.height, is_contents=is_contents))
            return
        last = self.paragraphs[-1]
        before = self._before
        assert before is not None
        if how == "" and not _WIDE.match(line.text[0]):
            last.text = self._mended(last.text, line.text, marked=before.breaks_word)
        else:
            last.text += how
        if line.page != (last.turns[-1][1] if last.turns else last.page):
            last.turns.append((len(last.text), line.page))
        last.text += line.text
        last.lines += 1

    def _mended(self, text: str, following: str, *, marked: bool) -> str:
        """The text before a word's second half: with its hyphen where the document writes the word with one."""
        stem = text.removesuffix("-")
        first = _WORD.findall(stem.casefold())[-1:]
        second = _WORD.match(following.casefold())
        if not first or second is None:
            return stem if marked else text
        whole = first[0] + second[0]
        hyphenated = f"{first[0]}-{second[0]}"
        if whole not in self.words and (hyphenated in self.words or not following[0].islower()):
            return f"{stem}-"
        return stem


def _would_fit(line: Line, before: Line, right: float) -> bool:
    """Whether the first word of a line would have had its place at the end of the one before, which so is not full."""
    width = (line.right - line.left) / max(1, len(line.text))
    word = 1 if _WIDE.match(line.text[0]) else len(line.text.split(" ", 1)[0]) + 1
    return before.right + word * width + _SLACK * before.height < right


def _column(lines: Sequence[Line]) -> tuple[float, float]:
    """The left and right edges that most of a page's lines keep to."""
    lefts = sorted(line.left for line in lines)
    rights = sorted(line.right for line in lines)
    return lefts[len(lefts) // 10], rights[max(0, len(rights) - 1 - len(rights) // 10)]


def _edges(lines: Sequence[Line], leading: float, left: float, right: float) -> list[float]:
    """The right edge that each line's own run of lines keeps to; the page's where a run is too short to show one.

    A run that is much narrower than the page is a list or a table, whose lines are no more than they are.
    """
    edges: list[float] = []
    run: list[Line] = []
    for line in [*lines, None]:
        if line is not None and run and 0 < run[-1].y - line.y <= _GAP * leading:
            run.append(line)
            continue
        edge = max((one.right for one in run), default=right)
        is_text = len(run) >= 3 and edge - left > _TEXT_WIDTH * (right - left)
        edges.extend([edge if is_text else max(edge, right)] * len(run))
        run = [] if line is None else [line]
    return edges


def _goes_on(before: Line, line: Line) -> bool:
    """Whether a sentence goes on in a line that stands a little too far below."""
    return before.text[-1] not in _SENTENCE_END and line.text[0].islower() and not _ITEM.match(line.text)


def _continues(line: Line) -> bool:
    """Whether a line begins within a sentence: with a small letter, or in a script without capitals."""
    return line.text[0].islower() or bool(_WIDE.match(line.text[0]))
