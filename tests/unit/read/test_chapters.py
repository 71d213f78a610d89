"""One line by itself: is it a heading, of what kind, with what number."""

from __future__ import annotations

import pytest

from pipeline.read.chapter_words import BOOK_RANK, CHAPTER_RANK, PART_RANK, SECTION_RANK, VOLUME_RANK
from pipeline.read.chapters import heading_of
from pipeline.read.numerals import parse_number


@pytest.mark.parametrize(
    ("line", "rank", "number"),
    [
        ("CHAPTER 3. The Mole.", CHAPTER_RANK, 3),
        ("Chapter IV", CHAPTER_RANK, 4),
        ("Chapter MMMDCCCXXXVIII. Late", CHAPTER_RANK, 3838),
        ("Chapter Twenty-One", CHAPTER_RANK, 21),
        ("CHAPTER THE FIFTH", CHAPTER_RANK, 5),
        ("Chap. 6 -- Of Eels", CHAPTER_RANK, 6),
        ("Ch.7", CHAPTER_RANK, 7),
        ("Ch. 12 The Lamp", CHAPTER_RANK, 12),
        ("Chapter 12 – The Lamp (Bonus)", CHAPTER_RANK, 12),
        ("Chapter 14: Chapter 15", CHAPTER_RANK, 14),
        ("CHAPTER 50. The Boat and the Crew. Fedor.", CHAPTER_RANK, 50),
        ("BOOK ONE: 1805", BOOK_RANK, 1),
        ("Volume II: Ebb", VOLUME_RANK, 2),
        ("Part Three", PART_RANK, 3),
        ("Section 4. Of Nets", SECTION_RANK, 4),
        ("Prologue", CHAPTER_RANK, None),
        ("SECOND EPILOGUE", CHAPTER_RANK, 2),
        ("Side Story 3: The Knife", CHAPTER_RANK, 3),
        ("第一章 潮", CHAPTER_RANK, 1),
        ("第001回", CHAPTER_RANK, 1),
        ("第一零零回　远", CHAPTER_RANK, 100),
        ("第１２章：灯", CHAPTER_RANK, 12),
        ("第一百零八章潮汐", CHAPTER_RANK, 108),
        ("第两百章", CHAPTER_RANK, 200),
        ("【第十章】", CHAPTER_RANK, 10),
        ("第4232章(完)", CHAPTER_RANK, 4232),
        ("第十一章（上）", CHAPTER_RANK, 11),
        ("正文 第三章 灯", CHAPTER_RANK, 3),
        ("章十二", CHAPTER_RANK, 12),
        ("第二卷 港口", PART_RANK, 2),
        ("卷二", PART_RANK, 2),
        ("第三节", SECTION_RANK, 3),
        ("番外一 重逢", CHAPTER_RANK, 1),
        ("楔子", CHAPTER_RANK, None),
        ("后记", CHAPTER_RANK, None),
        ("第三話 灯台", CHAPTER_RANK, 3),
        ("プロローグ", CHAPTER_RANK, None),
        ("［＃８字下げ］三［＃「三」は中見出し］", CHAPTER_RANK, 3),
        ("제1장 바다", CHAPTER_RANK, 1),
        ("제 12 화", CHAPTER_RANK, 12),
        ("에필로그", CHAPTER_RANK, None),
        ("Глава 3. Маяк", CHAPTER_RANK, 3),
        ("ГЛАВА ПЕРВАЯ", CHAPTER_RANK, 1),
        ("Часть вторая", PART_RANK, 2),
        ("Ruth 4", CHAPTER_RANK, 4),
        ("XIII", CHAPTER_RANK, 13),
        ("12.", CHAPTER_RANK, 12),
    ],
)
def test_a_chapter_line_is_one(line: str, rank: int, number: int | None) -> None:
    heading = heading_of(line)
    assert heading is not None
    assert (heading.rank, heading.number) == (rank, number)


@pytest.mark.parametrize(
    "line",
    [
        "Chapter 3 was the longest of them, she said.",
        "Chapter 2 of the harbour rules",
        "Part I played in this will not be told.",
        "Book I read that winter",
        "Part of the crew",
        "Letters from home",
        "prologue to nothing",
        "Introduction of steam ruined them.",
        "第四回中，老人又说起那条船",
        "第四回中老人又说起那条船",
        "第三章里的灯塔",
        "第一章程序 is no heading. 第三回",
        "第一章では灯台が出てくる",
        "제1장에서는 바다가 나온다",
        "卷烟一支",
        "序号",
        "番外的人",
        "Глава правительства выступил",
        "* * *",
        "- 12 -",
        "Chapter " + "9" * 300,
        "第" + "一" * 200 + "章",
    ],
)
def test_prose_is_no_heading(line: str) -> None:
    assert heading_of(line) is None


@pytest.mark.parametrize(
    ("line", "volume", "number"),
    [
        ("第一卷 港口 第三章 灯", ("第一卷 港口", PART_RANK, 1), 3),
        ("卷二 第一章", ("卷二", PART_RANK, 2), 1),
        ("Book I, Chapter 3", ("Book I", BOOK_RANK, 1), 3),
        ("Song of Solomon 2", ("Song of Solomon", BOOK_RANK, None), 2),
    ],
)
def test_a_line_can_name_the_volume_too(line: str, volume: tuple[str, int, int | None], number: int) -> None:
    heading = heading_of(line)
    assert heading is not None
    assert heading.outer == volume
    assert heading.number == number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("１２", 12), ("XLII", 42), ("iv", 4), ("one hundred and eight", 108), ("ninetieth", 90),
        ("〇〇四", 4), ("二三", 23), ("一万二千", 12_000), ("廿三", 23), ("壹佰", 100), ("十", 10), ("двадцатая", 20),
        ("двадцать первая", 21), ("сто двадцать третья", 123), ("четвёртая", 4), ("пятно", None), ("십이", 12),
        ("last", None), ("IIIIII", None), ("grey", None), ("", None),
    ],
)  # fmt: skip
def test_numerals_of_many_writings_are_read(text: str, value: int | None) -> None:
    assert parse_number(text) == value
