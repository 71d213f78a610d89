"""The reader for EPUB 2 and 3: the spine's text in reading order, under the book's own table of contents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pipeline.errors import ReadError
from pipeline.read.decode import encoding_name
from pipeline.read.derived import Spot, TextMaker, digest_of, structure_from
from pipeline.read.epub_contents import Entry, nav_entries, ncx_entries
from pipeline.read.epub_marks import FileMarks, marks_of
from pipeline.read.epub_package import (
    Item,
    Package,
    SpineRef,
    encrypted,
    packages,
    read_package,
    read_xml,
)
from pipeline.read.html_flow import Block, Region, read_page
from pipeline.read.html_reader import MAX_HEADING, LineCounter
from pipeline.read.markup_encoding import declared_encoding, decode_markup
from pipeline.read.places import PlaceKind
from pipeline.read.reading import Reading, ReadOptions, ReadWarning, SectionKind, Source
from pipeline.read.tree import Mark
from pipeline.read.zip_safe import SafeZip, ZipLimitError, open_zip

_LISTED = 5  # items that one warning names


class EpubReader:
    """An EPUB. What can not be read of it is reported; when that is all of it, it is an error."""

    name = "epub"
    version = 1
    media_types: tuple[str, ...] = ("application/epub+zip",)

    def read(self, source: Source, options: ReadOptions) -> Reading:
        """Read the book. Raises ReadError when it is protected, has no reading order or no text."""
        if options.encoding is not None:
            encoding_name(options.encoding)
        digest = digest_of(source)
        with open_zip(source) as archive:
            book = _Book(archive, _package(archive), options.encoding)
            book.read()
        if not book.maker.length:
            found = [warning.message for warning in book.warnings() if warning.code != "fixed-layout"]
            why = "; ".join(found) or "its pages hold nothing to read"
            raise ReadError(f"{source.name} has no text: {why}")
        book.maker.finish()
        marks, warnings = marks_of(book.marks, book.entries)
        marks = _title_pages(book, marks)
        structure = structure_from(book.maker, marks, book.package.title or None)
        return book.maker.reading(
            self,
            structure,
            encoding=book.encoding,
            digest=digest,
            warnings=(*archive.warnings, *book.warnings(), *warnings),
            authors=book.package.authors,
            language=book.package.language or None,
        )


def _package(archive: SafeZip) -> Package:
    """The first package with a reading order."""
    found = (read_package(archive, path) for path in packages(archive))
    package = next((package for package in found if package.spine), None)
    if package is None:
        raise ReadError(f"{archive.name} has no reading order: the spine of its package is empty")
    locked, _ = encrypted(archive)
    texts = {package.items[ref.idref].path for ref in package.spine if ref.idref in package.items}
    if locked & texts:
        count = len(locked & texts)
        raise ReadError(f"{archive.name} is protected by DRM: {count} of its {len(texts)} texts are encrypted")
    return package


def _title_pages(book: _Book, marks: list[Mark]) -> list[Mark]:
    """Sections at the front that hold nothing but a title are no chapters, whatever the table of contents lists."""
    found = list(marks)
    for index, mark in enumerate(marks[:-1]):
        if mark.kind is SectionKind.CONTENTS:
            continue
        own = book.maker.between(mark.start, marks[index + 1].start).strip()
        if mark.kind is not SectionKind.CHAPTER or marks[index + 1].depth > mark.depth:
            break
        if own not in (mark.title, book.package.title):
            break
        found[index] = replace(mark, kind=SectionKind.FRONT)
    return found


@dataclass(slots=True)
class _Book:
    archive: SafeZip
    package: Package
    forced: str | None
    maker: TextMaker = field(init=False)
    marks: FileMarks = field(default_factory=FileMarks)
    entries: list[Entry] = field(default_factory=list)
    encoding: str = "utf-8"
    _nav: str = ""
    _told: dict[str, list[str]] = field(default_factory=dict)
    _warnings: list[ReadWarning] = field(default_factory=list)
    _notes: list[tuple[int, Block, int]] = field(default_factory=list)  # (part, block, line)
    _waiting: list[tuple[str, str]] = field(default_factory=list)  # (path, id) that begin where the next block does

    def __post_init__(self) -> None:
        self.maker = TextMaker(name=self.archive.name, kind=PlaceKind.ITEM)

    def read(self) -> None:
        """Read table of contents and texts."""
        self.entries = self._contents()
        targets = {entry.path for entry in self.entries}
        done: set[str] = set()
        encodings: list[str] = []
        for ref, item in self._items():
            if item.path in done:
                continue
            done.add(item.path)
            text = self._text(item, encodings)
            if text is not None:
                if not targets or item.path in targets:
                    self._end_notes()
                self._add(item, ref, text)
        self._end_notes()
        self.encoding = max(encodings, key=encodings.count, default="utf-8")

    def warnings(self) -> list[ReadWarning]:
        """What was noticed, each kind in one line."""
        told = []
        for code, what in _TOLD.items():
            names = self._told.get(code, [])
            if names:
                more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
                told.append(ReadWarning(code=code, message=f"{what}: {', '.join(names[:_LISTED])}{more}"))
        return [*told, *self._warnings]

    def _contents(self) -> list[Entry]:
        """The entries of the navigation document, or of the NCX where it has none."""
        items = self.package.items
        nav = next((item for item in items.values() if "nav" in item.properties), None)
        ncx = items.get(self.package.ncx_id) or next(
            (item for item in items.values() if item.media_type == "application/x-dtbncx+xml"), None
        )
        if nav is not None:
            self._nav = nav.path
        for item, entries_of in ((nav, nav_entries), (ncx, ncx_entries)):
            if item is None or not item.path:
                continue
            try:
                entries = entries_of(read_xml(self.archive, item.path), item.path)
            except ZipLimitError:
                raise
            except ReadError:
                self._tell("contents-unread", item.path)
                continue
            if entries:
                return entries
        return []

    def _items(self) -> Iterator[tuple[SpineRef, Item]]:
        """The spine's items that are pages of text and are there."""
        for ref in self.package.spine:
            item = self.package.items.get(ref.idref)
            if item is None:
                self._tell("spine-unknown", ref.idref)
                continue
            page = self.package.flowing(item)
            if page is None:
                self._tell("spine-not-text", item.href)
            elif not page.path:
                self._tell("spine-outside", page.href)
            elif self.archive.find(page.path) is None:
                self._tell("spine-missing", page.path)
            else:
                yield ref, page

    def _text(self, item: Item, encodings: list[str]) -> str | None:
        """The source of a page; None, and a warning, when it can not be read."""
        entry = self.archive.find(item.path)
        assert entry is not None
        try:
            data = self.archive.read(entry.name)
            text, encoding, warnings = decode_markup(data, item.path, self._forced(data)) if data else ("", "utf-8", ())
        except ZipLimitError:
            raise
        except ReadError as error:
            self._warnings.append(ReadWarning(code="item-unreadable", message=error.message))
            return None
        encodings.append(encoding)
        self._warnings.extend(warnings)
        return text

    def _forced(self, data: bytes) -> str | None:
        """The encoding that was asked for, for pages that are not what they say."""
        if self.forced is None:
            return None
        try:
            data.decode(declared_encoding(data) or "utf-8")
        except UnicodeDecodeError:
            return self.forced
        return None

    def _add(self, item: Item, ref: SpineRef, text: str) -> None:
        self.maker.part(item.path)
        self._waiting.append((item.path, ""))
        page = read_page(text, xml=True, is_book=True)
        is_nav = item.path == self._nav
        lines = LineCounter(text)
        part, seen = len(self.maker.parts) - 1, False
        for block in page.blocks:
            line = lines.line(block.at)
            seen = seen or not (block.text.startswith("[") and block.text.endswith("]"))
            if block.region is Region.NOTE:
                self._notes.append((part, block, line))
                continue
            spot = self._place(item.path, block, line, part)
            if block.level and len(block.text) <= MAX_HEADING and not is_nav:
                self.marks.headings.append((spot, block.level, " ".join(block.text.split())))
        self._waiting.extend((item.path, name) for name in page.loose_anchors)
        self.marks.files.append(item.path)
        self.marks.titles[item.path] = page.title
        if is_nav:
            self.marks.navigation.add(item.path)
        if self.package.is_fixed(ref):
            self._tell("fixed-layout", item.path)
        if page.images and not seen:
            self._tell("image-only", item.path)

    def _place(self, path: str, block: Block, line: int, part: int) -> Spot:
        spot = self.maker.add(block.text, gap=block.gap, number=line, element=block.element, part=part)
        for key in self._waiting:
            self.marks.spots.setdefault(key, spot)
            if key[0] != path:
                self.marks.borrowed.add(key)
        self._waiting.clear()
        for place, name in block.anchors:
            before = block.text.rfind("\n", 0, place) + 1
            inner = spot
            if place:
                inner = Spot(
                    start=spot.start + place,
                    line=spot.line + block.text.count("\n", 0, place),
                    inline=bool(block.text[before:place].strip()),
                )
            self.marks.spots.setdefault((path, name), inner)
        return spot

    def _end_notes(self) -> None:
        """Add the notes that were held back, behind the text that they belong to."""
        first = None
        for part, block, line in self._notes:
            block.gap = block.gap if first else 2
            spot = self._place(self.maker.parts[part], block, line, part)
            first = first or spot
        if first is not None:
            paths = {self.maker.parts[part] for part, _, _ in self._notes}
            self.marks.notes.append((first, paths))
        self._notes.clear()

    def _tell(self, code: str, name: str) -> None:
        self._told.setdefault(code, []).append(name)


_TOLD = {
    "spine-unknown": "the reading order names items that are not in the manifest",
    "spine-missing": "the reading order names files that are not there",
    "spine-outside": "the reading order names things outside of the book, which are never fetched",
    "spine-not-text": "items of the reading order are no pages of text",
    "contents-unread": "a table of contents could not be read",
    "fixed-layout": "pages with a fixed layout were read in the order of their source",
    "image-only": "pages hold nothing but pictures",
}
