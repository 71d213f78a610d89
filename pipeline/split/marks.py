"""Where a text may be cut: headings, scene breaks, paragraphs, lines and sentences, each with its kind.

A place is an offset and a rank; lower is better. The whole part of the rank is one of the kinds below, the fraction a
hash of the text before the place. Behind a paragraph or a line that is first of its last marks, which an edited word
leaves as they are, then of its last letters. Both are few, so that an edit anywhere else leaves the rank as it is.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence

from pipeline.split.fences import CodeSpan, spans_of_code
from pipeline.split.grain import Preferred
from pipeline.split.graphemes import clings

PREFERRED = 0  # sub-headings, by level
SCENE = 1  # after a line of asterisks or dashes, or several blank lines
PARAGRAPH = 2  # after a blank line
LINE = 3  # a line end that means something: after a sentence, before a list item, a table row, an indent
SENTENCE = 4
WRAP = 5  # a line end in mid-sentence, and what should rather stay with the text after it
CLAUSE = 6
WORD = 7
GRAPHEME = 8
HELD = 9  # after a heading or a fence opener: it should not end a chunk

Place = tuple[int, float]

BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
CLOSERS = "\"'”’」』）》】〉)\\]"
IDEOGRAPHIC = "。！？"
NO_TITLE = r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bMs\.)(?<!\b[A-Z]\.)"
AFTER_MARK = rf"[.!?…。！？]*[{CLOSERS}]*\s*"
SENTENCE_END = re.compile(rf"[.!?…。！？]{NO_TITLE}{AFTER_MARK}")
SENTENCE_OR_LINE_END = re.compile(rf"[.!?…。！？\n]{NO_TITLE}{AFTER_MARK}")
STRUCTURE = re.compile(r"[ \t\u3000]*(?:[-*+•|>#]|\d{1,9}[.)、])|[ \t\u3000]{2}|\u3000")
SCENE_LINE = re.compile(r"^[^\S\n]*(?:[*＊※◇◆☆★_=~·•-][^\S\n]*){3,40}\n(?:[^\S\n]*\n)*", re.MULTILINE)
ATX_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t][^\n]*)?\n(?:[^\S\n]*\n)*", re.MULTILINE)
HEADING_AT = re.compile(r"[^\n]*\n(?: {0,3}(?:=+|-+)[ \t]*\n)?(?:[^\S\n]*\n)*")
DELIMITER_ROW = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\||\n)")
TITLE_LENGTH = 100  # characters: a first line up to this long, with no mark at its end, is taken for a title
# No hyphen or apostrophe, which belong to words; ranges, since what `\w` holds differs between versions of Python.
MARK = re.compile(
    "[!-&(-,./:-@[-^`{-~\u00a1\u00ab\u00b6\u00b7\u00bb\u00bf\u060c\u061b\u061f\u06d4\u0964\u0965\u2012-\u2018"
    "\u201a-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u301f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3e\uff5b-\uff65]"
)
MARKS = 2  # the last ones of a paragraph or line decide the fraction of the place after it; more are better than fewer
MARKED = 256  # characters before a place in which its marks are looked for
LETTERS = 4  # the last ones before a place decide between those with the same marks, what stands behind them left aside
HAN_LETTERS = 2  # of these so many: each is as much as half a word
HAN = "\u3040"  # kana, ideographs and hangul begin here
HASHED = 32  # characters before a place that decide between those with the same letters
BEHIND = " \t\n\u3000\u00a0.,;:!?…—-。，；：！？、\"'”’」』）》】〉)]*_~|`>#=+"
MANY_BLANK = 4  # line ends in a run of blank lines that make a scene break


def rank(text: str, at: int, kind: float) -> float:
    """The rank of a place of this kind: a fraction from the letters before it, then from all characters there."""
    before = text[max(at - HASHED, 0) : at]
    letters = before.rstrip(BEHIND)[-LETTERS:] or before
    if letters[-1:] >= HAN:
        letters = letters[-HAN_LETTERS:]
    chosen = zlib.crc32(letters.encode("utf-8", "surrogatepass")) >> 8
    return kind + (chosen + zlib.crc32(before.encode("utf-8", "surrogatepass")) / 2**32) / 2**24


def rank_after(text: str, start: int, at: int, kind: float) -> float:
    """The rank of a place behind the paragraph or line that begins at `start`: its last marks, then as `rank`."""
    marks = MARK.findall(text, max(start, at - MARKED), at)[-MARKS:]
    chosen = (MARKS - len(marks)) << 12 | zlib.crc32("".join(marks).encode("utf-8", "surrogatepass")) >> 20
    return kind + (chosen + rank(text, at, 0)) / 2**16


def sentences(text: str, start: int, end: int, pattern: re.Pattern[str] = SENTENCE_OR_LINE_END) -> Iterator[Place]:
    """Places after sentences, and after lines that end with one or all lines, strictly between `start` and `end`."""
    for found in pattern.finditer(text, start, end):
        run = found.group()
        at = found.end()
        kind = SENTENCE
        if "\n" in run:
            at = found.start() + run.rindex("\n") + 1
            kind = LINE if run[0] != "\n" or (at < end and STRUCTURE.match(text, at)) else WRAP
        elif at < end and run[0] not in IDEOGRAPHIC and (not run[-1].isspace() or text[at].islower()):
            continue
        if start < at < end and not clings(text[at]):
            if kind == LINE:
                yield at, rank_after(text, text.rfind("\n", 0, found.start()) + 1, at, kind)
            else:
                yield at, rank(text, at, kind)


def outline(text: str, preferred: Sequence[Preferred], spare: int, share: float) -> list[Place]:
    """The places of a text, in order: all paragraphs, and within those above `spare` UTF-8 bytes the lines that end
    with a sentence, and that share of the other sentences which has the best ranks."""
    places: list[Place] = []
    start, end = 0, len(text)
    worst = SENTENCE + share
    for found in BLANK_LINES.finditer(text):
        at = found.end()
        if _long(text, start, at, spare):
            places.extend(place for place in sentences(text, start, at, SENTENCE_END) if place[1] < worst)
        if at < end:
            many = found.group().count("\n") >= MANY_BLANK
            places.append((at, rank_after(text, start, at, SCENE if many else PARAGRAPH)))
        start = at
    if _long(text, start, end, spare):
        places.extend(place for place in sentences(text, start, end, SENTENCE_END) if place[1] < worst)
    return _with_headings(text, preferred, outside_blocks(text, places))


def _long(text: str, start: int, end: int, spare: int) -> bool:
    length = end - start
    return length > spare or (length * 4 > spare and len(text[start:end].encode("utf-8", "surrogatepass")) > spare)


def outside_blocks(text: str, places: list[Place]) -> list[Place]:
    """The places that are left where code and tables are cut at line ends alone."""
    code = spans_of_code(text)
    if code:
        places = _outside_code(text, places, code)
    if text.startswith("|") or "\n|" in text:
        places = [place for place in (_in_table(text, *place) for place in places) if place is not None]
    return places


def _with_headings(text: str, preferred: Sequence[Preferred], places: list[Place]) -> list[Place]:
    """Add scene breaks and preferred places; hold what should not end a chunk."""
    added = _scenes(text) if len(text) < 2**14 or SCENE_LINE.search(text) else {}
    for mark in preferred:
        if 0 < mark.offset < len(text):
            added[mark.offset] = rank(text, mark.offset, 0) / 10 + min(mark.level, 9) / 10
    held = _held(text, preferred)
    if not added and not held:
        return places
    known = dict(places)
    known.update((at, rank(text, at, HELD)) for at in held if at in known and at not in added)
    known.update(added)
    return sorted(known.items())


def _scenes(text: str) -> dict[int, float]:
    """The ends of scene-break lines; a break stays with what it ends. A rule under a line of text is none, nor is one
    in code."""
    added = {}
    code = spans_of_code(text)
    for found in SCENE_LINE.finditer(text):
        start, at = found.span()
        if any(span.start <= start < span.end for span in code):
            continue
        if found.group().lstrip()[0] in "-=" and start and text[start - 2 : start] != "\n\n":
            continue
        if start:
            added[start] = rank(text, start, WRAP)
        if at < len(text):
            added[at] = rank(text, at, SCENE)
    return added


def _held(text: str, preferred: Sequence[Preferred]) -> set[int]:
    """The ends of heading lines, with the blank lines after them: a heading belongs to what follows."""
    held = {found.end() for found in ATX_HEADING.finditer(text)} if "#" in text else set()
    starts = [mark.offset for mark in preferred]
    first = text.partition("\n")[0].rstrip()
    if 0 < len(first) <= TITLE_LENGTH and first[-1] not in ".,;:!?…。，；：！？":
        starts.append(0)
    for start in starts:
        found = HEADING_AT.match(text, start)
        if found is not None:
            held.add(found.end())
    return held


def _outside_code(text: str, places: list[Place], code: Sequence[CodeSpan]) -> list[Place]:
    """Inside a fence only line ends are places; the one after the opener is held."""
    spans = iter(code)
    kept: list[Place] = []
    span = next(spans, None)
    for at, value in places:
        while span is not None and at >= span.end:
            span = next(spans, None)
        if span is None or at <= span.start:
            kept.append((at, value))
        elif text[at - 1] == "\n":
            kept.append((at, rank(text, at, HELD if at <= span.first_line else LINE)))
    return kept


def _in_table(text: str, at: int, value: float) -> Place | None:
    """A table is cut at its rows, and not between the header, the row of dashes under it and the first row."""
    if text[at - 1] == "\n":
        above = text[text.rfind("\n", 0, at - 1) + 1 : at]
        before = DELIMITER_ROW.match(text, at) and text[at] in "| :-"
        behind = "|-" in above and DELIMITER_ROW.match(above)
        return (at, rank(text, at, HELD)) if before or behind else (at, value)
    line = text.rfind("\n", 0, at) + 1
    return None if text.startswith("|", line) else (at, value)
