"""Boilerplate between and around the book's own lines: marked, never dropped, never taken for the book."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from pipeline.read.banners import Banner, banner_of
from pipeline.read.reading import Reading
from pipeline.read.tree import own_runs
from pipeline.split.grain import Grain
from workers.ingest.units import units

Read = Callable[..., Reading]
Check = Callable[[Reading], None]

BODY = "　　潮水在中午退去，港口里没有人看见那条船。\n\n" * 6
AD = "手机用户请浏览m.example.invalid阅读，更优质的阅读体验。"
NOTE = "（作者的话：求月票求推荐票，今天第二更送上！）"


def _runs(reading: Reading) -> list[tuple[int, int]]:
    return own_runs([section.start for section in reading.sections], [section.end for section in reading.sections])


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (AD, Banner.SITE),
        ("最新章节请到 www.example.invalid 阅读", Banner.SITE),
        ("【笔趣阁更新最快】example.invalid", Banner.SITE),
        ("一秒记住【笔趣阁www.example.com】，精彩小说无弹窗免费阅读！", Banner.SITE),
        ("Read the newest chapters at www.example.invalid", Banner.SITE),
        ("This content is stolen from example.invalid; please read it there.", Banner.SITE),
        ("Sponsored chapter - example.invalid", Banner.SITE),
        ("If you come across this story on Amazon, it's taken without permission.", Banner.SITE),
        (NOTE, Banner.NOTE),
        ("PS：感谢书友“20190101”的打赏，明天加更。", Banner.NOTE),
        ("（本章未完，请点击下一页继续阅读）", Banner.NOTE),
        ("(Author's note: second chapter today, please vote!)", Banner.NOTE),
        ("[Translator's note: the pun here cannot be kept.]", Banner.NOTE),
        ('PS: thanks to reader "20190101" for the gift, extra chapter tomorrow.', Banner.NOTE),
    ],
)
def test_a_line_of_a_site_or_its_author_is_known(line: str, what: Banner) -> None:
    assert banner_of(line) is what


@pytest.mark.parametrize(
    "line",
    [
        "P.S. Come at once; the lamp is out.",
        "PS: I love you.",
        "他说：“请把月票给我。”",
        "See http://www.debian.org/ for the latest release.",
        "For more of the handbook see www.example.com.",
        "His story was stolen from him.",
        "He was stolen from the ship.",
        "更多信息请阅读 http://www.example.org/",
        "作者：无名",
        "本章正在手打中，请稍候刷新页面。",
        "The author's note: he had never seen it.",
    ],
)
def test_a_line_of_the_book_is_left_to_it(line: str) -> None:
    assert banner_of(line) is None


def test_a_banner_within_a_chapter_is_a_section_and_the_chapter_goes_on(read_bytes: Read, check_tree: Check) -> None:
    reading = read_bytes(f"第一章 潮\n\n{BODY}{AD}\n\n{BODY}第二章 灯\n\n{BODY}{NOTE}\n\n第三章 雾\n\n{BODY}")
    check_tree(reading)
    assert [(one.kind.value, one.title, one.parent) for one in reading.sections] == [
        ("chapter", "第一章 潮", None),
        ("boilerplate", AD, 0),
        ("chapter", "第二章 灯", None),
        ("boilerplate", NOTE, 2),
        ("chapter", "第三章 雾", None),
    ]
    assert [ordinal for _, ordinal in _runs(reading)] == [0, 1, 0, 2, 3, 4]
    assert [(w.code, w.line) for w in reading.warnings] == [("site-banner", 15), ("author-note", 43)]


def test_banners_side_by_side_and_at_both_ends_leave_no_empty_pieces(read_bytes: Read, check_tree: Check) -> None:
    reading = read_bytes(f"{AD}\n\n第一章 潮\n\n{BODY}{AD}\n{NOTE}\n\n第二章 灯\n\n{BODY}{NOTE}\n\n\n")
    check_tree(reading)
    text = "".join(reading.blocks())
    runs = [*_runs(reading), (len(text), 0)]
    pieces = [text[one[0] : two[0]] for one, two in pairwise(runs)]
    assert all(piece.strip() for piece in pieces)
    assert [reading.sections[ordinal].title for _, ordinal in runs[:-1]] == [
        AD,
        "第一章 潮",
        AD,
        NOTE,
        "第二章 灯",
        NOTE,
    ]


def test_units_give_each_piece_to_the_section_whose_own_text_it_is(read_bytes: Read) -> None:
    reading = read_bytes(f"第一章 潮\n\n{BODY}{AD}\n\n{BODY}第二章 灯\n\n{BODY}")
    placed = list(units(reading.blocks(), reading.sections, Grain(name="g", limit=400, overlap=0, heading_level=1)))
    assert [unit.section for unit in placed] == [0, 1, 0, 2]
    assert placed[1].unit.text == f"{AD}\n"
    assert "".join(unit.unit.text for unit in placed) == "".join(reading.blocks())


def test_a_heading_that_asks_for_votes_is_a_heading(read_bytes: Read) -> None:
    reading = read_bytes(f"第一章 潮\n\n{BODY}第二章 夜雨（求订阅）\n\n{BODY}")
    assert [one.title for one in reading.sections] == ["第一章 潮", "第二章 夜雨（求订阅）"]


def test_the_legend_of_aozora_is_boilerplate_and_the_first_line_the_title(read_bytes: Read, check_tree: Check) -> None:
    rule = "-" * 55
    text = (
        f"港の灯\n無名\n\n{rule}\n【テキスト中に現れる記号について】\n\n《》：ルビ\n（例）港《みなと》\n{rule}\n\n"
        f"［＃８字下げ］一［＃「一」は中見出し］\n\n　潮が引いた。\n\n底本：「港」無名文庫\n"
    )
    reading = read_bytes(text.encode("cp932"))
    check_tree(reading)
    assert reading.title == "港の灯"
    assert [(one.kind.value, one.start_line, one.end_line) for one in reading.sections] == [
        ("front", 1, 3),
        ("boilerplate", 4, 10),
        ("chapter", 11, 14),
        ("boilerplate", 15, 15),
    ]


def test_many_addresses_on_one_giant_line_cost_linear_time(read_bytes: Read) -> None:
    assert len(read_bytes("see www.example.com/1 and " * 200_000).sections) == 1
