"""HTML as a person reads it: what is text, what is left out, how blocks, tables, lists and notes come out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from pipeline.errors import ReadError
from pipeline.read.html_flow import read_page
from pipeline.read.html_tokens import tokens, unescape
from pipeline.read.reading import Reading
from pipeline.read.registry import read
from pipeline.read.sources import FileSource

Read = Callable[..., Reading]


def _text(reading: Reading) -> str:
    return "".join(reading.blocks())


def _of(body: str, read_bytes: Read) -> str:
    return _text(read_bytes(f"<!doctype html><title>T</title>{body}", name="page.html"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>one\n   two</p><p>three", "one two\n\nthree\n"),
        ("a<br>b<br/>c", "a\nb\nc\n"),
        ("<div>a</div><div>b</div>", "a\nb\n"),
        ("<p>潮水在中午\n退去。</p>", "潮水在中午退去。\n"),
        ("<p>Tom &amp; Bell &lt;3 &mdash; caf&eacute; &#x41;&#66;</p>", "Tom & Bell <3 — café AB\n"),
        ("<p>a &j; b &#0; &#xD800; &#99999999999; c", "a &j; b � � � c\n"),
        ("<p>soft\u00adhyphen", "softhyphen\n"),
        ("<h1>Title</h1>text", "Title\n\ntext\n"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d\n"),
        ("<ol start=3><li>a<li value=9>b<li>c</ol>", "3. a\n9. b\n10. c\n"),
        ("<ol><li><p>a</p></li><li><p>b</p></li></ol>", "1. a\n2. b\n"),
        ("<dl><dt>term<dd>meaning</dl>", "term\nmeaning\n"),
        ("<table><tr><th>a<th>b<tr><td>1<td><p>2</p></table>", "a | b\n1 | 2\n"),
        ("<table><tr><td>a</td><td></td><td>c</td></tr></table>x", "a |  | c\n\nx\n"),
        ("<table><tr><td><table><tr><td>in<td>side</table><td>out</table>", "in | side | out\n"),
        ("<pre>\n  keep\n    this\n</pre>after", "  keep\n    this\n\nafter\n"),
        ("<p>E = mc<sup>2</sup>, H<sub>2</sub>O, the 1<sup>st</sup>", "E = mc², H₂O, the 1st\n"),
        ("<p>word<sup><a href='#n1'>1</a></sup> and<a href='#n2'><sup>2</sup></a>", "word[1] and[2]\n"),
        ("<p>see <a href='#x'>Chapter 5</a>", "see Chapter 5\n"),
        ("<ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>", "漢（かん）字（じ）\n"),
        ("<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>", "漢字（かんじ）\n"),
        ("<p>before <q>said</q> after", "before “said” after\n"),
        ("<p>a<img src=x alt='a lamp'>b<img src=y alt=''>c", "a [a lamp] bc\n"),
        ("<p>a<hr>b", "a\n\n* * *\n\nb\n"),
        ("<script>var x = '<p>no</p>';</script><style>p{}</style>yes", "yes\n"),
        ("<p hidden>no<p style='color:red; display: none'>no</p><p>yes", "yes\n"),
        ("<p>x <math alttext='x+1'><mi>x</mi><mo>+</mo></math> y", "x x+1 y\n"),
        ("<p>a<svg><title>no</title><text>label</text></svg>b", "alabel b\n"),
        ("<p>a<p>b</b></p></i>c", "a\n\nb\n\nc\n"),
        ("<h2>Title</h3>text", "Title\n\ntext\n"),
        ("<p>1 < 2 and 3 <4", "1 < 2 and 3 <4\n"),
        ("<!-- no --><p>yes<!-- no --></p><!-->yes too", "yes\n\nyes too\n"),
        ("<p ==x =y title=it's class>yes", "yes\n"),
        ("yes<p class='cut", "yes\n"),
        ("<a name=x>one<a name=y>two", "onetwo\n"),
    ],
)  # fmt: skip
def test_a_page_reads_as_a_browser_shows_it(body: str, text: str, read_bytes: Read) -> None:
    assert _of(body, read_bytes) == text


@pytest.mark.parametrize(
    "around",
    [
        "<nav>NO</nav><main>{}</main><footer>NO</footer>",
        "<div role=navigation>NO</div><header>NO</header>{}<aside>NO</aside>",
        "<nav><ul><li>NO</ul></nav><article><header>{}</header></article>",
        "<div>NO</div><div role='main'>{}<nav>NO</nav></div>",
        "<template>NO</template><select><option>NO</select><button>NO</button><noscript>NO</noscript>{}",
        "<h1>yes <a class='headerlink' href='#x'>NO</a></h1>",
    ],
)
def test_what_stands_around_the_main_text_is_left_out(around: str, read_bytes: Read) -> None:
    text = _of(around.format("yes"), read_bytes)
    assert text.strip() == "yes"


def test_a_page_that_is_nothing_but_navigation_is_read_all_the_same(read_bytes: Read) -> None:
    assert _of("<nav><p>The only words</p></nav>", read_bytes) == "The only words\n"


def test_what_was_left_out_is_told(read_bytes: Read) -> None:
    reading = read_bytes("<html><nav>1234567890</nav><main>text</main>", name="a.html")
    assert [(warning.code, "10 characters" in warning.message) for warning in reading.warnings] == [
        ("navigation-left-out", True)
    ]


def test_headings_are_sections_and_chapters_where_they_say_so(
    read_bytes: Read, outline: Callable[..., object], check_tree: Callable[[Reading], None]
) -> None:
    page = (
        "<html><body>front<h1>The Ferry</h1><h2>Chapter 1</h2>a<h2>Chapter 2</h2>b<h3>A place</h3>c<h2>Contents</h2>d"
    )
    reading = read_bytes(page)
    assert outline(reading) == [
        ("front", 1, "front"),
        ("heading", 1, "The Ferry"),
        ("chapter", 2, "Chapter 1"),
        ("chapter", 2, "Chapter 2"),
        ("heading", 3, "A place"),
        ("contents", 2, "Contents"),
    ]
    check_tree(reading)


def test_a_page_without_headings_has_the_chapters_of_its_lines(
    read_bytes: Read, outline: Callable[..., object]
) -> None:
    body = "".join(f"<p>Chapter {number}</p><p>{'text of the chapter. ' * 20}</p>" for number in range(1, 4))
    assert outline(read_bytes(f"<html>{body}")) == [("chapter", 1, f"Chapter {number}") for number in range(1, 4)]


def test_notes_are_kept_apart_behind_the_text(read_bytes: Read, check_tree: Callable[[Reading], None]) -> None:
    reading = read_bytes(
        "<html><h1>A</h1><p>word<a href='#n' role='doc-noteref'>1</a></p>"
        "<aside id='n' role='doc-footnote'><p>The note.</p></aside><p>more</p>"
    )
    assert _text(reading) == "A\n\nword[1]\n\nmore\n\nThe note.\n"
    assert [(section.kind.value, section.title) for section in reading.sections] == [
        ("heading", "A"),
        ("notes", "Notes"),
    ]
    check_tree(reading)


def test_licence_blocks_of_project_gutenberg_are_boilerplate(read_bytes: Read) -> None:
    body = "".join(f"<h2>CHAPTER {n}</h2><p>{'words of it. ' * 30}</p>" for n in range(1, 5))
    reading = read_bytes(
        f"<html><pre>Title: The Ferry\n\n*** START OF THIS PROJECT GUTENBERG EBOOK THE FERRY ***</pre>{body}"
        "<pre>*** END OF THIS PROJECT GUTENBERG EBOOK THE FERRY ***\nlicence</pre>"
    )
    kinds = [section.kind.value for section in reading.sections]
    assert kinds == ["boilerplate", *["chapter"] * 4, "boilerplate"]


@pytest.mark.parametrize("body", ["", "   \n", "<p>&nbsp;</p>", "<script>x</script>", "<!-- all -->", "<img src=x>"])
def test_a_page_without_text_is_an_error_that_says_so(body: str, read_bytes: Read) -> None:
    with pytest.raises(ReadError, match=r"page\.html is empty"):
        read_bytes(f"<html>{body}", name="page.html")


PAGE = '<html><head><meta charset="{label}"><title>T</title></head><body><p>{text}</p></body></html>'
CHINESE, RUSSIAN, FRENCH = (
    "潮水在中午退去，港口里没有人看见那条船。",
    "Вода ушла в полдень, и никто не видел лодки.",
    "Une fenêtre ouverte à l’été",
)


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (PAGE.format(label="utf-8", text=CHINESE).encode(), CHINESE, "utf-8"),
        (PAGE.format(label="gb2312", text=CHINESE).encode("gb18030"), CHINESE, "gb18030"),
        (PAGE.format(label="utf-8", text=CHINESE).encode("gb18030"), CHINESE, "gb18030"),
        (PAGE.format(label="windows-1251", text=RUSSIAN).encode("cp1251"), RUSSIAN, "cp1251"),
        (PAGE.format(label="iso-8859-1", text=FRENCH).encode("cp1252"), FRENCH, "cp1252"),
        (PAGE.format(label="iso-8859-1", text=FRENCH).encode(), FRENCH, "utf-8"),
        (PAGE.format(label="no-such-thing", text=CHINESE).encode(), CHINESE, "utf-8"),
        (PAGE.format(label="koi8-r", text=RUSSIAN).encode("utf-16"), RUSSIAN, "utf-16-le"),
        (PAGE.format(label="latin-1", text=CHINESE).encode("utf-8-sig"), CHINESE, "utf-8"),
        (f"<?xml version='1.0' encoding='GB18030'?><html><p>{CHINESE}</p>".encode("gb18030"), CHINESE, "gb18030"),
        (f"<html><p>{RUSSIAN * 5}".encode("koi8-r"), RUSSIAN * 5, "koi8-r"),
    ],
)  # fmt: skip
def test_the_encoding_is_what_the_page_says_unless_the_bytes_say_otherwise(
    data: bytes, text: str, encoding: str, read_bytes: Read
) -> None:
    reading = read_bytes(data, name="a.html")
    assert _text(reading).strip() == text
    assert reading.encoding == encoding


def test_an_encoding_that_was_asked_for_goes_before_what_the_page_says(read_bytes: Read) -> None:
    data = PAGE.format(label="windows-1251", text=RUSSIAN).encode("koi8-r")
    assert RUSSIAN in _text(read_bytes(data, name="a.html", encoding="koi8-r"))


def test_line_ends_of_any_kind_give_the_same_text_and_lines(read_bytes: Read) -> None:
    page = "<html>\n<h1>A</h1>\n<p>one\ntwo</p>\n<pre>\na\nb</pre>"
    readings = [read_bytes(page.replace("\n", end), name="a.html") for end in ("\n", "\r\n", "\r")]
    assert len({reading.text_sha256 for reading in readings}) == 1
    for reading in readings:
        assert reading.places is not None
        assert list(reading.places.numbers) == [2, 3, 6]


# Time that grows with the square of the size would take minutes for each of these.
HOSTILE: dict[str, Callable[[int], str]] = {
    "nested": lambda n: "<div>" * n + "deep" + "</div>" * n,
    "never closed": lambda n: "<div><p><b><span>" * (n // 4) + "deep",
    "never opened": lambda n: "</div></p></b></td></table>" * (n // 4) + "text",
    "tables": lambda n: "<table><tr><td>" * (n // 4) + "deep",
    "cells": lambda n: "<table><tr>" + "<td>x" * n,
    "lists": lambda n: "<ul><li>" * (n // 4) + "deep",
    "links": lambda n: "<a href='#x'>" * n + "deep",
    "blocks in inline elements": lambda n: "<b>" * (n // 4) + "<p>x</b>" * (n // 4),
    "open paragraphs": lambda n: "<p><i>" * (n // 2) + "x",
    "attributes": lambda n: "<p " + "".join(f"a{each}='{each}' " for each in range(n)) + ">text",
    "one attribute": lambda n: "<p a=" + "x" * (20 * n) + ">text",
    "unclosed quotes": lambda n: "<p a=\"'" * n + ">text",
    "comments": lambda n: "text" + "<!--" * n,
    "angles": lambda n: "<" * n,
    "tag openers": lambda n: "x<a " * n,
    "declarations": lambda n: "text<!DOCTYPE [" * n,
    "references": lambda n: "&" * n + "&#" + "9" * n,
    "anchors": lambda n: "<p>x" + "<a id=x>" * n + "y",
    "superscripts": lambda n: "<sup>" * n + "1",
    "notes": lambda n: "<aside role=doc-footnote>" * (n // 4) + "x",
    "rows of one table": lambda n: "<table>" + "<tr><td>a<td>b" * (n // 2) + "</table>",
    "headings": lambda n: "<h1>" * n + "x",
    "titles": lambda n: "<title>" * n + "</title>x",
}  # fmt: skip


@pytest.mark.parametrize("size", [8_000, pytest.param(200_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("xml", [False, True], ids=["html", "xhtml"])
def test_hostile_markup_costs_time_in_proportion_to_its_size_and_no_recursion(kind: str, xml: bool, size: int) -> None:
    page = read_page(HOSTILE[kind](size), xml=xml, is_book=xml)
    assert sum(len(block.text) for block in page.blocks) < 50 * size


def test_references_are_those_of_html_whatever_is_declared() -> None:
    source = '<!DOCTYPE html [<!ENTITY a "bomb"><!ENTITY b SYSTEM "file:///etc/hostname">]><p>&a;&b;&amp;</p>'
    assert [token.text for token in tokens(source, xml=True) if token.text] == ["&a;&b;&"]
    assert unescape("&#" + "1" * 5000 + ";") == "�"


def test_cdata_and_empty_elements_are_those_of_xml_only_in_xhtml() -> None:
    source = "<p><![CDATA[<b>&amp;]]></p><p/><script/>text<title/>more"
    page = read_page(source, xml=True, is_book=True)
    assert [block.text for block in page.blocks] == ["<b>&amp;", "textmore"]


_WORDS = re.compile(r"\w+")


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["anarchist-faq_secI4.html", "moby-dick_pg2701_single-page.htm"])
def test_no_word_of_a_real_page_is_lost_and_none_invented(name: str, corpus: Path) -> None:
    path = corpus / "html" / name
    reading = read(FileSource(path))
    tree = etree.fromstring(path.read_bytes(), etree.HTMLParser(encoding="utf-8", huge_tree=True))
    etree.strip_elements(tree, "script", "style", "head", etree.Comment, with_tail=False)
    for image in tree.iter("img"):
        image.text = f" {image.get('alt', '')} "
    for element in tree.iter():  # words of neighbouring blocks are words of their own
        element.tail = (element.tail or "") + (" " if element.tag not in ("a", "i", "b", "em", "span", "sup") else "")
        element.text = (" " if element.tag in ("p", "li", "br", "td", "h2", "div") else "") + (element.text or "")
    theirs = Counter(_WORDS.findall("".join(tree.itertext())))
    ours = Counter(_WORDS.findall(_text(reading)))
    different = sum(((theirs - ours) + (ours - theirs)).values())
    assert different <= len(theirs) * 0.001
