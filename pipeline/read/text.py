"""The reader for plain text."""

from __future__ import annotations

from pipeline.read.reading import Reading, ReadOptions, Source
from pipeline.read.scan import Scanner
from pipeline.read.structure import structure_of
from pipeline.read.survey import reading_of, survey


class TextReader:
    """Plain text in any encoding; its chapters are found by their chapter lines."""

    name = "text"
    version = 2
    media_types: tuple[str, ...] = ("text/plain",)

    def read(self, source: Source, options: ReadOptions) -> Reading:
        """Read the source once to the end, twice when its encoding shows only late."""
        scanner = Scanner()

        def new_sink() -> Scanner:
            nonlocal scanner
            scanner = Scanner()
            return scanner

        found = survey(source, options, new_sink)
        scanner.finish()
        return reading_of(source, found, self, structure_of(scanner, found.line_count))
