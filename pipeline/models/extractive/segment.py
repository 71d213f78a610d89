"""Cuts a chunk into the sentences of its prose, with their exact places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.models.extractive.masking import BLANK
from pipeline.models.extractive.scripts import Script

_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_MARKER = re.compile(
    r"[ \t]{0,60}(?:>[ \t]?){0,20}(?:[-*+•·:]|\(?\d{1,4}(?:[.):]\d{0,3})?|\(?[a-z][.)])[ \t]{1,20}(?=[^ \t])"
)
_QUOTED = re.compile(r"[ \t]{0,60}(?:>[ \t]?){1,20}")
_NOT_PROSE = re.compile(r"[ \t]*(?:#{1,6}\s|\||[=\-*_~]{3,}[ \t]*$|\+[-=+]+\+|:::|%[ \t]*$|\[[^\]]{1,60}\]:)")
_ENDS = re.compile(r"(?:[.!?…。！？؟۔।]+|\d﴾)[\"'”’»」』）)\]*_]*")
_STOPS_HAN = frozenset("。！？…!?")
_SPACED_NEXT = re.compile(r"\s+[\"'“‘«(\[*_—–-]*[^\W_a-zà-öø-ÿа-я]")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Capt|Col|Gen|Lt|Sgt|Rev|Hon|Prof|Messrs|Mme|Mlle|Jr|Sr|vs|No|Vol|Fig|Sec|Chap|cf|viz"
    r"|etc|e\.g|i\.e|al|Esq|Mt|Bros|Co|Inc|Ltd|approx|ed|eds|pp|т\.е|т\.д|т\.п|см|рис)|(?<![^\W\d_])[^\W\d_])\.$"
)
_OPEN, _CLOSE = "“«「『", "”»」』"
_QUOTE_LIMIT = 320  # characters: a quotation longer than this may be cut inside


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence and where it stands."""

    start: int
    end: int
    text: str  # the slice with white space collapsed
    ended: bool  # it closes with a full stop, a question mark or the like


def collapse(piece: str, script: Script) -> str:
    """White space collapsed: line wraps joined, with no space between unspaced letters."""
    if script is Script.SPACED:
        return " ".join(piece.split())
    joined = re.sub(r"(?<=[^\x00-\x7f])\s+(?=[^\x00-\x7f])", "", piece.strip())
    return " ".join(joined.split())


def paragraphs(masked: str, script: Script, *, verse: bool = False) -> Iterator[tuple[int, int]]:
    """Spans of the paragraphs of prose: headings, tables and rules are left out, and verse unless it is asked for."""
    position = 0
    for blank in (*_BLANK_LINES.finditer(masked), None):
        end = blank.start() if blank else len(masked)
        if end > position:
            yield from _block(masked, position, end, script, verse)
        position = blank.end() if blank else end


def _block(masked: str, start: int, end: int, script: Script, verse: bool) -> Iterator[tuple[int, int]]:
    lines = _lines(masked, start, end)
    if not verse and _is_verse([masked[a:b] for a, b in lines], script):
        return
    opened: int | None = None
    closed = start
    for a, b in lines:
        line = masked[a:b]
        begin = _prose_from(line)
        fresh = begin != 0 or (script is not Script.SPACED and _starts_anew(masked, line, a))
        if opened is not None and fresh:
            yield opened, closed
            opened = None
        if begin is not None and line.strip():
            opened = a + begin if opened is None else opened
            closed = b
    if opened is not None:
        yield opened, closed


def _lines(masked: str, start: int, end: int) -> list[tuple[int, int]]:
    spans = []
    while start < end:
        stop = masked.find("\n", start, end)
        stop = end if stop < 0 else stop
        spans.append((start, stop))
        start = stop + 1
    return spans


def _prose_from(line: str) -> int | None:
    """Where the words of a line begin: 0 in running prose, more after a list mark, None where there is no prose."""
    if _NOT_PROSE.match(line):
        return None
    marker = _MARKER.match(line) or _QUOTED.match(line)
    return marker.end() if marker else 0


def _starts_anew(masked: str, line: str, start: int) -> bool:
    """Whether a line without blank lines around it begins a paragraph: it is indented, or the one before is closed."""
    if line[:1].isspace():
        return True
    before = masked[max(0, start - 8) : start].rstrip()[-1:]
    return before in _STOPS_HAN or before in _CLOSE or before == BLANK


def _is_verse(lines: list[str], script: Script) -> bool:
    """Short lines that are not wrapped prose: poems, addresses, tables of contents."""
    filled = [len(line.strip()) for line in lines if line.strip()]
    if len(filled) < 3:
        return False
    widest = max(filled)
    return widest < (16 if script is not Script.SPACED else 52)


def sentences(text: str, masked: str, script: Script, *, verse: bool = False) -> list[Sentence]:
    """The sentences of the prose of `text`, in reading order; of its verse too where asked."""
    found = []
    for start, end in paragraphs(masked, script, verse=verse):
        for a, b in _cut(masked, start, end, script):
            a, b = _strip(text, a, b)
            if a < b:
                piece = masked[a:b]
                tail = _ENDS.search(piece, max(0, len(piece) - 6))
                ended = tail is not None and tail.end() == len(piece)
                found.append(Sentence(start=a, end=b, text=collapse(text[a:b], script), ended=ended))
    return found


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _cut(masked: str, start: int, end: int, script: Script) -> Iterator[tuple[int, int]]:
    opened = start
    for match in _ENDS.finditer(masked, start, end):
        stop = match.end()
        if stop >= end:
            break
        if not _is_end(masked, opened, match, script) or _inside_quote(masked, opened, stop):
            continue
        yield opened, stop
        opened = stop
    if opened < end:
        yield opened, end


def _is_end(masked: str, opened: int, match: re.Match[str], script: Script) -> bool:
    mark = match.group()
    if script is not Script.SPACED:
        return mark[0] in _STOPS_HAN and (mark[-1] not in _CLOSE or _quote_ends(masked, opened, match))
    if not _SPACED_NEXT.match(masked, match.end()):
        return False
    return mark[0] != "." or not _ABBREVIATED.search(masked, max(0, match.start() - 8), match.start() + 1)


def _quote_ends(masked: str, opened: int, match: re.Match[str]) -> bool:
    """Whether the sentence ends with its quotation: yes in 他说：“…。” and no in “…。”他说。"""
    if masked[match.end()] in "\n 　“「『":
        return True
    quote = _OPEN[_CLOSE.index(match.group()[-1])]
    begun = masked.rfind(quote, opened, match.start())
    return begun > opened and masked[begun - 1] in "：:，,"


def _inside_quote(masked: str, start: int, stop: int) -> bool:
    """Whether a quotation opened in this sentence is still open, within reason."""
    if stop - start > _QUOTE_LIMIT:
        return False
    depth = 0
    for opening, closing in zip(_OPEN, _CLOSE, strict=True):
        depth += masked.count(opening, start, stop) - masked.count(closing, start, stop)
    return depth > 0 or masked.count('"', start, stop) % 2 == 1
