"""A place in a line of Markdown, by the rules for tabs and containers."""

from __future__ import annotations


class Cursor:
    """A place in a line, in characters and in columns: tabs reach to the next multiple of four."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0  # index of the next character that is no space
        self.indent = 0  # columns of space before it, containers' marks left out
        self._column = 0  # column at `place`
        self._end = len(text.rstrip(" \t"))
        self._tails: dict[str, int] = {}
        self._find()

    @property
    def is_blank(self) -> bool:
        """Whether nothing but space is left."""
        return self.place >= len(self.text)

    @property
    def char(self) -> str:
        """The next character that is no space; "" at the end."""
        return self.text[self.place : self.place + 1]

    @property
    def rest(self) -> str:
        """The line from the next character on that is no space."""
        return self.text[self.place :]

    def ends_at(self, place: int) -> bool:
        """Whether nothing but space is left from `place` on."""
        return place >= self._end

    def skip_columns(self, columns: int) -> None:
        """Take columns of the indent for a container."""
        self.indent -= columns

    def skip_quote_mark(self) -> None:
        """Step over `>` and one column of space behind it."""
        self._step(1)
        self.indent -= self.indent > 0

    def skip_list_marker(self, length: int) -> int:
        """Step over a list marker and the space that belongs to it; how many columns the item's content is in."""
        before = self.indent
        self._step(length)
        padding = 1 if self.is_blank or self.indent > 4 else max(1, self.indent)
        self.indent -= min(padding, self.indent)
        return before + length + padding

    def is_thematic_break(self) -> bool:
        """Whether the rest is three or more of one of `*`, `-`, `_`, with nothing but space between [4.1]."""
        char = self.char
        if char not in ("*", "-", "_") or self.place < self._tail(char):
            return False
        return self.text.count(char, self.place) >= 3

    def _tail(self, char: str) -> int:
        """Index from which on the line holds only `char` and space; worked out once a line."""
        if char not in self._tails:
            self._tails[char] = len(self.text.rstrip(char + " \t"))
        return self._tails[char]

    def _step(self, length: int) -> None:
        self.place += length
        self._column += length
        self.indent = 0
        self._find()

    def _find(self) -> None:
        text, place, column = self.text, self.place, self._column
        while place < len(text):
            if text[place] == " ":
                column += 1
            elif text[place] == "\t":
                column += 4 - column % 4
            else:
                break
            place += 1
        self.indent += column - self._column
        self.place, self._column = place, column
