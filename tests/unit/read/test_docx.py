"""Word documents: what is text, headings, lists, tables, notes, and damage."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from pipeline.errors import ReadError
from pipeline.read.reading import Reading
from pipeline.read.registry import read
from pipeline.read.sources import FileSource
from tests.unit.read.docxs import W, docx, item, p, r, table

Read = Callable[..., Reading]
Outline = Callable[[Reading], list[tuple[str, int, str]]]
RAISED = '<w:vertAlign w:val="superscript"/>'
BREAK = "<w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:br w:type='page'/><w:tab/><w:t>three</w:t></w:r>"
FIELD = "<w:r><w:fldChar/></w:r><w:r><w:instrText>PAGEREF x</w:instrText></w:r><w:r><w:t>12</w:t></w:r>"
RUBY = (
    "<w:r><w:ruby><w:rt><w:r><w:t>かんじ</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase>"
    "</w:ruby></w:r>"
)
BOX = (
    "<w:r><w:t>outer</w:t><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p>"
    "</w:txbxContent></mc:Choice><mc:Fallback><w:p><w:r><w:t>boxed</w:t></w:r></w:p></mc:Fallback>"
    "</mc:AlternateContent></w:r>"
)
FRACTION = "<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"


def _text(reading: Reading) -> str:
    return "".join(reading.blocks())


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (p("one") + p("") + p("two"), "one\n\ntwo\n"),
        (p(BREAK), "one\ntwo\tthree\n"),
        (p(r("kept ") + f"<w:del>{r('gone')}</w:del><w:ins>{r('new')}</w:ins>"), "kept new\n"),
        (p(f"<w:moveFrom>{r('gone')}</w:moveFrom>{r('here')}"), "here\n"),
        (p(r("seen") + r("unseen", "<w:vanish/>")), "seen\n"),
        (p(r("x") + r("2", RAISED) + r("th", RAISED)), "x²th\n"),
        (p(r("see page ") + FIELD), "see page 12\n"),
        (p(RUBY), "漢字（かんじ）\n"),
        (p(BOX), "boxed\n\nouter\n"),
        (p(FRACTION), "1/2\n"),
        (p("<w:r><w:sym w:font='Symbol' w:char='F0B7'/><w:t>x</w:t></w:r>"), "•x\n"),
        (p("<w:r><w:drawing><wp:docPr id='1' name='Picture 1' descr='a lamp'/></w:drawing></w:r>"), "[a lamp]\n"),
        (item("a", 2) + item("b", 2) + p("c"), "- a\n- b\n\nc\n"),
        (item("a", 1) + item("b", 1, 1) + item("c", 1, 1) + item("d", 1), "1. a\n  1.a) b\n  1.b) c\n2. d\n"),
        (table(("a", "b"), ("1", "")), "a | b\n1 |\n"),
        (table((p("long " * 100), "b")), f"{('long ' * 100).strip()}\n\nb\n"),
        (table((p("Chapter", "H1"), "text")), "Chapter\n\ntext\n"),
        ("<w:sdt><w:sdtContent>" + p("held") + "</w:sdtContent></w:sdt>", "held\n"),
        (p(f"<w:hyperlink>{r('a link')}</w:hyperlink>"), "a link\n"),
    ],
)  # fmt: skip
def test_a_document_reads_as_it_is_printed(body: str, text: str, read_bytes: Read) -> None:
    assert _text(read_bytes(docx(body), name="a.docx")) == text


def test_headings_by_outline_level_style_name_and_ancestry_are_sections(
    read_bytes: Read, outline: Outline, check_tree: Callable[[Reading], None]
) -> None:
    body = (
        p("The Ferry", "Title") + p("Chapter 1", "H1") + p("a") + p("A place", "H2") + p("b") + p("Chapter 2", "Own")
        + p("c") + p("Direct", properties='<w:outlineLvl w:val="1"/>') + p("d")
    )  # fmt: skip
    reading = read_bytes(docx(body))
    assert reading.title == "The Ferry"
    assert outline(reading) == [
        ("front", 1, "The Ferry"),
        ("chapter", 1, "Chapter 1"),
        ("heading", 2, "A place"),
        ("chapter", 1, "Chapter 2"),
        ("heading", 2, "Direct"),
    ]
    check_tree(reading)


def test_without_headings_chapter_lines_are_the_sections(read_bytes: Read, outline: Outline) -> None:
    body = "".join(p(f"Chapter {n}") + p("text of the chapter. " * 20) for n in range(1, 4))
    assert outline(read_bytes(docx(body))) == [("chapter", 1, f"Chapter {n}") for n in range(1, 4)]


def test_a_table_of_contents_is_one(read_bytes: Read, outline: Outline, check_tree: Callable[[Reading], None]) -> None:
    body = p("One\t1", "TOC1") + p("Two\t2", "TOC1") + p("preface") + p("One", "H1") + p("a") + p("Two", "H1") + p("b")
    reading = read_bytes(docx(body))
    assert [kind for kind, _, _ in outline(reading)] == ["contents", "front", "heading", "heading"]
    check_tree(reading)


def _notes(kind: str, *texts: str) -> str:
    separator = f'<w:{kind} w:type="separator" w:id="0">{p("no")}</w:{kind}>'
    notes = (f'<w:{kind} w:id="{number}">{p(text)}</w:{kind}>' for number, text in enumerate(texts, 1))
    return f"<w:{kind}s {W}>{separator}{''.join(notes)}</w:{kind}s>"


def test_notes_stand_behind_the_chapter_that_marks_them(
    read_bytes: Read, outline: Outline, check_tree: Callable[[Reading], None]
) -> None:
    mark = '<w:r><w:t>word</w:t><w:{kind}Reference w:id="{number}"/></w:r>'
    body = (
        p("One", "H1") + p(mark.format(kind="footnote", number=2)) + p("A place", "H2") + p("x")
        + p("Two", "H1") + p(mark.format(kind="endnote", number=1) + mark.format(kind="footnote", number=1))
    )  # fmt: skip
    parts = {"word/footnotes.xml": _notes("footnote", "first", "second"), "word/endnotes.xml": _notes("endnote", "end")}
    reading = read_bytes(docx(body, parts))
    assert _text(reading) == (
        "One\n\nword[1]\n\nA place\n\nx\n\n[1] second\n\nTwo\n\nword[2]word[3]\n\n[2] end\n[3] first\n"
    )
    assert [(kind, level) for kind, level, _ in outline(reading)] == [
        ("heading", 1),
        ("heading", 2),
        ("notes", 2),
        ("heading", 1),
        ("notes", 2),
    ]
    assert reading.places is not None
    place = reading.places.at(_text(reading).index("[1] second"))
    assert place is not None
    assert place.named() == {"item": "word/footnotes.xml", "paragraph": 3}
    check_tree(reading)


def test_title_author_and_language_are_those_of_the_properties(read_bytes: Read) -> None:
    core = (
        '<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Ferry</dc:title><dc:creator>A; B</dc:creator>'
        "<dc:language>de-CH</dc:language></c>"
    )
    reading = read_bytes(docx(p("text"), {"docProps/core.xml": core}))
    assert (reading.title, reading.authors, reading.language) == ("The Ferry", ("A", "B"), "de-CH")


def test_the_main_part_is_where_the_package_says(read_bytes: Read) -> None:
    data = docx(p("here"), {"word/document.xml": "<x/>"}, main="word/document2.xml")
    assert _text(read_bytes(data)) == "here\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (docx(""), "is empty"),
        (docx(p("x")).replace(b"word/document.xml", b"word/documenu.xml"), "holds no text"),
        (docx("<w:p>"), "its XML is not well formed"),
        (docx(p("x"), {"word/document.xml": "x"}, main="word/other.xml")[:300], "damaged ZIP archive"),
        (docx(p("\0")), "its XML is not well formed"),
    ],
)
def test_a_document_that_can_not_be_read_is_one_clear_error(data: bytes, message: str, read_bytes: Read) -> None:
    with pytest.raises(ReadError, match=message):
        read_bytes(data, name="a.docx")


def test_a_document_with_entities_is_refused_before_any_expands(read_bytes: Read) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]>'
    source = f"{bomb}<w:document {W}><w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body></w:document>"
    with pytest.raises(ReadError, match="declares a document type"):
        read_bytes(docx("", {"word/document.xml": source}, main="word/gone.xml", leave_out=True), name="a.docx")


def test_deep_nesting_costs_no_recursion(read_bytes: Read) -> None:
    deep = "<w:sdt><w:sdtContent>" * 20_000 + p("deep") + "</w:sdtContent></w:sdt>" * 20_000
    assert _text(read_bytes(docx(deep))) == "deep\n"
    tables = "<w:tbl><w:tr><w:tc>" * 3_000 + p("deep") + "</w:tc></w:tr></w:tbl>" * 3_000
    assert _text(read_bytes(docx(tables))) == "deep\n"


WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["pandoc_西游记.docx", "pandoc_MANUAL.docx", "pandoc_tables.docx"])
def test_a_place_followed_in_the_source_finds_the_words(name: str, corpus: Path) -> None:
    path = corpus / "docx" / name
    reading = read(FileSource(path))
    text = _text(reading)
    assert reading.places is not None
    with zipfile.ZipFile(path) as archive:
        parts = {part: etree.fromstring(archive.read(part)) for part in reading.places.parts}
    paragraphs = {part: list(root.iter(f"{WORD}p")) for part, root in parts.items()}
    starts = reading.places.starts
    for index in range(0, len(starts) - 1, max(1, len(starts) // 60)):
        block = text[starts[index] : starts[index + 1]].strip()
        place = reading.places.at(starts[index])
        assert place is not None
        found = "".join(node.text or "" for node in paragraphs[place.part][place.number - 1].iter(f"{WORD}t"))
        quoted = _letters(re.sub(r"\[\d+\]|^\s*(- |\d+\. )", "", block))
        is_row = len(_letters(found)) < len(quoted)  # of a table: its place is that of its first cell
        assert quoted[: len(_letters(found))] == _letters(found)
        assert is_row == (" | " in block and not found.startswith("|") and quoted != _letters(found))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


@pytest.mark.corpus
def test_the_journey_to_the_west_has_its_chapters(corpus: Path) -> None:
    reading = read(FileSource(corpus / "docx" / "pandoc_西游记.docx"))
    assert [section.kind.value for section in reading.sections] == ["front", *["chapter"] * 100]
