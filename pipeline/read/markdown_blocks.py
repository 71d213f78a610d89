"""CommonMark's block structure, line by line, without building a tree of blocks.

A line is worked off as the specification's appendix tells ("Phase 1: block structure"): first the open containers
(quotes, list items) are matched, then new blocks are looked for, then what is left is text. Only headings outside of
any container are sections of the document. Every line costs time linear in its own length, whatever is open.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from enum import Enum

from pipeline.read.markdown_cursor import Cursor
from pipeline.read.markdown_lines import (
    ATX,
    ATX_CLOSER,
    FENCE,
    LIST_MARKER,
    PLAIN_LINES,
    SETEXT,
    after_definitions,
    html_block,
)

MAX_HEADINGS = 400_000
_PARAGRAPH_CHARS = 4000  # kept of a paragraph, should it turn out to be a heading
_TITLE_CHARS = 1000
_QUOTE = -1


class _Leaf(Enum):
    NONE = 0
    PARAGRAPH = 1
    FENCE = 2
    HTML = 3
    INDENTED = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkdownHeading:
    """A heading of the document itself."""

    start: int  # offset of its first line
    line: int  # 1-based
    level: int  # 1 to 6
    title: str


class Blocks:
    """The open blocks of a document, and the headings found so far."""

    def __init__(self) -> None:
        self.headings: list[MarkdownHeading] = []
        self.overfull = False  # there were more than MAX_HEADINGS
        self.offset = 0  # of the line to work off next
        self.line = 1  # its number
        self._containers: list[int] = []  # _QUOTE, or how many columns an item's content is indented by
        self._quotes: list[int] = []  # indices of the quotes among them
        self._empty_item = False  # the innermost container is an item that holds nothing yet
        self._leaf = _Leaf.NONE
        self._fence = ("", 0)
        self._html_end: re.Pattern[str] | None = None
        self._paragraph = ""
        self._paragraph_at = (0, 1)

    def in_bulk(self, text: str, place: int, base: int) -> int:
        """Where the run of lines ends that need no look at each: within a fence, or plain text and blank lines."""
        if self._containers:
            return place
        if self._leaf is _Leaf.FENCE:
            return self._in_fence(text, place)
        if self._leaf not in (_Leaf.NONE, _Leaf.PARAGRAPH):
            return place
        found = PLAIN_LINES.match(text, place)
        if found is None:
            return place
        end = found.end()
        begin = _last_paragraph(text, place, end)
        if begin == end:
            self._leaf = _Leaf.NONE
        elif begin == place and self._leaf is _Leaf.PARAGRAPH:
            if len(self._paragraph) < _PARAGRAPH_CHARS:
                self._paragraph += text[begin : min(end, begin + _PARAGRAPH_CHARS)]
        else:
            self._leaf = _Leaf.PARAGRAPH
            self._paragraph = text[begin : min(end, begin + _PARAGRAPH_CHARS)]
            self._paragraph_at = (base + begin, self.line + text.count("\n", place, begin))
        return end

    def _in_fence(self, text: str, place: int) -> int:
        char, length = self._fence
        closer = re.compile(rf" {{0,3}}{re.escape(char)}{{{length},}}[ \t]*\n")
        if closer.match(text, place):
            return place
        found = re.compile(rf"\n(?={closer.pattern})").search(text, place)
        return found.end() if found else len(text)

    def work_off(self, text: str) -> None:
        """Work off one line (without its end) that starts at `offset`."""
        cursor = Cursor(text)
        matched = self._match_containers(cursor)
        closed = matched == len(self._containers)
        if closed and self._continues_leaf(cursor):
            return
        lazy = not closed and self._leaf is _Leaf.PARAGRAPH
        if not closed and self._leaf is not _Leaf.PARAGRAPH:
            self._close(matched)
            closed = True
        self._new_blocks(cursor, matched, closed=closed, lazy=lazy)

    def _match_containers(self, cursor: Cursor) -> int:
        """How many of the open containers go on with this line; the cursor moves behind their marks."""
        depth, index = len(self._containers), 0
        while index < depth:
            width = self._containers[index]
            if cursor.is_blank:
                if width == _QUOTE:
                    break
                # A blank line is part of every item down to the next quote, unless the last one is still empty.
                place = bisect_left(self._quotes, index)
                index = self._quotes[place] if place < len(self._quotes) else depth
                if index == depth and self._empty_item:
                    index -= 1
                    break
                continue
            if width == _QUOTE:
                if cursor.indent > 3 or cursor.char != ">":
                    break
                cursor.skip_quote_mark()
            elif cursor.indent >= width:
                cursor.skip_columns(width)
            else:
                break
            index += 1
        return index

    def _continues_leaf(self, cursor: Cursor) -> bool:
        """Whether the open leaf takes the line as its own, when all containers go on."""
        if self._leaf is _Leaf.FENCE:
            char, length = self._fence
            run = cursor.rest.rstrip(" \t")
            if cursor.indent <= 3 and len(run) >= length and not run.strip(char):
                self._leaf = _Leaf.NONE
            return True
        if self._leaf is _Leaf.HTML:
            if self._html_end is None:
                if not cursor.is_blank:
                    return True
            else:
                if self._html_end.search(cursor.text, cursor.place):
                    self._leaf = _Leaf.NONE
                return True
        if self._leaf is _Leaf.INDENTED and (cursor.is_blank or cursor.indent >= 4):
            return True
        if self._leaf is not _Leaf.PARAGRAPH:
            self._leaf = _Leaf.NONE
        return False

    def _new_blocks(self, cursor: Cursor, matched: int, *, closed: bool, lazy: bool) -> None:
        """Open what the rest of the line opens, and put what is left of it into a leaf."""
        fresh = True  # nothing was opened on this line yet
        while not cursor.is_blank:
            in_paragraph = self._leaf is _Leaf.PARAGRAPH and fresh
            if cursor.indent >= 4:
                if not in_paragraph:
                    self._leaf = _Leaf.INDENTED
                    self._empty_item = False
                    return
                break
            if in_paragraph and closed and self._is_setext(cursor):
                return
            opened = self._container_mark(cursor, in_paragraph=in_paragraph and closed, matched=matched, fresh=fresh)
            if opened:
                fresh, closed, lazy = False, True, False
                continue
            if self._opens_leaf(cursor, matched, interrupts=in_paragraph, fresh=fresh):
                return
            break
        if cursor.is_blank:
            if fresh:
                self._close(matched)
            return
        if lazy:
            return  # a lazy line goes on with the paragraph inside the containers
        self._text(cursor)

    def _is_setext(self, cursor: Cursor) -> bool:
        found = SETEXT.match(cursor.text, cursor.place)
        if found is None:
            return False
        behind = after_definitions(self._paragraph) if self._paragraph.startswith("[") else 0
        content = self._paragraph[behind:]
        if not content.strip():
            self._paragraph = ""
            return False
        if not self._containers:
            start, line = self._paragraph_at
            skipped = self._paragraph.count("\n", 0, behind)
            title = " ".join(part.strip() for part in content.split("\n")).strip()
            level = 1 if found[1] else 2
            self._found(start + behind, line + skipped, level, title)
        self._leaf = _Leaf.NONE
        return True

    def _container_mark(self, cursor: Cursor, *, in_paragraph: bool, matched: int, fresh: bool) -> bool:
        """Open a quote or a list item where one begins."""
        if cursor.char == ">":
            width = _QUOTE
            self._close_for(matched, fresh=fresh)
            cursor.skip_quote_mark()
            self._quotes.append(len(self._containers))
            self._empty_item = False
        else:
            marker = LIST_MARKER.match(cursor.text, cursor.place)
            if marker is None or cursor.is_thematic_break():
                return False
            empty = cursor.ends_at(marker.end())
            if in_paragraph and (empty or (marker[1] is not None and int(marker[1]) != 1)):
                return False
            self._close_for(matched, fresh=fresh)
            width = cursor.skip_list_marker(marker.end() - marker.start())
            self._empty_item = empty
        self._containers.append(width)
        return True

    def _opens_leaf(self, cursor: Cursor, matched: int, *, interrupts: bool, fresh: bool) -> bool:
        """Open a heading, fence, HTML block or thematic break where one begins."""
        rest = cursor.rest
        atx = ATX.match(rest) if cursor.char == "#" else None
        fence = FENCE.match(rest) if cursor.char in "`~" else None
        html = html_block(rest, interrupts=interrupts) if cursor.char == "<" else None
        if atx is None and fence is None and html is None and not cursor.is_thematic_break():
            return False
        self._close_for(matched, fresh=fresh)
        self._empty_item = False
        if atx is not None and not self._containers:
            title = ATX_CLOSER.sub("", atx[2].rstrip(" \t")).strip(" \t")
            self._found(self.offset, self.line, len(atx[1]), title)
        elif fence is not None:
            run = fence[1] or fence[2]
            self._fence, self._leaf = (run[0], len(run)), _Leaf.FENCE
        elif html is not None:
            self._html_end = html.end
            self._leaf = _Leaf.NONE if html.end and html.end.search(rest, html.mark) else _Leaf.HTML
        return True

    def _text(self, cursor: Cursor) -> None:
        self._empty_item = False
        line = cursor.text[cursor.place : cursor.place + _PARAGRAPH_CHARS]
        if self._leaf is _Leaf.PARAGRAPH:
            if len(self._paragraph) < _PARAGRAPH_CHARS:
                self._paragraph += line + "\n"
            return
        self._leaf = _Leaf.PARAGRAPH
        self._paragraph = line + "\n"
        self._paragraph_at = (self.offset, self.line)

    def _found(self, start: int, line: int, level: int, title: str) -> None:
        if len(self.headings) >= MAX_HEADINGS:
            self.overfull = True
            return
        self.headings.append(MarkdownHeading(start=start, line=line, level=level, title=title[:_TITLE_CHARS]))

    def _close_for(self, matched: int, *, fresh: bool) -> None:
        """Before a new block: close the containers that do not go on, the first time on a line; and any leaf."""
        if fresh:
            self._close(matched)
        self._leaf = _Leaf.NONE

    def _close(self, matched: int) -> None:
        """Close the containers behind the first `matched`, and the leaf."""
        if matched < len(self._containers):
            del self._containers[matched:]
            del self._quotes[bisect_left(self._quotes, matched) :]
            self._empty_item = False
        self._leaf = _Leaf.NONE


def _last_paragraph(text: str, begin: int, end: int) -> int:
    """Where the paragraph begins that the lines text[begin:end] end with; `end` when the last line is blank."""
    start = end
    while start > begin:
        line = text.rfind("\n", begin, start - 1) + 1 or begin
        if not text[line : start - 1].strip(" \t"):
            break
        start = line
    return start
