"""EPUB 2 and 3: reading order, table of contents, notes, and whatever is wrong with a book."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest

from pipeline.errors import ReadError, UsageError
from pipeline.read.reading import Reading
from tests.unit.read.epubs import epub, nav, ncx, page

Read = Callable[..., Reading]
Outline = Callable[[Reading], list[tuple[str, int, str]]]

TWO = {"c1.xhtml": page("<h1>Chapter 1</h1><p>One.</p>"), "c2.xhtml": page("<h1>Chapter 2</h1><p>Two.</p>")}


def _text(reading: Reading) -> str:
    return "".join(reading.blocks())


def _codes(reading: Reading) -> list[str]:
    return [warning.code for warning in reading.warnings]


def test_a_book_says_its_title_authors_and_language(read_bytes: Read, check_tree: Callable[[Reading], None]) -> None:
    reading = read_bytes(epub(TWO, nav("One|c1.xhtml", "Two|c2.xhtml")), name="a.epub")
    assert (reading.title, reading.authors, reading.language) == ("The Ferry", ("A. Writer",), "en")
    assert _text(reading) == "Chapter 1\n\nOne.\n\nChapter 2\n\nTwo.\n"
    assert reading.warnings == ()
    check_tree(reading)


@pytest.mark.parametrize("version", [2, 3])
def test_the_sections_are_the_books_own_table_of_contents(version: int, read_bytes: Read, outline: Outline) -> None:
    entries = ("Part One|c1.xhtml", ">Chapter 1|c1.xhtml#a", ">>A place|c1.xhtml#b", "Part Two|", ">Chapter 2|c2.xhtml")
    pages = {
        "c1.xhtml": page("<h1>Part One</h1><p>Of it.</p><h2 id='a'>Chapter 1</h2><p>x</p><p id='b'>y</p>"),
        "c2.xhtml": page("<h2>Chapter 2</h2><p>z</p>"),
    }
    contents = {"contents": nav(*entries)} if version == 3 else {"toc_ncx": ncx(*entries)}
    reading = read_bytes(epub(pages, **contents))
    assert outline(reading) == [
        ("volume", 1, "Part One"),
        ("chapter", 2, "Chapter 1"),
        ("heading", 3, "A place"),
        ("volume", 1, "Part Two"),
        ("chapter", 2, "Chapter 2"),
    ]
    own = {section.title: _text(reading)[section.start : section.end] for section in reading.sections}
    assert own["A place"] == "y\n\n"
    assert own["Part Two"] == own["Chapter 2"] == "Chapter 2\n\nz\n"


def test_an_anchor_within_a_line_or_behind_the_text_finds_its_place(read_bytes: Read, outline: Outline) -> None:
    body = "<p>Chapter 1<br/>text<br/><a id='two'/>Chapter 2<br/>more</p><p>end<a id='three'/></p><p>Chapter 3</p>"
    contents = nav("One|c.xhtml", "Two|c.xhtml#two", "Three|c.xhtml#three")
    reading = read_bytes(epub({"c.xhtml": page(body)}, contents))
    parts = [_text(reading)[section.start : section.end] for section in reading.sections]
    assert parts == ["Chapter 1\ntext\n", "Chapter 2\nmore\n\nend\n\n", "Chapter 3\n"]


def test_one_file_in_several_places_of_the_spine_is_read_once(read_bytes: Read) -> None:
    spine = '<itemref idref="i0"/><itemref idref="i1"/><itemref idref="i0"/>'
    assert _text(read_bytes(epub(TWO, spine=spine))).count("Chapter 1") == 1


def test_the_spine_and_not_the_manifest_is_the_reading_order(read_bytes: Read) -> None:
    text = _text(read_bytes(epub(TWO, spine='<itemref idref="i1"/><itemref idref="i0" linear="no"/>')))
    assert text.index("Chapter 2") < text.index("Chapter 1")


def test_a_navigation_document_in_the_spine_is_a_table_of_contents(read_bytes: Read, outline: Outline) -> None:
    spine = '<itemref idref="nav"/><itemref idref="i0"/><itemref idref="i1"/>'
    reading = read_bytes(epub(TWO, nav("One|c1.xhtml", "Two|c2.xhtml"), spine=spine))
    assert [kind for kind, _, _ in outline(reading)] == ["contents", "chapter", "chapter"]


def test_a_title_page_is_no_chapter(read_bytes: Read, outline: Outline) -> None:
    pages = {"title.xhtml": page("<h1>The Ferry</h1>"), **TWO}
    reading = read_bytes(epub(pages, nav("The Ferry|title.xhtml", "One|c1.xhtml", "Two|c2.xhtml")))
    assert [kind for kind, _, _ in outline(reading)] == ["front", "chapter", "chapter"]


def test_notes_stand_behind_the_chapter_even_when_it_goes_on_in_another_file(
    read_bytes: Read, outline: Outline, check_tree: Callable[[Reading], None]
) -> None:
    pages = {
        "a.xhtml": page("<h1>One</h1><p>x<a epub:type='noteref' href='#n'>1</a></p>"
                        "<aside epub:type='footnote' id='n'><p>Note.</p></aside>"),
        "b.xhtml": page("<p>goes on</p>"),
        "c.xhtml": page("<h1>Two</h1><p>y</p>"),
    }  # fmt: skip
    reading = read_bytes(epub(pages, nav("One|a.xhtml", "Two|c.xhtml")))
    assert _text(reading) == "One\n\nx[1]\n\ngoes on\n\nNote.\n\nTwo\n\ny\n"
    assert outline(reading) == [("chapter", 1, "One"), ("notes", 2, "Notes"), ("chapter", 1, "Two")]
    check_tree(reading)


def test_a_file_of_endnotes_is_a_section_of_notes(read_bytes: Read, outline: Outline) -> None:
    pages = {**TWO, "end.xhtml": page("<section role='doc-endnotes'><h1>Endnotes</h1><ol><li>x</li></ol></section>")}
    reading = read_bytes(epub(pages, nav("One|c1.xhtml", "Two|c2.xhtml", "Endnotes|end.xhtml")))
    assert outline(reading)[2] == ("notes", 1, "Endnotes")


def test_without_a_table_of_contents_headings_are_the_sections(read_bytes: Read, outline: Outline) -> None:
    assert [title for _, _, title in outline(read_bytes(epub(TWO)))] == ["Chapter 1", "Chapter 2"]


def test_without_headings_either_each_file_is_a_section(read_bytes: Read, outline: Outline) -> None:
    pages = {"a.xhtml": page("<p>x</p>", title="First"), "b.xhtml": page("<p>y</p>", title="Second")}
    assert [title for _, _, title in outline(read_bytes(epub(pages)))] == ["First", "Second"]


@pytest.mark.parametrize(
    ("contents", "codes"),
    [
        (nav("One|c1.xhtml", "Gone|gone.xhtml", "Two|c2.xhtml"), ["contents-broken"]),
        (nav("One|c1.xhtml", "Two|c2.xhtml#no-such-id"), []),
        (nav("Two|c2.xhtml", "One|c1.xhtml"), ["contents-out-of-order"]),
        (nav("One|c1.xhtml", "Again|c1.xhtml", "Two|c2.xhtml"), ["section-empty"]),
        (nav("One|c1.xhtml", "Out|../../../etc/passwd", "Two|c2.xhtml"), ["contents-broken"]),
        (nav("One|c1.xhtml", "Web|http://x.invalid/c1.xhtml", "Two|c2.xhtml"), ["contents-broken"]),
    ],
)
def test_entries_that_lead_nowhere_are_told_and_the_others_hold(
    contents: str, codes: list[str], read_bytes: Read, check_tree: Callable[[Reading], None], outline: Outline
) -> None:
    reading = read_bytes(epub(TWO, contents))
    assert _codes(reading) == codes
    assert [title for _, _, title in outline(reading)] == ["One", "Two"]
    check_tree(reading)


@pytest.mark.parametrize(
    ("spine", "code"),
    [
        ('<itemref idref="i0"/><itemref idref="nobody"/>', "spine-unknown"),
        ('<itemref idref="i0"/><itemref idref="gone"/>', "spine-missing"),
        ('<itemref idref="i0"/><itemref idref="out"/>', "spine-outside"),
        ('<itemref idref="i0"/><itemref idref="web"/>', "spine-outside"),
        ('<itemref idref="i0"/><itemref idref="pic"/>', "spine-not-text"),
        ('<itemref idref="i0"/><itemref idref="i1" properties="rendition:layout-pre-paginated"/>', "fixed-layout"),
        ('<itemref idref="i0"/><itemref idref="cover"/>', "image-only"),
    ],
)
def test_items_that_can_not_be_read_are_told(spine: str, code: str, read_bytes: Read) -> None:
    kind = 'media-type="application/xhtml+xml"'
    manifest = (
        f'<item id="gone" href="gone.xhtml" {kind}/><item id="out" href="../../etc/hostname" {kind}/>'
        f'<item id="web" href="http://x.invalid/y" {kind}/><item id="pic" href="a.png" media-type="image/png"/>'
        f'<item id="cover" href="cover.xhtml" {kind}/>'
    )
    more = {"a.png": b"\x89PNG", "cover.xhtml": page("<img src='a.png' alt='Cover'/>")}
    reading = read_bytes(epub(TWO, spine=spine, manifest=manifest, more=more))
    assert _codes(reading) == [code]
    assert "Chapter 1" in _text(reading)


def test_a_fallback_is_read_where_an_item_is_no_page(read_bytes: Read) -> None:
    manifest = (
        '<item id="a" href="a.bin" media-type="application/x-demo" fallback="b"/>'
        '<item id="b" href="b.bin" media-type="application/x-demo" fallback="i0"/>'
        '<item id="loop" href="l.bin" media-type="application/x-demo" fallback="loop"/>'
    )
    reading = read_bytes(epub(TWO, spine='<itemref idref="a"/><itemref idref="loop"/>', manifest=manifest))
    assert _text(reading) == "Chapter 1\n\nOne.\n"
    assert _codes(reading) == ["spine-not-text"]


ENCRYPTION = (
    '<encryption xmlns:enc="x"><enc:EncryptedData><enc:EncryptionMethod Algorithm="{how}"/><enc:CipherData>'
    '<enc:CipherReference URI="{what}"/></enc:CipherData></enc:EncryptedData></encryption>'
)


def test_a_protected_book_is_an_error_that_says_so(read_bytes: Read) -> None:
    how = ENCRYPTION.format(how="http://www.w3.org/2001/04/xmlenc#aes128-cbc", what="OPS/c1.xhtml")
    with pytest.raises(ReadError, match=r"a\.epub is protected by DRM: 1 of its 2 texts are encrypted"):
        read_bytes(epub(TWO, more={"/META-INF/encryption.xml": how}), name="a.epub")


def test_fonts_that_are_obfuscated_protect_no_text(read_bytes: Read) -> None:
    how = ENCRYPTION.format(how="http://www.idpf.org/2008/embedding", what="OPS/c1.xhtml")
    assert "Chapter 1" in _text(read_bytes(epub(TWO, more={"/META-INF/encryption.xml": how})))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (epub({}), "has no reading order"),
        (epub({"a.xhtml": page("<img src='x'/>")}), "has no text: pages hold nothing but pictures"),
        (epub({"a.xhtml": page("")}), "has no text: its pages hold nothing to read"),
        (epub({"a.xhtml": b""}), "has no text"),
        (epub({"a.xhtml": b"\x00\x01\x02\x03\xff\xfe" * 500}), "has no text"),
        (epub({"a.xhtml": bytes(9 << 20)}), "it is a ZIP bomb"),
    ],
)
def test_a_book_that_can_not_be_read_is_one_clear_error(data: bytes, message: str, read_bytes: Read) -> None:
    with pytest.raises(ReadError) as caught:
        read_bytes(data, name="a.epub")
    assert caught.value.message.startswith("a.epub")
    assert message in caught.value.message


def _without(data: bytes, name: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info, old.read(info))
    return target.getvalue()


def test_a_container_file_that_is_missing_is_done_without(read_bytes: Read) -> None:
    for name in ("mimetype", "META-INF/container.xml"):
        assert "Chapter 2" in _text(read_bytes(_without(epub(TWO), name), name="a.epub"))
    with pytest.raises(ReadError, match="without a package document"):
        read_bytes(_without(epub(TWO), "OPS/p.opf"), name="a.epub")


def test_entities_and_externals_of_any_file_are_neither_expanded_nor_fetched(read_bytes: Read) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;"><!ENTITY c SYSTEM "file:///etc/hostname">]>'
    pages = {name: source.replace("?>", f"?>{bomb}").replace("One", "&b;&c;") for name, source in TWO.items()}
    contents = nav("One &b;|c1.xhtml", "Two|c2.xhtml").replace("?>", f"?>{bomb}")
    reading = read_bytes(epub(pages, contents, metadata="<dc:title>&c;</dc:title>"))
    assert _text(reading) == "Chapter 1\n\n&b;&c;.\n\nChapter 2\n\nTwo.\n"
    assert reading.title == "&c;"


def test_each_page_is_in_the_encoding_that_it_says_or_shows(read_bytes: Read) -> None:
    declared = page("<p>潮水在中午退去。</p>").replace("utf-8", "GB18030").encode("gb18030")
    wrong = page("<p>第一章</p>").encode("gb18030")
    reading = read_bytes(epub({"a.xhtml": declared, "b.xhtml": wrong}))
    assert _text(reading) == "潮水在中午退去。\n\n第一章\n"
    assert _codes(reading) == ["encoding-declared-wrong"]


def test_an_encoding_that_was_asked_for_is_for_pages_that_are_not_what_they_say(read_bytes: Read) -> None:
    pages = {"a.xhtml": page("<p>Вода</p>").encode("koi8-r"), "b.xhtml": page("<p>潮水</p>")}
    assert _text(read_bytes(epub(pages), encoding="koi8-r")) == "Вода\n\n潮水\n"
    with pytest.raises(UsageError):
        read_bytes(epub(pages), encoding="no-such")


def test_a_deep_and_a_broad_table_of_contents_cost_no_recursion(
    read_bytes: Read, check_tree: Callable[[Reading], None]
) -> None:
    deep = nav(*(f"{'>' * level}Level {level}|c1.xhtml" for level in range(1200)), "End|c2.xhtml")
    reading = read_bytes(epub(TWO, deep))
    assert len(reading.sections) == 1201
    check_tree(reading)
    body = "".join(f"<h2 id='c{n}'>Chapter {n}</h2><p>text {n}</p>" for n in range(5000))
    broad = nav(*(f"Chapter {n}|all.xhtml#c{n}" for n in range(5000)))
    reading = read_bytes(epub({"all.xhtml": page(body)}, broad))
    assert len(reading.sections) == 5000
    check_tree(reading)
