"""What the tests of the readers share: reading from memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import pytest

from pipeline.read.reading import Reading, ReadOptions, Section, SectionKind
from pipeline.read.registry import read
from pipeline.read.sources import BytesSource


@pytest.fixture(scope="session")
def read_bytes() -> Callable[..., Reading]:
    """Read text or bytes under a file name."""

    def reading(data: bytes | str, name: str = "book.txt", encoding: str | None = None) -> Reading:
        source = BytesSource(name, data.encode() if isinstance(data, str) else data)
        return read(source, ReadOptions(encoding=encoding))

    return reading


@pytest.fixture(scope="session")
def outline() -> Callable[[Reading], list[tuple[str, int, str]]]:
    """Kind, level and title of each section."""

    def of(reading: Reading) -> list[tuple[str, int, str]]:
        return [(section.kind.value, section.level, section.title) for section in reading.sections]

    return of


@pytest.fixture(scope="session")
def text_of() -> Callable[[Reading], str]:
    """The whole text of a reading."""
    return lambda reading: "".join(reading.blocks())


@pytest.fixture(scope="session")
def check_tree() -> Callable[[Reading], None]:
    """That sections nest, cover every character once, and agree with the lines of the text."""

    def check(reading: Reading) -> None:
        text = "".join(reading.blocks())
        assert len(text) == reading.char_count
        assert text.count("\n") + (not text.endswith("\n")) == reading.line_count
        ends = [place for place, char in enumerate(text) if char == "\n"]
        sections = reading.sections
        assert sections[0].start == 0
        assert max(section.end for section in sections) == len(text)
        for ordinal, section in enumerate(sections):
            assert section.ordinal == ordinal
            assert section.start < section.end
            assert section.start_line == bisect_left(ends, section.start) + 1
            assert section.end_line == bisect_left(ends, section.end - 1) + 1
            _check_parent(sections, section)
        _check_siblings(sections, len(text))

    return check


def _check_siblings(sections: tuple[Section, ...], length: int) -> None:
    """Each section ends where the next beside it begins, or with what is around it; only boilerplate may end before."""
    below: dict[int | None, list[Section]] = {}
    for section in sections:
        below.setdefault(section.parent, []).append(section)
    for parent, children in below.items():
        end = length if parent is None else sections[parent].end
        for section, following in zip(children, [*children[1:], None], strict=True):
            until = end if following is None else following.start
            assert section.end <= until, "two sections hold one character"
            if section.kind is not SectionKind.BOILERPLATE or parent is None:
                assert section.end == until, "the sections leave a gap"


def _check_parent(sections: tuple[Section, ...], section: Section) -> None:
    if section.parent is None:
        return
    parent = sections[section.parent]
    assert parent.ordinal < section.ordinal
    assert parent.level < section.level
    assert parent.start <= section.start
    assert section.end <= parent.end
