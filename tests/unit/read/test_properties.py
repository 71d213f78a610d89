"""What holds for every input."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
from collections.abc import Callable
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.errors import OctavoError
from pipeline.read.joined import Part, read_joined
from pipeline.read.line_ends import LineEnds, source_offset
from pipeline.read.markdown import MarkdownScanner
from pipeline.read.reading import Reading, ReadOptions
from pipeline.read.registry import read
from pipeline.read.scan import Scanner
from pipeline.read.sources import BytesSource

LINES = st.sampled_from(
    [
        *["", "", "", " ", "\u3000", "Chapter 1", "Chapter 2: The Mole", "CHAPTER IV", "BOOK ONE", "Book Two", "12"],
        *["Prologue", "Epilogue", "CONTENTS", "XIII", "Genesis 1", "Genesis 2", "Глава 3. Маяк", "제1장 바다"],
        *["第一章 潮汐", "第二章灯塔", "　　第三章：雾", "第一卷 港口", "番外一", "楔子", "第一卷 第二章 夜"],
        *["\fChapter 7", "\ufeffChapter 8", "a\u2028Chapter 9", "The tide came in. The lamp was out.", "潮水退了。"],
        *["*** START OF THIS PROJECT GUTENBERG EBOOK HARBOUR ***", "End of the Project Gutenberg EBook of Harbour"],
        *["# Alpha", "## Beta ##", "### Gamma", "Delta", "===", "---", "```", "~~~", "````", "> # quoted", "- # item"],
        *["  # in item", "1. one", "    code", "\tcode", "<!--", "-->", "<div>", "[ref]: /there", "***", "\x00"],
        *["title: Harbour", "\x1b[31mred\x1b[0m", "A title so long that it was wrapped: Of Lamps and Tides and of"],
    ]
)
DOCUMENTS = st.lists(LINES, min_size=1, max_size=40).map("\n".join)
NAMES = st.sampled_from(["book.txt", "book.md"])


def _read(data: bytes, name: str, encoding: str | None = None) -> Reading | None:
    try:
        return read(BytesSource(name, data), ReadOptions(encoding=encoding))
    except OctavoError:
        return None


@given(document=DOCUMENTS, name=NAMES)
@example(document="\fChapter 1\n\nText", name="book.txt")
@settings(max_examples=300, deadline=None)
def test_sections_cover_the_text_once_and_agree_with_its_lines(
    document: str, name: str, check_tree: Callable[[Reading], None]
) -> None:
    reading = _read(document.encode(), name)
    if reading is not None:
        check_tree(reading)


@given(document=DOCUMENTS, name=NAMES)
@example(document="\n  # in item", name="book.md")
@example(document="---\ntitle: Harbour\n---", name="book.md")
@settings(max_examples=200, deadline=None)
def test_copies_with_other_line_ends_and_a_mark_have_the_same_text_and_sections(document: str, name: str) -> None:
    # A few bytes with NULs among them can be UTF-16 as well as text: what they are taken for may depend on line ends.
    document = document.removeprefix("\ufeff").replace("\x00", "")
    plain = _read(document.encode(), name)
    for copy in (document.replace("\n", "\r\n"), document.replace("\n", "\r"), "\ufeff" + document):
        other = _read(copy.encode(), name)
        if plain is None or other is None:
            assert plain is other
            continue
        assert other.text_sha256 == plain.text_sha256
        assert other.sections == plain.sections
        assert other.line_count == plain.line_count


@given(document=st.text(min_size=1, max_size=400), name=NAMES)
@settings(max_examples=200, deadline=None)
def test_blocks_give_back_the_text_that_was_hashed(document: str, name: str) -> None:
    document = document.encode("utf-8", "replace").decode()
    reading = _read(document.encode(), name, "utf-8")
    if reading is None:
        return
    text = "".join(reading.blocks())
    assert hashlib.sha256(text.encode()).digest() == reading.text_sha256
    ends = LineEnds()
    assert text == ends.feed(document, final=True).removeprefix("\ufeff")


@given(data=st.binary(max_size=600), name=NAMES)
@settings(max_examples=400, deadline=None)
def test_random_bytes_raise_nothing_but_errors_of_the_project(
    data: bytes, name: str, check_tree: Callable[[Reading], None]
) -> None:
    reading = _read(data, name)
    if reading is not None:
        check_tree(reading)
        "".join(reading.blocks()).encode("utf-8")


@given(
    data=st.binary(max_size=300),
    encoding=st.sampled_from(["gb18030", "cp932", "utf-16", "utf-32", "utf-8", "big5hkscs", "iso2022_jp"]),
)
@settings(max_examples=300, deadline=None)
def test_any_forced_encoding_gives_text_without_surrogates(data: bytes, encoding: str) -> None:
    reading = _read(data, "book.txt", encoding)
    if reading is not None:
        "".join(reading.blocks()).encode("utf-8")


@given(
    parts=st.lists(st.sampled_from(["\r", "\n", "\r\n", "\r\r\n", "a", "灯", ""]), max_size=40),
    sizes=st.lists(st.integers(1, 5), max_size=40),
)
@settings(max_examples=400, deadline=None)
def test_source_offsets_lead_back_to_the_source_wherever_blocks_end(parts: list[str], sizes: list[int]) -> None:
    source = "".join(parts)
    ends, text, place = LineEnds(), "", 0
    for size in sizes:
        text += ends.feed(source[place : place + size])
        place += size
    text += ends.feed(source[place:], final=True)
    runs = ends.runs()
    whole = LineEnds()
    assert whole.feed(source, final=True) == text
    assert whole.runs() == runs
    for offset, char in enumerate(text):
        line = text.count("\n", 0, offset) + 1
        at = source_offset(runs, line, offset)
        assert source[at] == char or (char == "\n" and source[at] == "\r")


@given(document=DOCUMENTS, cuts=st.lists(st.integers(0, 400), max_size=12))
@settings(max_examples=300, deadline=None)
def test_headings_do_not_depend_on_where_blocks_end(document: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(document)) for cut in cuts} | {0, len(document)})
    blocks = [document[one:two] for one, two in pairwise(places)]
    for scanner_type, found in ((Scanner, "candidates"), (MarkdownScanner, "headings")):
        whole, pieces = scanner_type(), scanner_type()
        whole(document)
        whole.finish()
        for block in blocks:
            if block:
                pieces(block)
        pieces.finish()
        assert getattr(pieces, found) == getattr(whole, found)


@given(document=DOCUMENTS, name=NAMES, place=st.integers(0, 2000), flips=st.binary(max_size=4))
@settings(max_examples=150, deadline=None)
def test_packed_texts_whole_or_damaged_give_their_text_or_an_error_of_the_project(
    document: str, name: str, place: int, flips: bytes
) -> None:
    plain = _read(document.encode(), name)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, document)
    for data, packed in ((gzip.compress(document.encode(), mtime=0), f"{name}.gz"), (target.getvalue(), "book.zip")):
        whole = _read(data, packed)
        assert (whole is None) == (plain is None)
        if whole is not None and plain is not None:
            assert (whole.text_sha256, whole.sections) == (plain.text_sha256, plain.sections)
        damaged = data[:place] + flips + data[place + len(flips) :]
        _read(damaged, packed)


@given(documents=st.lists(DOCUMENTS, min_size=1, max_size=5), kinds=st.lists(NAMES, min_size=5, max_size=5))
@settings(max_examples=150, deadline=None)
def test_books_in_parts_hold_every_character_of_each_part_once(
    documents: list[str], kinds: list[str], check_tree: Callable[[Reading], None]
) -> None:
    names = [f"{number} {kind}" for number, kind in enumerate(kinds)]
    parts = [
        Part(name=name, source=BytesSource(name, document.encode()))
        for name, document in zip(names, documents, strict=False)
    ]
    try:
        reading = read_joined("book", parts, ReadOptions(), read)
    except OctavoError:
        return
    check_tree(reading)
    texts = ["".join(one.blocks()) for part in parts if (one := _read_part(part)) is not None]
    ended = [text if text.endswith("\n") or not text else text + "\n" for text in texts[:-1]]
    assert "".join(reading.blocks()) == "".join(ended) + texts[-1]


def _read_part(part: Part) -> Reading | None:
    try:
        return read(part.source, ReadOptions())
    except OctavoError:
        return None
