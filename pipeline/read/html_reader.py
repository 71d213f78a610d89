"""The reader for HTML and XHTML pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.errors import ReadError
from pipeline.read.chapter_words import CHAPTER_RANK, CONTENTS_WORDS
from pipeline.read.chapters import heading_of
from pipeline.read.derived import Spot, TextMaker, digest_of, structure_from
from pipeline.read.html_flow import Block, Page, Region, read_page
from pipeline.read.markup_encoding import decode_markup
from pipeline.read.places import PlaceKind
from pipeline.read.reading import Reading, ReadOptions, ReadWarning, SectionKind, Source
from pipeline.read.tree import Mark

MAX_BYTES = 256 << 20
MAX_HEADING = 400  # characters; what is longer is no heading, whatever its element is called


class HtmlReader:
    """A page: its main text, with the headings as sections. Scripts, styles and navigation are left out."""

    name = "html"
    version = 1
    media_types: tuple[str, ...] = ("text/html", "application/xhtml+xml")

    def read(self, source: Source, options: ReadOptions) -> Reading:
        """Read the page. Raises ReadError when it has no text."""
        digest = digest_of(source)
        if digest[1] > MAX_BYTES:
            raise ReadError(f"{source.name} is {digest[1] >> 20} MiB of HTML, more than the {MAX_BYTES >> 20} allowed")
        with source.open() as stream:
            data = stream.read()
        text, encoding, warnings = decode_markup(data, source.name, options.encoding)
        page = read_page(text, xml=text[:200].lstrip().startswith("<?xml"), is_book=False)
        blocks, left_out = main_text(page)
        maker = TextMaker(name=source.name, kind=PlaceKind.LINE)
        maker.part("")
        headings = add_blocks(maker, blocks, LineCounter(text))
        notes = add_notes(maker, blocks, LineCounter(text))
        maker.finish()
        marks = heading_marks(headings)
        if notes is not None and marks:
            marks.append(notes_mark(notes, depth=marks[0].depth))
        structure = structure_from(maker, marks, page.title or None)
        return maker.reading(self, structure, encoding=encoding, digest=digest,
                             warnings=(*warnings, *left_out), language=page.language or None)  # fmt: skip


class LineCounter:
    """Lines of rising offsets into a page."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at, self._line = 0, 1

    def line(self, at: int) -> int:
        """The 1-based line of an offset; they may also go back, at a cost."""
        if at < self._at:
            self._at, self._line = 0, 1
        self._line += self._text.count("\n", self._at, at)
        self._at = at
        return self._line


def main_text(page: Page) -> tuple[list[Block], list[ReadWarning]]:
    """The blocks of a page's main text: what it calls so, or all but its navigation; all where that is nothing."""
    for chosen in ({Region.MAIN, Region.NOTE}, {Region.BODY, Region.NOTE}):
        kept = [block for block in page.blocks if block.region in chosen]
        if any(block.region is not Region.NOTE for block in kept):
            break
    else:
        return page.blocks, []
    left = sum(len(block.text) for block in page.blocks) - sum(len(block.text) for block in kept)
    if not left:
        return kept, []
    message = f"{left} characters of navigation and other things around the main text were left out"
    return kept, [ReadWarning(code="navigation-left-out", message=message)]


def add_blocks(maker: TextMaker, blocks: Sequence[Block], lines: LineCounter) -> list[tuple[Spot, int, str]]:
    """Add all but notes; gives the headings: (spot, level, title)."""
    headings = []
    for block in blocks:
        if block.region is Region.NOTE:
            continue
        spot = maker.add(block.text, gap=block.gap, number=lines.line(block.at), element=block.element)
        if block.level and len(block.text) <= MAX_HEADING:
            headings.append((spot, block.level, " ".join(block.text.split())))
    return headings


def add_notes(maker: TextMaker, blocks: Sequence[Block], lines: LineCounter) -> Spot | None:
    """Add the notes behind everything else; gives where they begin."""
    first = None
    for block in blocks:
        if block.region is Region.NOTE:
            gap = block.gap if first else 2
            spot = maker.add(block.text, gap=gap, number=lines.line(block.at), element=block.element)
            first = first or spot
    return first


def notes_mark(spot: Spot, *, depth: int) -> Mark:
    """The mark of a page's notes."""
    return Mark(start=spot.start, line=spot.line, depth=depth, kind=SectionKind.NOTES, title="Notes", is_leaf=True)


def heading_marks(headings: Sequence[tuple[Spot, int, str]]) -> list[Mark]:
    """Marks of headings by level; those that read as chapters or volumes are such, as in Markdown."""
    kinds = kinds_of([title for _, _, title in headings])
    return [
        Mark(start=spot.start, line=spot.line, depth=level, level=level, kind=kind, title=title,
             is_leaf=kind is SectionKind.CONTENTS, inline=spot.inline)
        for (spot, level, title), kind in zip(headings, kinds, strict=True)
    ]  # fmt: skip


def kinds_of(titles: Sequence[str]) -> list[SectionKind]:
    """What headings are by what they say. A prologue is a chapter only where there are others."""
    found = [heading_of(title) for title in titles]
    counted = Counter(one.unit for one in found if one is not None and one.sure)
    is_book = bool(counted)
    kinds = []
    for one, title in zip(found, titles, strict=True):
        if title.casefold() in CONTENTS_WORDS:
            kinds.append(SectionKind.CONTENTS)
        elif one is None or not (one.sure or (is_book and one.unit == "named")):
            kinds.append(SectionKind.HEADING)
        else:
            kinds.append(SectionKind.CHAPTER if one.rank >= CHAPTER_RANK else SectionKind.VOLUME)
    return kinds
