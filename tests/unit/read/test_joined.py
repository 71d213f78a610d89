"""A folder of chapter files as one book: one count of chapters, every character once, every line led back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.errors import EmptyError, ReadError
from pipeline.read.joined import Part, read_joined
from pipeline.read.reading import Reading, ReadOptions
from pipeline.read.registry import read
from pipeline.read.sources import BytesSource

Check = Callable[[Reading], None]
BODY = "The tide went out at noon, and nobody in the harbour had seen the boat.\n" * 4
HAN = "　　潮水在中午退去，港口里没有人看见那条船。\n" * 6


def _joined(*files: tuple[str, bytes | str], encoding: str | None = None) -> Reading:
    parts = [
        Part(name=name, source=BytesSource(name, data.encode() if isinstance(data, str) else data))
        for name, data in files
    ]
    return read_joined("book", parts, ReadOptions(encoding=encoding), read)


def _outline(reading: Reading) -> list[tuple[str, int, str, int]]:
    return [(one.kind.value, one.level, one.title, one.start_line) for one in reading.sections]


def test_the_chapters_of_all_files_stand_under_the_volumes_of_the_first(check_tree: Check) -> None:
    reading = _joined(
        ("1.txt", f"第一卷 港\n\n第一章 潮\n\n{HAN}"),
        ("2.txt", f"第二章 灯\n\n{HAN}"),
        ("3.txt", f"第四章 雾\n\n{HAN}"),
    )
    check_tree(reading)
    assert _outline(reading) == [
        ("volume", 1, "第一卷 港", 1),
        ("chapter", 2, "第一章 潮", 3),
        ("chapter", 2, "第二章 灯", 11),
        ("chapter", 2, "第四章 雾", 19),
    ]
    assert [(warning.code, warning.line) for warning in reading.warnings] == [("chapter-missing", 19)]


def test_a_file_without_a_heading_is_a_chapter_called_as_it_is(check_tree: Check) -> None:
    reading = _joined(("01 Ebb.txt", BODY), ("02 Flood.txt", "\n\n" + BODY), ("03.txt", f"Chapter 3\n\n{BODY}"))
    check_tree(reading)
    assert [(kind, title) for kind, _, title, _ in _outline(reading)] == [
        ("chapter", "01 Ebb"), ("chapter", "02 Flood"), ("chapter", "Chapter 3"),
    ]  # fmt: skip


def test_what_stands_before_a_files_heading_is_not_given_to_the_chapter_before(check_tree: Check) -> None:
    reading = _joined(
        ("1.txt", f"Chapter 1\n\n{BODY}"), ("2.txt", f"From the log of the harbour.\n\nChapter 2\n\n{BODY}")
    )
    check_tree(reading)
    assert [(kind, title) for kind, _, title, _ in _outline(reading)] == [
        ("chapter", "Chapter 1"), ("front", "From the log of the harbour."), ("chapter", "Chapter 2"),
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", ""])
def test_a_last_line_without_an_end_does_not_run_into_the_next_file(end: str, check_tree: Check) -> None:
    reading = _joined(("1.txt", f"Chapter 1\n\nEbb.{end}"), ("2.txt", f"Chapter 2\n\nFlood.{end}"))
    check_tree(reading)
    text = "".join(reading.blocks())
    assert text.split("\n")[:6] == ["Chapter 1", "", "Ebb.", "Chapter 2", "", "Flood."]
    assert [one.start_line for one in reading.sections] == [1, 4]


def test_each_file_has_its_own_encoding_and_line_ends(check_tree: Check) -> None:
    reading = _joined(
        ("1.txt", f"第一章 潮\n\n{HAN}".encode("gb18030")),
        ("2.txt", f"\ufeff第二章 灯\r\n\r\n{HAN}".encode()),
        ("3.txt", f"第三章 雾\n\n{HAN}".encode("utf-16")),
    )
    check_tree(reading)
    assert "".join(reading.blocks()) == "".join(
        f"第{n}章 {t}\n\n{HAN}" for n, t in zip("一二三", "潮灯雾", strict=True)
    )
    assert reading.encoding == "gb18030, utf-8, utf-16-le"
    assert [(run.first_line, run.width) for run in reading.line_endings] == [(1, 1), (9, 2), (11, 1)]


def test_files_of_other_kinds_keep_their_own_headings(check_tree: Check) -> None:
    reading = _joined(("1.md", "# Ebb\n\ntext\n\n## Slack\n\ntext"), ("2.txt", BODY), ("3.md", "# Flood\n\ntext\n"))
    check_tree(reading)
    assert _outline(reading) == [
        ("heading", 1, "Ebb", 1), ("heading", 2, "Slack", 5), ("chapter", 1, "2", 8), ("heading", 1, "Flood", 12),
    ]  # fmt: skip


def test_an_empty_file_is_left_out_and_told_and_a_book_of_them_is_empty() -> None:
    reading = _joined(("1.txt", f"Chapter 1\n\n{BODY}"), ("2.txt", ""), ("3.txt", f"Chapter 2\n\n{BODY}"))
    assert [(warning.code, warning.message) for warning in reading.warnings] == [
        ("part-empty", "2.txt is empty and was left out")
    ]
    with pytest.raises(EmptyError, match="book is empty"):
        _joined(("1.txt", ""), ("2.txt", " \n"))


def test_an_unreadable_file_is_named_and_no_part_of_the_book_is_lost_in_silence() -> None:
    with pytest.raises(ReadError, match=r"2\.txt is not text"):
        _joined(("1.txt", f"Chapter 1\n\n{BODY}"), ("2.txt", bytes(range(256)) * 64))


def test_what_a_file_has_of_its_own_is_told_with_its_name_and_its_line_in_the_book() -> None:
    reading = _joined(("1.txt", f"Chapter 1\n\n{BODY}"), ("2.txt", f"Chapter 2\n\nbell\x07\n{BODY}"))
    assert [(one.code, one.line) for one in reading.warnings] == [("control-characters", 9)]
    assert reading.warnings[0].message.startswith("2.txt: ")


def test_the_hash_tells_names_order_and_bytes_apart() -> None:
    one, two = ("1.txt", f"Chapter 1\n\n{BODY}"), ("2.txt", f"Chapter 2\n\n{BODY}")
    hashes = [
        _joined(one, two),
        _joined(two, one),
        _joined(one, ("3.txt", two[1])),
        _joined(one, ("2.txt", two[1] + "x")),
    ]
    assert len({reading.source_sha256 for reading in hashes}) == 4
