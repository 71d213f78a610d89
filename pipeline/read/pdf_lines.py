"""The lines of a PDF's text layer as PDFium finds them, with where each stands on its page."""

from __future__ import annotations

import ctypes
import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from pipeline.errors import ReadError

MAX_PAGES = 50_000
MAX_PAGE_CHARS = 2_000_000
# What PDFium gives for the hyphen of a word that goes on in the next line, which it then gives as the same line.
_HYPHENS = (0x02, 0xFFFE)
_LINE_ENDS = (10, 13, *_HYPHENS)
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_LEADER = re.compile(r"(?:\s?[.·‧…]){4,}\s*")
_SPACES = re.compile(r"[ \t\u00a0]+")
# PDFium must not be called by two threads at once.
_lock = threading.Lock()


@dataclass(slots=True)
class Line:
    """A line of a page. Coordinates in points from the page's lower left corner."""

    page: int  # from 0
    text: str
    left: float
    right: float
    y: float  # of the baseline
    height: float  # size of its font
    breaks_word: bool = False  # it ends in a hyphen that belongs to the line's end
    has_leader: bool = False  # dots that lead to a page number: an entry of a table of contents


@dataclass(frozen=True, kw_only=True, slots=True)
class Bookmark:
    """An entry of the outline."""

    title: str
    depth: int  # 0 for the outermost
    page: int | None  # from 0
    y: float | None  # points from the bottom


@dataclass(slots=True)
class Extract:
    """What is read of a PDF's own structures."""

    lines: list[Line]
    labels: list[str]  # of each page, "" where it is its number
    empty: list[int]  # pages without text
    outline: list[Bookmark]
    title: str
    author: str
    damaged: list[int]


def extract(data: bytes, name: str) -> Extract:
    """All lines, page by page. Raises ReadError when the PDF is encrypted, damaged or has no pages."""
    with _lock, _document(data, name) as document:
        count = len(document)
        if not count:
            raise ReadError(f"{name} is a PDF without pages")
        if count > MAX_PAGES:
            raise ReadError(f"{name} has {count} pages, more than the {MAX_PAGES} allowed")
        found = Extract([], [], [], _outline(document), *_properties(document), [])
        for number in range(count):
            found.labels.append(_label(document, number))
            try:
                lines = _page_lines(document, number)
            except pypdfium2.PdfiumError:
                found.damaged.append(number)
                continue
            if not any(line.text.strip() for line in lines):
                found.empty.append(number)
            found.lines.extend(lines)
        return found


@contextmanager
def _document(data: bytes, name: str) -> Iterator[pypdfium2.PdfDocument]:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise ReadError(f"{name} is an encrypted PDF: it opens only with its password") from error
        if error.err_code == pdfium.FPDF_ERR_SECURITY:
            raise ReadError(f"{name} is an encrypted PDF, in a way that can not be opened") from error
        raise ReadError(f"{name} is a damaged PDF: its structure can not be read") from error
    try:
        yield document
    finally:
        document.close()


def _properties(document: pypdfium2.PdfDocument) -> tuple[str, str]:
    try:
        found = document.get_metadata_dict()
    except (pypdfium2.PdfiumError, UnicodeError):
        return "", ""
    return " ".join(found.get("Title", "").split()), " ".join(found.get("Author", "").split())


def _label(document: pypdfium2.PdfDocument, number: int) -> str:
    try:
        label = document.get_page_label(number)
    except (pypdfium2.PdfiumError, UnicodeError):
        return ""
    return "" if label == str(number + 1) else label


def _outline(document: pypdfium2.PdfDocument) -> list[Bookmark]:
    found = []
    try:
        for mark in document.get_toc(max_depth=100):
            place = mark.get_dest()
            page = place.get_index() if place else None
            view = place.get_view()[1] if place else []
            mode = place.get_view()[0] if place else 0
            # Of /XYZ the second number is the top, of /FitH the first.
            y = view[1] if mode == pdfium.PDFDEST_VIEW_XYZ and len(view) > 1 else view[0] if len(view) == 1 else None
            title = " ".join(mark.get_title().split())
            if title:
                found.append(Bookmark(title=title, depth=mark.level, page=page, y=y))
    except (pypdfium2.PdfiumError, UnicodeError, ValueError, RecursionError):
        return found
    return found


def _page_lines(document: pypdfium2.PdfDocument, number: int) -> list[Line]:
    page = document[number]
    text = page.get_textpage()
    try:
        return list(_lines(text.raw, number))
    finally:
        text.close()
        page.close()


def _lines(raw: ctypes.c_void_p, number: int) -> Iterator[Line]:
    """Lines in the order of the page's content, which is that of reading in nearly all PDFs."""
    count = min(pdfium.FPDFText_CountChars(raw), MAX_PAGE_CHARS)
    unicode_at = pdfium.FPDFText_GetUnicode
    points = [unicode_at(raw, index) for index in range(count)]
    begin = 0
    for index in range(count + 1):
        if index == count or points[index] in _LINE_ENDS:
            line = _line(raw, number, points, begin, index)
            if line is not None:
                line.breaks_word = index < count and points[index] in _HYPHENS
                yield line
            begin = index + 1


def _line(raw: ctypes.c_void_p, number: int, points: list[int], begin: int, end: int) -> Line | None:
    while begin < end and points[begin] in (0, 32, 9, 160):
        begin += 1
    while end > begin and points[end - 1] in (0, 32, 9, 160):
        end -= 1
    if begin == end:
        return None
    text = "".join(map(_char, points[begin:end]))
    if not text.isascii():
        # Halves of surrogate pairs come one by one; a half alone is no character.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = text.replace("\u00ad", "")
    has_leader = bool(_LEADER.search(text))
    text = _SPACES.sub(" ", _LEADER.sub(" … ", text) if has_leader else text).strip()
    if not text:
        return None
    left, _, bottom = _box(raw, begin)
    _, right, _ = _box(raw, end - 1)
    sizes = sorted(_size(raw, index) for index in (begin, (begin + end) // 2, end - 1))
    return Line(
        page=number,
        text=text,
        left=left,
        right=right,
        y=_baseline(raw, begin, bottom),
        height=max(1.0, sizes[1]),  # of three, for a line may begin or end with a note's mark or a formula
        has_leader=has_leader,
    )


def _char(point: int) -> str:
    if point in _LIGATURES:
        return _LIGATURES[point]
    return chr(point) if 0 < point < 0x110000 else ""


def _box(raw: ctypes.c_void_p, index: int) -> tuple[float, float, float]:
    """Left, right and bottom of a character."""
    box = pdfium.FS_RECTF()
    if not pdfium.FPDFText_GetLooseCharBox(raw, index, box):
        return 0.0, 0.0, 0.0
    return box.left, box.right, box.bottom


def _size(raw: ctypes.c_void_p, index: int) -> float:
    """The size of a character's font as it stands on the page, in points."""
    matrix = pdfium.FS_MATRIX()
    size = float(pdfium.FPDFText_GetFontSize(raw, index))
    return size * math.hypot(matrix.c, matrix.d) if pdfium.FPDFText_GetMatrix(raw, index, matrix) else size


def _baseline(raw: ctypes.c_void_p, index: int, default: float) -> float:
    x, y = ctypes.c_double(), ctypes.c_double()
    return y.value if pdfium.FPDFText_GetCharOrigin(raw, index, x, y) else default
