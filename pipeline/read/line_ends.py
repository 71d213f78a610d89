"""Line ends: CR LF, CR and CR CR LF become LF once, and the way back to the source is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.read.reading import LineEnding

# More changes of width than this are no longer recorded: a file that alternates on every line must not fill memory.
MAX_RUNS = 200_000
_ANY_END = re.compile(r"\r\r?\n|\r|\n")


def source_offset(line_endings: Sequence[LineEnding], line: int, offset: int) -> int:
    """Characters into the decoded source (its BOM left out, its line ends as written) of a text offset on a line.

    `line` is the 1-based line on which `offset` stands: each earlier line adds its ending's width less the one
    character that is left of it.
    """
    extra = 0
    for run, following in zip(line_endings, [*line_endings[1:], None], strict=True):
        if run.first_line >= line:
            break
        last = line if following is None else min(line, following.first_line)
        extra += (last - run.first_line) * (run.width - 1)
    return offset + extra


class LineEnds:
    """Turns the line ends of a stream of text into LF, and records the width of each as runs."""

    def __init__(self) -> None:
        self.line = 1  # the line on which the next character stands
        self.complete = True  # False when there were more than MAX_RUNS runs
        self._runs: list[LineEnding] = []
        self._held = ""

    def feed(self, text: str, *, final: bool = False) -> str:
        """The same text with LF alone. A CR at the end waits for what follows unless `final`."""
        if self._held:
            text, self._held = self._held + text, ""
        if not final and text.endswith("\r"):
            keep = 2 if text.endswith("\r\r") else 1
            text, self._held = text[:-keep], text[-keep:]
        if "\r" not in text:
            self._note(1, text.count("\n"))
            return text
        return self._convert(text)

    def runs(self) -> tuple[LineEnding, ...]:
        """The runs so far; at least one."""
        return tuple(self._runs) or (LineEnding(first_line=1, width=1),)

    def _convert(self, text: str) -> str:
        lf, cr = text.count("\n"), text.count("\r")
        if lf == 0:
            self._note(1, cr)
            return text.replace("\r", "\n")
        if cr == lf and text.count("\r\n") == lf:
            self._note(2, lf)
            return text.replace("\r\n", "\n")
        for end in _ANY_END.finditer(text):
            self._note(end.end() - end.start(), 1)
        return _ANY_END.sub("\n", text)

    def _note(self, width: int, count: int) -> None:
        if not count:
            return
        if not self._runs or self._runs[-1].width != width:
            if len(self._runs) < MAX_RUNS:
                self._runs.append(LineEnding(first_line=self.line, width=width))
            else:
                self.complete = False
        self.line += count
