"""Finds lines that may be headings in a stream of text, with what stands around each of them.

Compiled patterns look for the few ways in which a heading line can begin, over whole blocks; only lines that begin so
are judged one by one. What a line needs from its neighbours is read in the same block: the block is cut a few lines
before its end, and some characters before the cut are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipeline.read import banners
from pipeline.read.banners import Banner, banner_of, lines_with_addresses
from pipeline.read.boilerplate import LEGEND_STARTS, MARKER_STARTS, Marker, marker_of
from pipeline.read.chapter_words import CONTENTS_WORDS, EASTERN_NAMES, SURAH, WESTERN_NAMES
from pipeline.read.chapters import MAX_LINE, Heading, heading_of
from pipeline.read.numerals import HAN_NUMERAL, HANGUL_NUMERAL

HEAD_CHARS = 1 << 18  # the beginning of the text, kept for titles
MAX_CANDIDATES = 400_000
_LOOK_BACK = 512
_GIANT_LINE = 1 << 16
_LONG_LINE = 50  # characters; a title that is wrapped has more on its first line
_LINES_BELOW = 6  # lines that a candidate may need to look at, its own included
_INDENT = r"[ \t\u3000\xa0\ufeff\u200b-\u200f\u2060]*+"
# Characters that end a line for the eye, but not for the line count: a heading may stand between them.
_EYE_BREAKS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_HIDDEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_HIDDEN_CHAR = re.compile(f"[{_HIDDEN}]")
_HIDDEN_LINE = re.compile(rf"\n(?=[^\n]{{0,40}}[{_HIDDEN}])")
_CODED_LINE = re.compile(r"\n(?=[ \t]*\x1b\[)")
_PARAGRAPH_ENDS = frozenset(".!?…。！？”\"’'」』)）】]》:：-—–=*_~#|>%")
_BANNERS = {Banner.SITE: Marker.SITE, Banner.NOTE: Marker.NOTE}
_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def _cases(words: tuple[str, ...]) -> str:
    """Each word with one capital and in capitals, by first letter: faster than matching without regard to case."""
    by_letter: dict[str, list[str]] = {}
    for form in sorted({form for word in words for form in (word.capitalize(), word.upper())}):
        by_letter.setdefault(form[0], []).append(re.escape(form[1:]).replace(r"\ ", r"\s"))
    return "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())


_UNIT_STARTS = (
    "chap", "ch.", "ch ", "book ", "part ", "volume ", "vol", "act ", "scene ", "section ", "kapitel ", "chapitre ",
    "capítulo ", "capitulo ", "capitolo ", "teil ", "band ", "stave ", "canto ", "episode ", "letter ", "side ",
    "bonus ", "extra ", "interlude", "first ", "second ", "third ",
)  # fmt: skip
_UNIT_STARTS_CYRILLIC = (
    "глава ", "часть ", "том ", "книга ", "раздел ", "песнь ", "письмо ", "действие ", "акт ", "сцена ", "явление ",
)  # fmt: skip
_UNIT_STARTS_HANGUL = ("에피소드", "챕터")
_ASCII_NAMES = tuple(name for name in WESTERN_NAMES + CONTENTS_WORDS if name.isascii())
_OTHER_NAMES = tuple(name for name in WESTERN_NAMES + CONTENTS_WORDS if not name.isascii())
_STARTS_ASCII = re.compile(
    rf"\n{_INDENT}(?=[A-Z0-9*cp(\[])(?:{_cases(_UNIT_STARTS + _ASCII_NAMES)}|chapter |\d{{1,4}}[.)]?[ \t]*(?=\n)"
    rf"|[IVXLC]{{1,8}}\.?[ \t]*(?=\n)|(?:[1-3] )?[A-Z][a-z]+ (?:[a-z]{{2,3}} [A-Z][a-z]+ )?\d{{1,3}}[ \t]*(?=\n)"
    rf"|{MARKER_STARTS}|{banners.STARTS})"
)
_OPENERS = "【[（(《〈「『［"
_FIRST_CHARS = "".join(
    sorted(
        {
            word[0]
            for word in (
                *EASTERN_NAMES,
                *_OTHER_NAMES,
                *_UNIT_STARTS_CYRILLIC,
                *_UNIT_STARTS_HANGUL,
                *banners.STARTS_EASTERN,
                SURAH,
            )
        }
        | set("正第제卷章回巻底上中下前後后そ其")
    )
)
_EASTERN_WORDS = "|".join(map(re.escape, (*EASTERN_NAMES, *banners.STARTS_EASTERN)))
_STARTS_OTHER = re.compile(
    rf"\n{_INDENT}(?=[{re.escape(_OPENERS)}{_FIRST_CHARS}{_FIRST_CHARS.upper()}{HAN_NUMERAL}])"
    rf"(?:[{re.escape(_OPENERS)}]?[ \u3000]*(?:正文[ \u3000]*)?[第제][ \u3000]*[{HAN_NUMERAL}{HANGUL_NUMERAL}]"
    rf"|[卷章回巻][ \u3000]*[之のノ]?[ \u3000]*[{HAN_NUMERAL}]|[【「]?[上中下前後后][巻卷編编篇部册冊](?![^】」\s:：])"
    rf"|[{HAN_NUMERAL}]{{1,12}} ?[화장회막권부편章話话回幕][\s.．:：、·—–)）-]|(?:その|其[の之ノ])[{HAN_NUMERAL}]"
    rf"|{'|'.join(_UNIT_STARTS_HANGUL)}|[【\[（(]?(?:{_EASTERN_WORDS})"
    rf"|［＃|[（(]?[{HAN_NUMERAL}]{{1,6}}[)）]?[．、。.]?[ \u3000]*(?=\n)|底本：|{LEGEND_STARTS}|{SURAH} "
    rf"|{_cases(_UNIT_STARTS_CYRILLIC + _OTHER_NAMES)})"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A line that may be a heading, and what stands around it."""

    start: int  # offset of its line
    end: int  # offset of the line behind it (behind both lines of a wrapped title)
    line: int  # 1-based
    inline: bool  # it begins within a line of the text, behind a form feed or the like
    heading: Heading
    marker: Marker | None  # a line that is, begins or ends boilerplate instead
    end_line: int  # the line on which `end` stands
    ends_inline: bool  # `end` is within a line
    below: str  # the line below a heading that is a bare number, where it looks like its title
    indent: int  # ASCII spaces before it
    blank_before: bool
    blank_after: bool
    hangs: bool  # the line right before it ends no sentence
    reads_on: bool  # the line right after it begins with a small letter: it stands within a paragraph
    is_long: bool  # a long line with another right below: as the first line of a paragraph is
    seen: int  # characters to be seen in the text before it, exact where it matters: over short distances


class Scanner:
    """A sink for text blocks that collects the candidates."""

    def __init__(self) -> None:
        self.head = ""
        self.length = 0
        self.candidates: list[Candidate] = []
        self.overfull = False
        self._buffer = "\n"  # what is kept of the text before, then what is not looked at yet
        self._base = -1  # offset of the buffer's first character
        self._fresh = 0  # index of the first character that is not looked at yet: a line end, or inside a line
        self._line = 0  # line ends before `_fresh`, in the text
        self._uncounted = 0  # index of the first character whose visible characters are not counted yet
        self.seen = 0  # characters to be seen so far, headings left out

    def __call__(self, text: str) -> None:
        """Take the next block."""
        self.length += len(text)
        if len(self.head) < HEAD_CHARS:
            self.head += text[: HEAD_CHARS - len(self.head)]
        self._buffer += text
        cut = len(self._buffer)
        for _ in range(_LINES_BELOW):
            cut = self._buffer.rfind("\n", self._fresh, cut)
            if cut < 0:
                break
        if len(self._buffer) - max(cut, self._fresh) > _GIANT_LINE:
            cut = len(self._buffer)
        if cut > self._fresh:
            self._look(cut)

    def finish(self) -> None:
        """Look at what is left."""
        self._look(len(self._buffer))
        self._buffer = ""

    def _look(self, cut: int) -> None:
        buffer = self._buffer
        view = buffer
        for mark in _EYE_BREAKS:
            if mark in view:
                view = view.replace(mark, "\n")
        place = self._fresh
        for index in self._starts(view, cut):
            found = _judge(view, index)
            if found is None:
                continue
            start = index if buffer[index] != "\n" and (index == 0 or buffer[index - 1] == "\n") else index + 1
            self._line += buffer.count("\n", place, start)
            place = start
            self._count(view, index)
            self._keep(found, start, buffer)
            self._uncounted = min(cut, max(self._uncounted, found.end))
        self._line += buffer.count("\n", place, cut)
        self._count(view, cut)
        kept = max(0, cut - _LOOK_BACK)
        self._buffer, self._base, self._fresh = buffer[kept:], self._base + kept, cut - kept
        self._uncounted = self._fresh

    def _starts(self, view: str, cut: int) -> Iterator[int]:
        """Indices of the line ends before lines worth a judgement, in order."""
        end = cut + MAX_LINE
        found = {match.start() for match in _STARTS_ASCII.finditer(view, self._fresh, end)}
        if not view.isascii():
            found.update(match.start() for match in _STARTS_OTHER.finditer(view, self._fresh, end))
            if _HIDDEN_CHAR.search(view, self._fresh):
                found.update(match.start() for match in _HIDDEN_LINE.finditer(view, self._fresh, cut))
        if "\x1b" in view:
            found.update(match.start() for match in _CODED_LINE.finditer(view, self._fresh, cut))
        found.update(lines_with_addresses(view, self._fresh, cut))
        return (index for index in sorted(found) if index < cut)

    def _count(self, view: str, end: int) -> None:
        if end > self._uncounted:
            self.seen += visible(view[self._uncounted : end])
            self._uncounted = end

    def _keep(self, found: _Judged, start: int, buffer: str) -> None:
        if len(self.candidates) >= MAX_CANDIDATES:
            self.overfull = True
            return
        self.candidates.append(
            Candidate(
                start=self._base + start,
                end=self._base + found.end,
                line=self._line,
                inline=start > 0 and buffer[start - 1] != "\n",
                heading=found.heading,
                marker=found.marker,
                end_line=self._line + buffer.count("\n", start, found.end),
                ends_inline=buffer[found.end - 1] != "\n",
                below=found.below,
                indent=found.indent,
                blank_before=found.blank_before,
                blank_after=found.blank_after,
                hangs=found.hangs,
                reads_on=found.reads_on,
                is_long=found.is_long,
                seen=self.seen,
            )
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judged:
    heading: Heading
    marker: Marker | None
    end: int  # index behind the end of its last line
    below: str
    indent: int
    blank_before: bool
    blank_after: bool
    hangs: bool
    reads_on: bool
    is_long: bool


def _judge(view: str, index: int) -> _Judged | None:
    """Judge the line behind the line end at `index`."""
    begin = index + 1
    end = _line_end(view, begin)
    raw = view[begin : min(end, begin + 4 * MAX_LINE)]
    line = _plain(raw)
    marker = marker_of(line)
    heading = None if marker else heading_of(line)
    if heading is None and marker is None:
        banner = banner_of(line)
        marker = _BANNERS[banner] if banner else None
    if marker is not None:
        heading = Heading(title=line, unit="marker", rank=0)
    if heading is None:
        return None
    before = _plain(view[max(view.rfind("\n", max(0, index - _LOOK_BACK), index) + 1, index - _LOOK_BACK, 0) : index])
    after_end = _line_end(view, end + 1)
    after = _plain(view[end + 1 : min(after_end, end + 1 + _LOOK_BACK)])
    below = ""
    if marker is None and after and _runs_on(line, after, view, after_end):
        heading, end = replace(heading, title=f"{heading.title} {after}"), after_end
        after = ""
    elif heading.bare and not after:
        below = _title_below(view, after_end)
    return _Judged(
        heading=heading,
        marker=marker,
        end=min(end + 1, len(view)),
        below=below,
        indent=len(raw) - len(raw.lstrip(" ")),
        blank_before=not before,
        blank_after=not after,
        hangs=bool(before) and before[-1] not in _PARAGRAPH_ENDS and heading_of(before) is None,
        reads_on=after[:1].islower(),
        is_long=bool(after) and len(line) >= _LONG_LINE and line[:1].isascii(),
    )


def _title_below(view: str, blank_end: int) -> str:
    """A short line of capitalised words between blank ones, such as stands below "CHAPTER 1" in old etexts."""
    begin = blank_end + 1
    end = _line_end(view, begin)
    line = _plain(view[begin : min(end, begin + MAX_LINE)])
    if not line:
        begin, end = end + 1, _line_end(view, end + 1)
        line = _plain(view[begin : min(end, begin + MAX_LINE)])
    heading = heading_of(line)
    if not 0 < len(line) <= 80 or view[end + 1 : _line_end(view, end + 1)].strip():
        return ""
    if heading is not None and heading.unit != "named":
        return ""
    words = [word for word in re.findall(r"[^\W\d_]+", line) if len(word) > 3]
    return line if words and sum(word[0].isupper() for word in words) > 0.6 * len(words) else ""


def _runs_on(line: str, after: str, view: str, after_end: int) -> bool:
    """Whether a title was wrapped and ends on the next line, which stands before a blank one."""
    following = view[after_end + 1 : _line_end(view, after_end + 1)]
    return (
        _LONG_LINE <= len(line) <= len(after) + 80
        and line[-1] not in ".!?。！？"
        and not following.strip()
        and len(after) <= 80
        and line.isascii() == after.isascii()
        and heading_of(after) is None
    )


def _line_end(view: str, begin: int) -> int:
    end = view.find("\n", begin)
    return len(view) if end < 0 else end


def _plain(line: str) -> str:
    """A line as the eye sees it: no hidden characters, no terminal codes, no space around it."""
    if not line.isascii():
        line = _HIDDEN_CHAR.sub("", line)
    if "\x1b" in line:
        line = _TERMINAL_CODE.sub("", line)
    return line.strip()


def visible(text: str) -> int:
    """Characters to be seen: exact where they are few, the length of the text beyond."""
    text = text.strip()
    return len(text) if len(text) > 1024 else len("".join(text.split()))
