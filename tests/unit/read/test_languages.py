"""Whole books in languages other than English: each is found by its own way of counting, and prose is left alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.read.reading import Reading

Read = Callable[..., Reading]

KOREAN = "나룻배는 이미 떠났지만 노인은 아직 강가의 돌 위에 앉아 있었다. 그는 아무 말도 하지 않았다.\n\n" * 6
JAPANESE = "　渡し舟はもう出たが、老人はまだ岸の石に腰かけて、川を見ていた。\n" * 8 + "\n"
CHINESE = "　　潮水在中午退去，港口里没有人看见那条船。\n\n" * 9
RUSSIAN = "Лодка уже ушла, а старик всё сидел на камне у берега.\n\n" * 8

# The heads of a book, "+" before those of a volume; what stands between them is prose of the language.
BOOKS = {
    "제1장 forms": (KOREAN, ["프롤로그", "제1장 나루터", "제 2 장 등대", "제3장", "에필로그", "작가 후기"]),
    "Sino-Korean numerals": (KOREAN, ["프롤로그", "제일장 나루터", "제이장 등대"]),
    "Korean episodes": (KOREAN, ["1화", "2화", "3화 등대", "외전 1화"]),
    "Korean chapters with a stop": (KOREAN, ["1장. 나루터", "2장. 등대", "3장. 섬"]),
    "Korean volumes": (KOREAN, ["+제1부 바다", "제1화 등대", "제2화 섬", "+제2부 산", "제3화 눈"]),
    "第一章 forms": (JAPANESE, ["序章", "第一章　灯台", "第二章　港", "終章", "あとがき"]),
    "第1話 forms": (JAPANESE, ["プロローグ", "第1話「灯」", "第２話　港", "第三話", "エピローグ"]),
    "Japanese volumes and counts": (JAPANESE, ["+上巻", "その一", "その二", "+下巻", "その三", "その四"]),
    "Japanese acts and scenes": (JAPANESE, ["+第一幕", "第一場　浜", "第二場　港", "+第二幕", "第一場"]),
    "Chinese ranges": (CHINESE, ["第98章 潮", "第99章 灯", "第100-101章 雾", "第102章 岸"]),
    "Russian ordinals": (RUSSIAN, ["Пролог", "Глава двадцатая", "Глава двадцать первая", "Вместо эпилога"]),
    "Russian numerals": (RUSSIAN, ["+Том I", "Глава XXIII", "Глава XXIV", "+Том II", "Глава XXV"]),
    "Russian plays": (RUSSIAN, ["+Действие первое", "Явление первое", "Явление II", "+Действие второе", "Явление I"]),
}  # fmt: skip
PROSE = {
    KOREAN: "제사장 요한이 말했다",
    JAPANESE: "第三話を読んだあと",
    CHINESE: "第三回合开始",
    RUSSIAN: "Часть людей ушла на берег",
}


@pytest.mark.parametrize("kind", BOOKS)
def test_the_heads_of_a_book_are_all_found_and_nothing_else(kind: str, read_bytes: Read) -> None:
    body, heads = BOOKS[kind]
    text = "".join(
        f"{head.strip('+')}\n\n{'' if head[0] == '+' else body + PROSE[body] + chr(10) * 2}" for head in heads
    )
    reading = read_bytes(text)
    assert [("+" if one.kind == "volume" else "") + one.title for one in reading.sections] == heads
    assert {warning.code for warning in reading.warnings} <= {"side-chapter"}


@pytest.mark.parametrize(
    ("word", "body", "heads"),
    [
        ("目次", JAPANESE, ["第一章　灯台", "第二章　港", "第三章　海"]),
        ("차례", KOREAN, ["제1장 나루터", "제2장 등대", "제3장 섬"]),
        ("Содержание", RUSSIAN, ["Глава первая", "Глава вторая", "Эпилог"]),
        ("目录", CHINESE, ["楔子", "第一章 潮", "第二章 灯"]),
    ],
)
def test_a_table_of_contents_is_recognised_in_every_language(
    word: str, body: str, heads: list[str], read_bytes: Read
) -> None:
    reading = read_bytes(f"{word}\n\n" + "\n".join(heads) + "\n\n" + "".join(f"{head}\n\n{body}" for head in heads))
    assert [section.kind.value for section in reading.sections] == ["contents", *["chapter"] * len(heads)]


@pytest.mark.parametrize(
    "line",
    ["第三回合开始", "第三章节的内容", "第二部分是这样的", "第三部队出发了", "第四节课开始了", "第三季度的财报",
     "第二篇文章", "第四回中老人又说起那条船", "第二章 完", "第二章完"],
)  # fmt: skip
def test_a_unit_that_begins_another_word_is_no_heading(line: str, read_bytes: Read) -> None:
    text = f"第一章 潮\n\n{CHINESE}第二章 灯\n\n{CHINESE}{line}\n\n{CHINESE}"
    assert [section.title for section in read_bytes(text).sections] == ["第一章 潮", "第二章 灯"]


def test_a_title_that_begins_like_another_word_is_a_heading_where_it_goes_on_with_the_count(read_bytes: Read) -> None:
    heads = ["第一章潮水", "第二章节日", "第三章程门"]
    assert [one.title for one in read_bytes("".join(f"{head}\n\n{CHINESE}" for head in heads)).sections] == heads


def test_a_file_with_one_late_chapter_has_it(read_bytes: Read) -> None:
    assert [section.title for section in read_bytes(f"031화 등대\n\n{KOREAN}").sections] == ["031화 등대"]


def test_a_missing_episode_is_reported_and_the_others_are_there(read_bytes: Read) -> None:
    reading = read_bytes("".join(f"{number}화\n\n{KOREAN}" for number in (1, 2, 4, 5, 6)))
    assert len(reading.sections) == 5
    assert [(warning.code, warning.message) for warning in reading.warnings] == [
        ("chapter-missing", "chapter 3 is missing before line 29")
    ]
