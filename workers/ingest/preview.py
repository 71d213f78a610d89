"""How a file would be cut: read now, stored nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline import canonical
from pipeline.errors import ReadError
from pipeline.ops.values import Json
from pipeline.read import registry
from pipeline.read.reading import ReadOptions
from pipeline.read.sources import FileSource
from pipeline.split.splitter import Splitter
from workers.ingest.find import printable
from workers.ingest.ingest import Cutting
from workers.ingest.units import units


def preview_chunks(path: str, cutting: Cutting, encoding: str | None) -> Iterator[dict[str, Json]]:
    """The chunks of a file, each as a manifest's chunk without its id, and with its text."""
    if not Path(path).is_file():
        raise ReadError(f"There is no file {printable(path)}", hint="--preview cuts a file that is not ingested")
    reading = registry.read(FileSource(Path(path)), ReadOptions(encoding=encoding))
    splitter = Splitter(cutting.grain, cutting.counter)
    ordinal = 0
    for placed in units(reading.blocks(), reading.sections, cutting.grain):
        for piece in splitter.split(placed.unit):
            text = placed.unit.text[piece.start : piece.end]
            line = placed.start_line + placed.unit.text.count("\n", 0, piece.start)
            yield {
                "ordinal": ordinal,
                "section": placed.section,
                "start_line": line,
                "end_line": line + text.count("\n", 0, max(0, len(text) - 1)),
                "start": placed.start + piece.start,
                "end": placed.start + piece.end,
                "token_count": piece.tokens,
                "over_limit": piece.over,
                "text_sha256": canonical.sha256(text.encode()).hex(),
                "text": text,
            }
            ordinal += 1
