"""The headings of a Markdown document, found in a stream of its text."""

from __future__ import annotations

from pipeline.read.front_matter import front_matter_of
from pipeline.read.markdown_blocks import Blocks, MarkdownHeading

_GIANT_LINE = 1 << 20  # of a longer line only so many characters are looked at
_HEAD_CHARS = 1 << 16


class MarkdownScanner:
    """A sink for text blocks that collects the headings."""

    def __init__(self) -> None:
        self.title: str | None = None  # as the front matter states it
        self.length = 0
        self.head = ""
        self._started = False  # the head is long enough to tell whether there is front matter
        self._blocks = Blocks()
        self._parts: list[str] = []  # of a line whose end has not come yet
        self._parts_length = 0
        self._skipping = False  # within the rest of a giant line

    @property
    def headings(self) -> list[MarkdownHeading]:
        """The headings outside of quotes and lists, in order."""
        return self._blocks.headings

    @property
    def overfull(self) -> bool:
        """Whether there were more headings than are kept."""
        return self._blocks.overfull

    def __call__(self, text: str) -> None:
        """Take the next block."""
        self.length += len(text)
        if self._started:
            self._take(text)
            return
        self.head += text
        if len(self.head) >= _HEAD_CHARS or not self.head.startswith("-"):
            self._start()

    def finish(self) -> None:
        """Look at what is left."""
        if not self._started:
            self._start()
        if self._parts:
            self._lines("".join(self._parts) + "\n")
            self._parts = []

    def _start(self) -> None:
        """Step over the front matter, for which enough of the text must be there, and take the rest."""
        text, self._started = self.head, True
        self.head = text[:_HEAD_CHARS]
        matter = front_matter_of(self.head)
        length = 0
        if matter is not None:
            self.title, length = matter.title, matter.length
            self._blocks.offset = length
            self._blocks.line += text.count("\n", 0, length)
        self._take(text[length:])

    def _take(self, text: str) -> None:
        if self._skipping:
            end = text.find("\n") + 1
            self._blocks.offset += end or len(text)
            if not end:
                return
            self._blocks.line += 1
            self._skipping, text = False, text[end:]
        end = text.rfind("\n") + 1
        if end:
            self._lines("".join([*self._parts, text[:end]]))
            self._parts, self._parts_length, text = [], 0, text[end:]
        if text:
            self._parts.append(text)
            self._parts_length += len(text)
        if self._parts_length > _GIANT_LINE:
            self._giant()

    def _giant(self) -> None:
        part = "".join(self._parts)
        self._blocks.work_off(part[:_GIANT_LINE])
        self._blocks.offset += len(part)
        self._parts, self._parts_length, self._skipping = [], 0, True

    def _lines(self, text: str) -> None:
        """Work off whole lines; those that can only be text are taken in bulk."""
        base, place = self._blocks.offset, 0
        while place < len(text):
            taken = self._blocks.in_bulk(text, place, base)
            if taken > place:
                self._blocks.line += text.count("\n", place, taken)
                place = taken
                continue
            end = text.index("\n", place)
            self._blocks.offset = base + place
            self._blocks.work_off(text[place : min(end, place + _GIANT_LINE)])
            self._blocks.line += 1
            place = end + 1
        self._blocks.offset = base + place
