"""PDFs: paragraphs put together from lines, heads and notes told apart, and what can not be read said clearly."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pypdf
import pytest

from pipeline.errors import ReadError
from pipeline.read.reading import Reading
from pipeline.read.registry import read
from pipeline.read.sources import FileSource
from tests.unit.read.pdfs import column, pdf

Read = Callable[..., Reading]
FULL = "The tide went out at noon and nobody in the harbour had seen the boat since the lamp"
MORE = "was lit, and an old man on the mole said that it would be back with the flood, as it"
LAST = "had always been."


def _text(reading: Reading) -> str:
    return "".join(reading.blocks())


def test_lines_become_paragraphs_and_the_space_between_them_parts_them(read_bytes: Read) -> None:
    rows = column([FULL, MORE, LAST]) + column([FULL, LAST], top=640)
    assert _text(read_bytes(pdf([rows]), name="a.pdf")) == f"{FULL} {MORE} {LAST}\n\n{FULL} {LAST}\n"


def test_a_word_that_is_broken_at_a_lines_end_is_mended_and_a_hyphen_of_its_own_kept(read_bytes: Read) -> None:
    first = FULL.replace("the lamp", "the light-")
    second = MORE.replace("flood, as it", "grey well-")
    rows = column([first, "house " + second, "known lamp.", "", FULL, "It was well-known on the coast."])
    text = _text(read_bytes(pdf([rows])))
    assert "since the lighthouse was lit" in text
    assert "the grey well-known lamp." in text


def test_short_lines_stay_lines_and_items_of_a_list_stand_alone(read_bytes: Read) -> None:
    rows = column([FULL, LAST, "A short line,", "another one,", "- an item", "2. another", "then"])
    text = _text(read_bytes(pdf([rows])))
    assert text == f"{FULL} {LAST}\n\nA short line,\nanother one,\n- an item\n2. another\nthen\n"


def _book(pages: int) -> bytes:
    made = []
    for number in range(pages):
        head = [(72, 760, 9, f"THE FERRY {number + 10}")]
        foot = [(300, 30, 9, str(number + 1))]
        made.append([*head, *column([FULL, MORE, f"Page {number} had its end."]), *foot])
    return pdf(made)


def test_running_heads_and_page_numbers_are_left_out_and_told(read_bytes: Read) -> None:
    reading = read_bytes(_book(6))
    text = _text(reading)
    assert "THE FERRY" not in text
    assert re.findall(r"^\d+$", text, re.MULTILINE) == []
    assert text.count("had its end") == 6
    assert [warning.code for warning in reading.warnings] == ["running-heads-left-out"]
    assert "12 running heads" in reading.warnings[0].message


def test_a_sentence_that_goes_on_on_the_next_page_is_one_and_leads_to_both_pages(read_bytes: Read) -> None:
    reading = read_bytes(pdf([column([FULL, MORE]), column(["had always been there, and", LAST])]))
    text = _text(reading)
    assert f"{MORE} had always been there" in text
    assert reading.places is not None
    pages = [reading.places.at(text.index(words)) for words in ("The tide", "was lit", "had always been there")]
    assert [page.number for page in pages if page] == [1, 1, 2]


def test_small_lines_at_the_foot_that_begin_like_notes_are_kept_apart(
    read_bytes: Read, outline: Callable[[Reading], list[tuple[str, int, str]]]
) -> None:
    note = column(["1 A note on the tide."], top=100, size=7)
    page = [(72, 740, 18, "Chapter 1"), *column([FULL, MORE, LAST]), *note]
    other = [(72, 740, 18, "Chapter 2"), *column([FULL, MORE, LAST])]
    reading = read_bytes(pdf([page, other]))
    assert _text(reading).endswith("Chapter 2\n\n" + f"{FULL} {MORE} {LAST}\n\n1 A note on the tide.\n")
    assert [kind for kind, _, _ in outline(reading)] == ["chapter", "chapter", "notes"]


def test_the_outline_is_the_section_tree(
    read_bytes: Read, outline: Callable[[Reading], list[tuple[str, int, str]]], check_tree: Callable[[Reading], None]
) -> None:
    pages = [[(72, 740, 10, title), *column([FULL, MORE, LAST])] for title in ("Preface", "One", "Two")]
    reading = read_bytes(pdf(pages, [("Preface", 0), ("One", 1), ("Two", 2)], title="The Ferry"))
    assert outline(reading) == [("chapter", 1, "Preface"), ("chapter", 1, "One"), ("chapter", 1, "Two")]
    assert reading.title == "The Ferry"
    check_tree(reading)


def test_without_an_outline_larger_lines_are_headings(
    read_bytes: Read, outline: Callable[[Reading], list[tuple[str, int, str]]]
) -> None:
    body = column([FULL, MORE, LAST, FULL, MORE, LAST], top=680)
    pages = [[(72, 740, 20, f"Chapter {n}"), (72, 710, 14, "A place"), *body, *column([FULL], top=500)] for n in (1, 2)]
    assert outline(read_bytes(pdf(pages))) == [
        ("chapter", 1, "Chapter 1"),
        ("heading", 2, "A place"),
        ("chapter", 1, "Chapter 2"),
        ("heading", 2, "A place"),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pdf([[]]), r"a\.pdf is a PDF without a text layer: its page is a picture"),
        (pdf([[], [(9, 9, 9, "2")]]), "its 2 pages are pictures"),
        (b"%PDF-1.7\nnothing of one", "is a damaged PDF"),
        (pdf([column([FULL])])[:300], "is a damaged PDF|without"),
        (pdf([]), "without pages|damaged"),
    ],
)
def test_what_can_not_be_read_is_one_clear_error(data: bytes, message: str, read_bytes: Read) -> None:
    with pytest.raises(ReadError, match=message):
        read_bytes(data, name="a.pdf")


def test_pages_without_text_among_others_are_told(read_bytes: Read) -> None:
    reading = read_bytes(pdf([column([FULL, MORE]), [], column([LAST])]))
    assert [warning.message for warning in reading.warnings] == ["pages without text, which may be pictures: 2"]


@pytest.mark.corpus
def test_an_encrypted_pdf_says_so(corpus: Path) -> None:
    with pytest.raises(ReadError, match="is an encrypted PDF: it opens only with its password"):
        read(FileSource(corpus / "pdf" / "pypdf_encrypted-file.pdf"))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).replace("ﬁ", "fi").casefold()


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["fhs-3.0.pdf", "pypdf_crazyones.pdf"])
def test_a_page_followed_in_the_source_has_the_words(name: str, corpus: Path) -> None:
    path = corpus / "pdf" / name
    reading = read(FileSource(path))
    text = _text(reading)
    assert reading.places is not None
    pages = [_letters(page.extract_text()) for page in pypdf.PdfReader(path).pages]
    starts = reading.places.starts
    checked = 0
    for index in range(0, len(starts) - 1, max(1, len(starts) // 80)):
        place = reading.places.at(starts[index])
        assert place is not None
        for line in text[starts[index] : starts[index + 1]].split("\n"):
            words = [_letters(word) for word in line.split() if "-" not in word]
            assert all(word in pages[place.number - 1] for word in words), (line, place)
        checked += 1
    assert checked >= 8


@pytest.mark.corpus
def test_a_manual_has_the_sections_of_its_outline_and_no_running_heads(corpus: Path) -> None:
    path = corpus / "pdf" / "debian-reference.zh-tw.pdf"
    reading = read(FileSource(path))
    outline = pypdf.PdfReader(path).outline

    def titles(entries: list[object]) -> list[str]:
        found = []
        for entry in entries:
            found.extend(titles(entry) if isinstance(entry, list) else [" ".join(str(entry.title).split())])  # type: ignore[attr-defined]
        return found

    listed = titles(outline)
    found = [section.title for section in reading.sections if section.kind not in ("front", "contents", "notes")]
    assert len(found) >= 0.99 * len(listed)
    assert set(found) <= set(listed)
    text = _text(reading)
    assert re.findall(r"^Debian 參考手冊 [xvi\d]+$", text, re.MULTILINE) == []
    for section in reading.sections[5:60:5]:
        if section.kind == "heading":
            begin = _letters(text[section.start : section.start + 120])
            assert _letters(section.title) in begin, section.title
