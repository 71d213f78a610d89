"""Encodings: found, forced, faulty."""

from __future__ import annotations

import codecs
import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from pipeline.errors import ReadError, UsageError
from pipeline.read.decode import BLOCK_BYTES
from pipeline.read.reading import Reading, ReadOptions
from pipeline.read.registry import read
from pipeline.read.sources import BytesSource, FileSource

Read = Callable[..., Reading]
Text = Callable[[Reading], str]

CHINESE = "第一章 渡口\n\n渡船已经走了，老人还坐在岸边的石头上，看着河水慢慢流过去。他说，明天还会有船来的。\n"
TRADITIONAL = "第一章 渡口\n\n渡船已經走了，老人還坐在岸邊的石頭上，看著河水慢慢流過去。他說，明天還會有船來的。\n"
JAPANESE = "第一章 渡し場\n\n渡し舟はもう出たが、老人はまだ岸の石に腰かけて、川を見ていた。\n"
KOREAN = "제1장 나루터\n\n나룻배는 이미 떠났지만 노인은 아직 강가의 돌 위에 앉아 있었다.\n"
RUSSIAN = "Глава 1. Переправа\n\nЛодка уже ушла, а старик всё сидел на камне у берега и смотрел на воду.\n"
FRENCH = "Chapitre 1. Le bac\n\nLe bac était déjà parti, mais il restait près de la rivière, rêvant à l'été passé.\n"
GERMAN = "Kapitel 1. Die Fähre\n\nDie Fähre war längst fort, doch der Alte saß noch über dem Fluß, wohin er gehörte.\n"
POLISH = "Rozdział 1. Przewóz\n\nPrzewóz już odpłynął, a starzec wciąż siedział na kamieniu i patrzył na rzekę.\n"
ENGLISH_LINE = "The ferry had gone long before noon.\n"
CHINESE_LINE = "渡船已经走了，老人还坐在岸边的石头上，看着河水慢慢流过去。\n"
HONG_KONG = "第一章 渡口\n\n佢哋喺岸邊嘅石頭上坐咗好耐，睇住啲船慢慢咁走咗，渡船啱啱嚟到。\n"
RARE = "第一章 渡口\n\n渡船𠀀已经走了，老人𪚥还坐在岸边的石头上，看着河水慢慢流过去。\n"
TURKISH = "Bölüm 1\n\nVapur çoktan gitmişti, ama yaşlı adam hâlâ kıyıdaki taşın üstünde oturuyordu, ışığı gördü.\n"
HEBREW = "פרק 1\n\nהמעבורת כבר יצאה, והזקן עוד ישב על האבן שעל שפת הנהר והביט במים.\n"
GREEK = "Κεφάλαιο 1\n\nΗ βάρκα είχε φύγει, μα ο γέρος καθόταν ακόμα στην όχθη.\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CHINESE, "gb18030"),
        (TRADITIONAL, "cp950"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (KOREAN, "cp949"),
        (KOREAN, "euc_kr"),
        (HONG_KONG, "big5hkscs"),
        (RARE, "gb18030"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (RUSSIAN, "cp866"),
        (FRENCH, "iso8859_1"),
        (GERMAN, "iso8859_1"),
        (POLISH, "cp1250"),
        (GREEK, "cp1253"),
        (CHINESE, "utf-8"),
        (FRENCH, "utf-16-le"),
        (RUSSIAN, "utf-16-be"),
        (CHINESE, "utf-16-le"),
        (JAPANESE, "utf-32-be"),
        (KOREAN, "utf-32-le"),
        (RUSSIAN, "utf-32-le"),
        (GERMAN, "utf-32-be"),
        (TURKISH, "cp1254"),
        (HEBREW, "cp1255"),
    ],
)
def test_an_encoding_is_found_without_a_mark(text: str, encoding: str, read_bytes: Read, text_of: Text) -> None:
    reading = read_bytes(text.encode(encoding))
    assert text_of(reading) == text
    assert not [warning for warning in reading.warnings if warning.code in ("invalid-bytes", "encoding-uncertain")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_is_believed_and_dropped(encoding: str, read_bytes: Read, text_of: Text) -> None:
    reading = read_bytes(("\ufeff" + CHINESE).encode(encoding))
    assert codecs.lookup(reading.encoding) == codecs.lookup(encoding)
    assert text_of(reading) == CHINESE


def test_a_late_latin_byte_in_an_ascii_file_is_noticed(read_bytes: Read, text_of: Text) -> None:
    plain = "The ferry had gone long before noon.\n" * 40_000
    reading = read_bytes((plain + "He drank his café.\n").encode("latin-1"))
    assert len(plain) > BLOCK_BYTES
    assert reading.encoding == "iso8859_1"
    assert text_of(reading).endswith("He drank his café.\n")


def test_a_stray_byte_in_a_utf8_book_is_replaced_counted_and_placed(read_bytes: Read, text_of: Text) -> None:
    good = CHINESE.encode() * 9_000
    cut = good.index(b"\n", len(good) // 2)
    reading = read_bytes(good[:cut] + b"\xff" + good[cut:])
    fault = next(warning for warning in reading.warnings if warning.code == "invalid-bytes")
    assert reading.encoding == "utf-8"
    assert fault.byte_offset == cut
    assert text_of(reading).count("\ufffd") == 1


@pytest.mark.parametrize("first", ["utf-8", "gb18030"])
def test_a_file_joined_from_two_encodings_is_read_right_and_reported(
    first: str, read_bytes: Read, text_of: Text
) -> None:
    second = "gb18030" if first == "utf-8" else "utf-8"
    reading = read_bytes((CHINESE * 3000).encode(first) + (CHINESE * 3000).encode(second))
    assert text_of(reading) == CHINESE * 6000
    assert reading.encoding == "utf-8+gb18030"
    assert [warning.code for warning in reading.warnings if warning.code.startswith("enc")] == ["encoding-mixed"]


def test_a_short_part_in_another_encoding_is_read_right_too(read_bytes: Read, text_of: Text) -> None:
    reading = read_bytes((CHINESE * 30_000).encode() + (CHINESE * 20).encode("gb18030"))
    assert text_of(reading) == CHINESE * 30_020


def test_many_stray_bytes_do_not_make_a_book_mixed(read_bytes: Read, text_of: Text) -> None:
    reading = read_bytes((CHINESE * 200).encode() + "渡船已经走了\n".encode().replace(b"\n", b"\xff\n") * 200)
    assert reading.encoding == "utf-8"
    assert text_of(reading).count("\ufffd") == 200


@pytest.mark.parametrize("stray", [b"\x81", b"\xff", b"\xe9", b"\x80", b"\xe4\xb8", b"\xc3"], ids=repr)
@pytest.mark.parametrize(("where", "line"), [(0.001, ENGLISH_LINE), (0.5, CHINESE_LINE), (0.999, ENGLISH_LINE)])
def test_one_invalid_byte_in_a_long_book_is_replaced_counted_and_placed_and_the_book_stays_what_it_is(
    stray: bytes, where: float, line: str, read_bytes: Read, text_of: Text
) -> None:
    good = line.encode() * (1_500_000 // len(line.encode()))
    cut = good.index(b"\n", int(len(good) * where))
    reading = read_bytes(good[:cut] + stray + good[cut:])
    assert reading.encoding == "utf-8"
    faults = [warning for warning in reading.warnings if warning.code == "invalid-bytes"]
    assert [fault.byte_offset for fault in faults] == [cut]
    assert faults[0].message.startswith("1 place(s) are no valid utf-8")
    assert text_of(reading).count("\ufffd") == 1
    assert text_of(reading).replace("\ufffd", "") == good.decode()


@pytest.mark.parametrize("word", ["café", "naïve", "Ångström", "it’s", "“Row”", "à la carte", "12°", "£5"])
def test_the_one_accent_of_an_english_book_is_an_accent(word: str, read_bytes: Read, text_of: Text) -> None:
    plain = ENGLISH_LINE * 30_000
    reading = read_bytes((plain + f"He said {word} to it.\n").encode("cp1252"))
    assert text_of(reading).endswith(f"He said {word} to it.\n")
    assert not reading.warnings


def test_a_character_across_blocks_is_whole(read_bytes: Read, text_of: Text) -> None:
    text = "a" * (BLOCK_BYTES - 1) + "渡" + "b" * BLOCK_BYTES + "船"
    reading = read_bytes(text)
    assert text_of(reading) == text
    assert not reading.warnings


def test_surrogates_written_as_utf8_become_one_replacement_each(read_bytes: Read, text_of: Text) -> None:
    reading = read_bytes(b"Chapter 1\n\nhigh \xed\xa0\xbd low \xed\xb2\xa9 end\n")
    assert text_of(reading) == "Chapter 1\n\nhigh \ufffd low \ufffd end\n"
    assert reading.warnings[0].code == "invalid-bytes"


def test_nul_and_control_characters_are_kept_and_reported(read_bytes: Read, text_of: Text) -> None:
    text = "Chapter 1\n\nbell\x07 nul\x00\x00 done\n"
    reading = read_bytes(text)
    assert text_of(reading) == text
    assert {(warning.code, warning.line) for warning in reading.warnings} == {
        ("nul-characters", 3),
        ("control-characters", 3),
    }


def test_a_forced_encoding_is_used(read_bytes: Read, text_of: Text) -> None:
    assert text_of(read_bytes("Ärger".encode("cp437"), encoding="cp437")) == "Ärger"


@pytest.mark.parametrize("name", ["no-such", "rot13", "base64", "utf-7", "unicode_escape", "idna", "a\0b", ""])
def test_an_encoding_that_is_none_is_a_usage_error(name: str, read_bytes: Read) -> None:
    with pytest.raises(UsageError, match="encoding"):
        read_bytes("text", encoding=name)


@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\xff\xfe", b"\xef\xbb\xbf", "\u3000\u200b\ufeff\n".encode()])
def test_nothing_to_see_is_a_clear_error(data: bytes, read_bytes: Read) -> None:
    with pytest.raises(ReadError, match=r"^harbour\.txt is empty$"):
        read_bytes(data, name="harbour.txt")


def test_compressed_bytes_are_not_text(read_bytes: Read) -> None:
    noise = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(64))
    with pytest.raises(ReadError, match=r"harbour\.txt is not text: "):
        read_bytes(b"\x01" + noise, name="harbour.txt")


def test_a_file_that_changes_between_the_passes_is_an_error_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "harbour.txt"
    path.write_text("Chapter 1\n\nBefore.\n", encoding="utf-8")
    reading = read(FileSource(path))
    path.write_text("Chapter 1\n\nBehind.\n", encoding="utf-8")
    blocks = reading.blocks()
    with pytest.raises(ReadError, match="changed while it was read"):
        list(blocks)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"nowhere\.txt cannot be opened"):
        read(FileSource(tmp_path / "nowhere.txt"))


class _Failing(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError(5, "Input/output error")


class _FailingSource:
    name = "tape.txt"

    def open(self) -> BinaryIO:
        return _Failing()


def test_a_read_that_fails_is_named() -> None:
    with pytest.raises(ReadError, match=r"tape\.txt cannot be read: Input/output error"):
        read(_FailingSource(), ReadOptions())


def test_blocks_stream_and_can_be_taken_again(read_bytes: Read) -> None:
    text = "The ferry had gone.\n" * 120_000
    reading = read_bytes(text)
    first: Iterator[str] = reading.blocks()
    assert len(next(first)) < 2 * BLOCK_BYTES
    assert "".join(reading.blocks()) == text
    assert hashlib.sha256(text.encode()).digest() == reading.text_sha256


def test_hashes_and_counts_are_those_of_source_and_text() -> None:
    data = "Zeile 1\r\nZeile 2 ü\r\n".encode()
    reading = read(BytesSource("a.txt", data))
    assert reading.source_sha256 == hashlib.sha256(data).digest()
    assert (reading.byte_count, reading.char_count, reading.line_count) == (len(data), 18, 2)
