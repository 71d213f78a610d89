"""The section tree of plain text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.read.reading import Reading

Read = Callable[..., Reading]
Outline = Callable[[Reading], list[tuple[str, int, str]]]

BODY = "The tide went out at noon, and nobody in the harbour had seen the boat. " * 8
PLAIN = f"\n\n{BODY}\n\n"
POEM = "潮水在中午退去，港口里没有人看见那条船。" * 12


def _chapters(reading: Reading) -> list[str]:
    return [section.title for section in reading.sections if section.kind.value == "chapter"]


def _codes(reading: Reading) -> list[tuple[str, int | None]]:
    return [(warning.code, warning.line) for warning in reading.warnings]


def test_chapters_are_level_one_without_volumes_and_the_text_before_them_is_front(
    read_bytes: Read, outline: Outline
) -> None:
    reading = read_bytes(f"The Harbour\nby Nobody\n\nChapter 1. Ebb{PLAIN}Chapter 2. Flood{PLAIN}")
    assert outline(reading) == [
        ("front", 1, "The Harbour"),
        ("chapter", 1, "Chapter 1. Ebb"),
        ("chapter", 1, "Chapter 2. Flood"),
    ]


def test_chapters_that_restart_in_each_book_stand_under_it(read_bytes: Read, outline: Outline) -> None:
    book = f"BOOK {{}}\n\nCHAPTER I{PLAIN}CHAPTER II{PLAIN}"
    reading = read_bytes(book.format("ONE: 1805") + book.format("TWO: 1806"))
    assert outline(reading) == [
        ("volume", 1, "BOOK ONE: 1805"),
        ("chapter", 2, "CHAPTER I"),
        ("chapter", 2, "CHAPTER II"),
        ("volume", 1, "BOOK TWO: 1806"),
        ("chapter", 2, "CHAPTER I"),
        ("chapter", 2, "CHAPTER II"),
    ]
    assert [section.parent for section in reading.sections] == [None, 0, 0, None, 3, 3]
    assert not reading.warnings


def test_a_volume_on_the_line_of_its_first_chapter_is_opened_once(read_bytes: Read, outline: Outline) -> None:
    reading = read_bytes(
        f"第一卷 港 第一章 潮\n\n{POEM}\n\n第一卷 港 第二章 灯\n\n{POEM}\n\n第二卷 海 第三章 雾\n\n{POEM}\n"
    )
    assert [(kind, level) for kind, level, _ in outline(reading)] == [
        ("volume", 1),
        ("chapter", 2),
        ("chapter", 2),
        ("volume", 1),
        ("chapter", 2),
    ]


def test_an_epilogue_with_chapters_of_its_own_is_a_volume(read_bytes: Read, outline: Outline) -> None:
    reading = read_bytes(f"BOOK ONE\n\nCHAPTER I{PLAIN}CHAPTER II{PLAIN}EPILOGUE\n\nCHAPTER I{PLAIN}")
    assert outline(reading)[3:] == [("volume", 1, "EPILOGUE"), ("chapter", 2, "CHAPTER I")]


def test_books_without_chapters_are_chapters(read_bytes: Read, outline: Outline) -> None:
    reading = read_bytes(f"BOOK I{PLAIN}BOOK II{PLAIN}")
    assert [kind for kind, _, _ in outline(reading)] == ["chapter", "chapter"]


def test_a_table_of_contents_is_one_section_and_no_chapters(read_bytes: Read, outline: Outline) -> None:
    heads = ["PREFACE", "CHAPTER 1. Ebb", "CHAPTER 2. Flood", "CHAPTER 3. Slack", "Epilogue"]
    listed, body = "\n\n".join(heads), "".join(head + PLAIN for head in heads)
    reading = read_bytes(f"THE HARBOUR\n\nCONTENTS\n\n{listed}\n\nA note on the text: none was lost.\n\n{body}")
    assert outline(reading) == [
        ("front", 1, "THE HARBOUR"),
        ("contents", 1, "CONTENTS"),
        ("front", 1, "A note on the text: none was lost."),
        *[("chapter", 1, head) for head in heads],
    ]


def test_a_table_of_contents_with_page_numbers_and_no_word_for_it_is_found(read_bytes: Read, outline: Outline) -> None:
    heads = [f"Chapter {number}: Of Tides" for number in range(1, 6)]
    listed = "\n".join(f"{head} ........ {number * 9}" for number, head in enumerate(heads, 1))
    reading = read_bytes(f"{listed}\n\n{''.join(head + PLAIN for head in heads)}")
    assert [kind for kind, _, _ in outline(reading)] == ["contents", *["chapter"] * 5]


def test_a_chinese_table_of_contents_with_volumes_is_found(read_bytes: Read, outline: Outline) -> None:
    heads = ["第一卷 港", "第一章 潮", "第二章 灯", "第二卷 海", "第一章 雾", "第二章 岸"]
    body = "".join(head + "\n\n" + ("" if "卷" in head else POEM + "\n\n") for head in heads)
    reading = read_bytes("目录\n" + "\n".join(heads) + "\n\n" + body)
    assert [kind for kind, _, _ in outline(reading)] == [
        "contents", "volume", "chapter", "chapter", "volume", "chapter", "chapter",
    ]  # fmt: skip


def test_chapters_with_no_text_are_not_taken_for_contents(read_bytes: Read) -> None:
    reading = read_bytes("Chapter 1\n\n\n\nChapter 2\n\n\n\nChapter 3\n\n\nEnd.\n")
    assert _chapters(reading) == ["Chapter 1", "Chapter 2", "Chapter 3"]


def test_a_licence_before_and_behind_the_book_is_boilerplate(read_bytes: Read, outline: Outline) -> None:
    reading = read_bytes(
        "The Project Gutenberg EBook of Harbour\n\nTitle: The Harbour;\n  or, Ebb and Flood\n\n"
        "*** START OF THIS PROJECT GUTENBERG EBOOK HARBOUR ***\n\n"
        f"Chapter 1{PLAIN}Chapter 2{PLAIN}"
        "End of the Project Gutenberg EBook of Harbour\n\n"
        "*** END OF THIS PROJECT GUTENBERG EBOOK HARBOUR ***\n\nChapter 1. Terms\n"
    )
    assert reading.title == "The Harbour; or, Ebb and Flood"
    assert outline(reading) == [
        ("boilerplate", 1, "The Project Gutenberg EBook of Harbour"),
        ("chapter", 1, "Chapter 1"),
        ("chapter", 1, "Chapter 2"),
        ("boilerplate", 1, "End of the Project Gutenberg EBook of Harbour"),
    ]


def test_the_small_print_of_old_etexts_is_boilerplate(read_bytes: Read, outline: Outline) -> None:
    reading = read_bytes(
        "**The Etext of Harbour**\n***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***\nWHY?\n"
        f"*END THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n\n\nHARBOUR\n\nCHAPTER 1{PLAIN}"
    )
    assert outline(reading) == [
        ("boilerplate", 1, "**The Etext of Harbour**"),
        ("front", 1, "HARBOUR"),
        ("chapter", 1, "CHAPTER 1"),
    ]


def test_two_books_in_one_file_keep_their_own_licences(read_bytes: Read, outline: Outline) -> None:
    book = (
        "*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\nChapter 1"
        + PLAIN
        + "*** END OF THE PROJECT GUTENBERG EBOOK X ***\n"
    )
    reading = read_bytes(f"Header\n{book}More header\n{book}Licence\n")
    assert [kind for kind, _, _ in outline(reading)] == [
        "boilerplate", "chapter", "boilerplate", "chapter", "boilerplate",
    ]  # fmt: skip


def test_prose_that_begins_like_a_heading_is_none(read_bytes: Read) -> None:
    reading = read_bytes(
        f"Chapter 1{PLAIN}It is written in\nChapter 7\nof the harbour book.\n\n"
        f"    Chapter 9 (as quoted)\n\n第四回中老人又说起那条船\n\n{BODY}\n\nChapter 2{PLAIN}"
    )
    assert _chapters(reading) == ["Chapter 1", "Chapter 2"]


def test_a_wrapped_title_is_one_title(read_bytes: Read) -> None:
    title = "CHAPTER 2. Of Boats on Paper; in Teeth; in Wood; in Sheet-Iron; in"
    reading = read_bytes(f"CHAPTER 1. Ebb{PLAIN}{title}\nStone; in Stars.{PLAIN}")
    assert _chapters(reading) == ["CHAPTER 1. Ebb", f"{title} Stone; in Stars."]


def test_titles_below_bare_chapter_lines_belong_to_them(read_bytes: Read) -> None:
    titles = ["The Mole.", "Postscript.", "A Lamp is Lit.", "Slack Water."]
    text = "".join(f"CHAPTER {number}\n\n{title}{PLAIN}" for number, title in enumerate(titles, 1))
    assert _chapters(read_bytes(text)) == [f"CHAPTER {number} {title}" for number, title in enumerate(titles, 1)]


def test_chapters_without_blank_lines_are_found(read_bytes: Read) -> None:
    text = "".join(f"第{number}章 潮汐{number}\n　　{POEM}\n　　{POEM}\n" for number in range(1, 5))
    assert len(_chapters(read_bytes(text))) == 4


def test_numbers_alone_are_chapters_when_they_count_up(read_bytes: Read) -> None:
    text = "".join(f"{numeral}\n\n　　{POEM * length}\n\n" for length, numeral in enumerate("一二三四五", 1))
    assert _chapters(read_bytes(text)) == list("一二三四五")


def test_page_numbers_are_no_chapters(read_bytes: Read) -> None:
    pages = "".join(f"{BODY}\n\n{number}\n\n" for number in range(1, 60))
    assert _chapters(read_bytes(pages)) == []
    chapters = f"Chapter 1\n\n{BODY}\n\n1\n\n{BODY}\n\n2\n\n{BODY}\n\nChapter 2\n\n{BODY}\n\n3\n\n{BODY}\n"
    assert _chapters(read_bytes(chapters)) == ["Chapter 1", "Chapter 2"]


def test_names_with_numbers_are_chapters_under_books_when_they_are_the_system(
    read_bytes: Read, outline: Outline
) -> None:
    heads = ["Ruth 1", "Ruth 2", "1 Tides 1", "1 Tides 2", "1 Tides 3", "Jude 1"]
    reading = read_bytes("\n" + "".join(f"{head}\n\n  1 {BODY}\n\n" for head in heads))
    assert [title for kind, _, title in outline(reading) if kind == "volume"] == ["Ruth", "1 Tides", "Jude"]
    assert _chapters(reading) == heads
    assert _chapters(read_bytes(f"Chapter 1{PLAIN}Pier 4\n\n{BODY}\n")) == ["Chapter 1"]


@pytest.mark.parametrize("mark", ["\ufeff", "\u200b", "\f", "　　", "\u00a0"])
def test_a_mark_before_a_heading_does_not_hide_it(mark: str, read_bytes: Read) -> None:
    reading = read_bytes(f"Chapter 1{PLAIN}{mark}Chapter 2{PLAIN}")
    assert _chapters(reading) == ["Chapter 1", "Chapter 2"]


def test_hidden_characters_and_terminal_codes_within_a_heading_do_not_hide_it(read_bytes: Read) -> None:
    reading = read_bytes(f"Ch\u200bapter 1{PLAIN}C\u034fhapter 2{PLAIN}\x1b[1mChapter 3\x1b[0m{PLAIN}")
    assert _chapters(reading) == ["Chapter 1", "Chapter 2", "Chapter 3"]


def test_headings_behind_other_line_breaks_are_found_and_lines_count_line_feeds(
    read_bytes: Read, check_tree: Callable[[Reading], None]
) -> None:
    reading = read_bytes("Chapter 1\nEbb.\u2028Chapter 2\u2028Flood.\x0cChapter 3\x0cSlack.\nChapter 4\nEnd.")
    assert [section.start_line for section in reading.sections] == [1, 2, 2, 3]
    check_tree(reading)


def test_numbers_double_missing_and_out_of_order_are_reported_and_nothing_is_left_out(read_bytes: Read) -> None:
    numbers = [1, 2, 4, 3, 5, 5, 7, 9, 8, 10, 1]
    reading = read_bytes("".join(f"Chapter {number}{PLAIN}" for number in numbers))
    assert _chapters(reading) == [f"Chapter {number}" for number in numbers]
    assert _codes(reading) == [
        ("chapter-out-of-order", 13),
        ("chapter-duplicate", 21),
        ("chapter-missing", 25),
        ("chapter-out-of-order", 33),
        ("chapter-duplicate", 41),
    ]
    assert "chapter 6 is missing" in reading.warnings[2].message


def test_a_misprinted_number_is_one_oddity_not_three(read_bytes: Read) -> None:
    reading = read_bytes("".join(f"Chapter {number}{PLAIN}" for number in [1, 2, 13, 4, 5]))
    assert _codes(reading) == [("chapter-misnumbered", 9)]


def test_the_parts_of_a_chapter_are_no_duplicates(read_bytes: Read) -> None:
    text = f"第1章 潮\n\n{POEM}\n\n第2章 灯（上）\n\n{POEM}\n\n第2章 灯（下）\n\n{POEM}\n\n第3章 雾\n\n{POEM}\n"
    assert _codes(read_bytes(text)) == [("chapter-split", 9)]


def test_a_heading_that_stands_twice_is_one_heading(read_bytes: Read) -> None:
    reading = read_bytes(f"第1章 潮\n\n　　第1章 潮\n\n{POEM}\n\n第2章 灯\n\n{POEM}\n")
    assert _chapters(reading) == ["第1章 潮", "第2章 灯"]
    assert _codes(reading) == [("heading-repeated", 3)]


def test_a_chapter_posted_twice_is_two_sections_and_reported(read_bytes: Read) -> None:
    reading = read_bytes(f"第1章 潮\n\n{POEM}\n\n第1章 潮\n\n{POEM}\n\n第2章 灯\n\n{POEM}\n")
    assert len(_chapters(reading)) == 3
    assert _codes(reading) == [("chapter-duplicate", 5)]


def test_a_chapter_with_no_text_is_reported(read_bytes: Read) -> None:
    chapters = [f"Chapter {number}\n\n{BODY if number != 7 else 'To be typed.'}\n\n" for number in range(1, 13)]
    assert _codes(read_bytes("".join(chapters))) == [("chapter-empty", 25)]


def test_a_text_without_headings_is_one_front_section(read_bytes: Read, outline: Outline) -> None:
    assert outline(read_bytes(f"\n  {'Ebb and flood ' * 20}\n{BODY}")) == [("front", 1, ("Ebb and flood " * 20)[:80])]


def test_a_giant_line_after_a_heading_does_not_hide_the_next(read_bytes: Read) -> None:
    reading = read_bytes(f"Chapter 1\n{BODY * 4000}\nChapter 2\n{BODY * 4000}")
    assert _chapters(reading) == ["Chapter 1", "Chapter 2"]


def test_the_title_in_book_quotes_is_the_books(read_bytes: Read) -> None:
    assert read_bytes(f"《港口》 无名\n\n第一章 潮\n\n{POEM}\n").title == "港口"


def test_aozora_headings_are_read_from_their_notes(read_bytes: Read, outline: Outline) -> None:
    text = (
        "港\n無名\n\n［＃８字下げ］一［＃「一」は中見出し］\n\n　潮が引いた。\n\n"
        "［＃８字下げ］二《に》［＃「二《に》」は中見出し］\n\n　灯がついた。\n\n\n"
        "底本：「港」無名文庫\n青空文庫作成ファイル：\n"
    )
    assert outline(read_bytes(text.encode("cp932"))) == [
        ("front", 1, "港"),
        ("chapter", 1, "一"),
        ("chapter", 1, "二"),
        ("boilerplate", 1, "底本：「港」無名文庫"),
    ]
