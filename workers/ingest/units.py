"""From a reading's sections and text to the units that the splitter takes, streamed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pipeline.read.reading import Section, SectionKind
from pipeline.read.tree import own_runs
from pipeline.split.blocks import bounded
from pipeline.split.grain import Grain, Preferred, Unit


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedUnit:
    """A unit and where it stands in the document."""

    unit: Unit
    section: int  # ordinal of the section whose text it is
    start: int
    start_line: int
    sha256: bytes  # of the text and the preferred cuts: equal units are split alike


def starts_chunk(section: Section, grain: Grain) -> bool:
    """Does this section always start a chunk? Chapters and their like do; headings down to the grain's level."""
    return section.kind is not SectionKind.HEADING or section.level <= grain.heading_level


def units(blocks: Iterable[str], sections: Sequence[Section], grain: Grain) -> Iterator[PlacedUnit]:
    """Cut the text where a chunk must start, then very long runs at places that the text itself chooses."""
    hard = [section for section in sections if starts_chunk(section, grain)]
    runs = own_runs([section.start for section in hard], [section.end for section in hard])
    soft = [(section.start, section.level) for section in sections if not starts_chunk(section, grain)]
    at, line, next_soft = 0, 1, 0
    for number, parts in groupby(_segments(blocks, [start for start, _ in runs]), key=lambda item: item[0]):
        for text in bounded(part for _, part in parts):
            end = at + len(text)
            preferred = []
            while next_soft < len(soft) and soft[next_soft][0] < end:
                offset, level = soft[next_soft]
                if offset > at:
                    preferred.append(Preferred(offset=offset - at, level=level))
                next_soft += 1
            unit = Unit(text=text, preferred=tuple(preferred))
            section = hard[runs[number][1]].ordinal if hard else 0
            yield PlacedUnit(unit=unit, section=section, start=at, start_line=line, sha256=_digest(unit))
            at, line = end, line + text.count("\n")


def _digest(unit: Unit) -> bytes:
    digest = hashlib.sha256(unit.text.encode())
    for preferred in unit.preferred:
        digest.update(b"\0%d %d" % (preferred.offset, preferred.level))
    return digest.digest()


def _segments(blocks: Iterable[str], starts: Sequence[int]) -> Iterator[tuple[int, str]]:
    """(number of the run, text) in order; the text of a run may come in several pieces."""
    at = number = 0
    for block in blocks:
        begin = 0
        while begin < len(block):
            while number + 1 < len(starts) and starts[number + 1] <= at + begin:
                number += 1
            end = len(block)
            if number + 1 < len(starts):
                end = min(end, starts[number + 1] - at)
            yield number, block[begin:end]
            begin = end
        at += len(block)
