"""The awkward books of the shared corpus, each with what must come of it."""

from __future__ import annotations

import codecs
import json
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import OctavoError
from pipeline.read.line_ends import source_offset
from pipeline.read.reading import Reading
from pipeline.read.registry import read
from pipeline.read.sources import FileSource

pytestmark = pytest.mark.corpus

NUMBERED = ("chapter", "volume", "heading")
# What files without a count in expected.json must give: number of numbered sections, or what the error says.
OUTCOMES: dict[str, int | str] = {
    "empty.txt": "is empty",
    "bom_only_utf16le.txt": "is empty",
    "bom_only_utf32be.txt": "is empty",
    "whitespace_only.txt": "is empty",
    "pdf_disguised.txt": "is a damaged PDF",
    "json_surrogates.jsonl": 0,
    "double_encoded_mojibake.txt": 0,
    "utf16le_odd_length.txt": 2,
    "one_1mb_token_ascii.txt": 0,
    "zero_width.txt": 2,
    "chapters_out_of_order_dup_missing.txt": 11,
    "nested_lists_500.md": 0,
    "nested_quotes_5000.md": 0,
    "nested_brackets_50000.md": 0,
    "front_matter_unclosed.md": 1,
    "front_matter_bomb.md": 1,
    "yaml_python_tag.md": 1,
    "huge_table.md": 0,
    "reference_links_bomb.md": 0,
}
WARNED = {
    "nul_bytes.txt": "nul-characters",
    "nul_padding_tail.txt": "nul-characters",
    "control_chars.txt": "control-characters",
    "lone_surrogates_cesu.txt": "invalid-bytes",
    "lone_surrogates_utf16le.txt": "invalid-bytes",
    "utf16le_odd_length.txt": "invalid-bytes",
    "chapters_out_of_order_dup_missing.txt": "chapter-missing",
}


def _counts(reading: Reading) -> Counter[str]:
    return Counter(section.kind.value for section in reading.sections)


def _judge(path: Path, expected: dict[str, Any]) -> str | None:
    """What is wrong with how a file was read, or None."""
    want = expected.get("chapters", expected.get("headings", OUTCOMES.get(path.name)))
    try:
        reading = read(FileSource(path))
        "".join(reading.blocks()).encode("utf-8")
    except OctavoError as error:
        return None if isinstance(want, str) and want in error.message else f"refused: {error.message}"
    counts = _counts(reading)
    found = sum(counts[kind] for kind in NUMBERED)
    if found != want:
        return f"{found} sections, not {want}"
    if "encoding" in expected and codecs.lookup(expected["encoding"]) != codecs.lookup(reading.encoding):
        return f"read as {reading.encoding}, not {expected['encoding']}"
    if path.name in WARNED and WARNED[path.name] not in {warning.code for warning in reading.warnings}:
        return f"no warning {WARNED[path.name]}"
    return None


def test_hostile_text_files_come_out_as_expected(corpus: Path) -> None:
    folder = corpus / "pathological"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    names = [name for name in expected if name.endswith((".txt", ".md", ".jsonl")) and name != "html_disguised.txt"]
    wrong = {name: fault for name in names if (fault := _judge(folder / name, expected[name]))}
    assert len(names) > 50
    assert wrong == {}


BOOKS: dict[str, tuple[str, dict[str, int]]] = {
    "en/moby-dick_pg2701-0_utf8bom_crlf.txt": (
        "utf-8", {"boilerplate": 2, "front": 2, "contents": 1, "chapter": 138}),
    "en/moby-dick_1991-etext_crlf.txt": ("utf-8", {"boilerplate": 2, "front": 1, "chapter": 138}),
    "en/war-and-peace_pg2600-8_latin1.txt": (
        "iso8859_1", {"boilerplate": 2, "front": 1, "contents": 1, "volume": 17, "chapter": 365}),
    "en/bible-kjv.txt": ("utf-8", {"front": 1, "volume": 66, "chapter": 1189}),
    "zh/三国演义.txt": ("utf-8", {"front": 1, "chapter": 120}),
    "zh/三国演义_gb18030.txt": ("gb18030", {"chapter": 121}),
    "zh/三國演義_big5.txt": ("cp950", {"front": 1, "chapter": 120}),
    "zh/西游记.txt": ("utf-8", {"front": 1, "chapter": 101}),  # 100 回 and an appendix after the eighth
    "zh/tang300.txt": ("utf-8", {"front": 1}),
    "ja/soseki_wagahai_sjis.txt": ("cp932", {"front": 1, "boilerplate": 2, "chapter": 11}),
    "ru/debian-faq.ru.txt": ("utf-8", {"front": 1, "chapter": 16}),
    "ru/russian_cp1251_crlf.txt": ("cp1251", {"front": 1, "chapter": 16}),
    "rtl/quran_uthmani.txt": ("utf-8", {"chapter": 114}),
    "md/commonmark-spec.md": ("utf-8", {"front": 1, "heading": 45}),
    "md/axios_CHANGELOG.md": ("utf-8", {"heading": 301}),
    "md/rust-book_concat.md": ("utf-8", {"heading": 528}),
    "md/pandoc-MANUAL.md": ("utf-8", {"front": 1, "heading": 254}),
}  # fmt: skip


@pytest.mark.parametrize("name", BOOKS)
def test_a_book_has_its_own_structure(name: str, corpus: Path, check_tree: Callable[[Reading], None]) -> None:
    reading = read(FileSource(corpus / name))
    encoding, counts = BOOKS[name]
    assert reading.encoding == encoding
    assert dict(_counts(reading)) == counts
    check_tree(reading)


def test_the_chapters_of_moby_dick_are_1_to_135_each_once(corpus: Path) -> None:
    for name in ("en/moby-dick_pg2701-0_utf8bom_crlf.txt", "en/moby-dick_1991-etext_crlf.txt"):
        titles = [section.title for section in read(FileSource(corpus / name)).sections if section.kind == "chapter"]
        numbers = [int(title.split()[1].strip(".")) for title in titles if title.startswith("CHAPTER")]
        assert numbers == list(range(1, 136))
        assert [title for title in titles if "Loomings" in title]


def test_the_chapter_that_stands_twice_in_the_wrapped_romance_is_reported(corpus: Path) -> None:
    reading = read(FileSource(corpus / "zh/三国演义_gb18030.txt"))
    assert [warning.code for warning in reading.warnings] == ["chapter-duplicate"]


# An anomaly of the generator's truth file, and the code of the warning that tells it.
ANOMALIES = {
    "duplicate (the same chapter posted twice)": "chapter-duplicate",
    "number skipped": "chapter-missing",
    "number misprinted": "chapter-misnumbered",
    "empty body": "chapter-empty",
    "split in two parts": "chapter-split",
    "heading repeated in body": "heading-repeated",
    "extra": "side-chapter",
    "author note": "author-note",
    "advertisement": "site-banner",
}
VARIANTS = [
    ["--clean"],
    [],
    ["--eol", "crlf"],
    ["--encoding", "gb18030"],
    ["--eol", "crlf", "--encoding", "gb18030", "--seed", "7"],
    ["--seed", "3"],
]


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("options", VARIANTS, ids=" ".join)
def test_every_chapter_of_a_web_novel_is_found_at_its_place_and_none_invented(
    language: str, options: list[str], corpus: Path, tmp_path: Path
) -> None:
    _check_novel(corpus, tmp_path, ["--lang", language, "--chapters", "500", "--size", "0.4", *options])


@pytest.mark.nightly
@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("options", VARIANTS, ids=" ".join)
def test_every_chapter_of_the_whole_web_novel_is_found_at_its_place(
    language: str, options: list[str], corpus: Path, tmp_path: Path
) -> None:
    _check_novel(corpus, tmp_path, ["--lang", language, *options])


def _check_novel(corpus: Path, folder: Path, options: list[str]) -> None:
    command = [sys.executable, str(corpus / "make_webnovel.py"), "--out", str(folder), *options]
    subprocess.run(command, check=True, capture_output=True)
    truth = json.loads(next(folder.glob("*.truth.json")).read_text(encoding="utf-8"))
    reading = read(FileSource(next(folder.glob("*.txt"))))
    found = [
        (section.start_line, source_offset(reading.line_endings, section.start_line, section.start), section.title)
        for section in reading.sections
        if section.kind == "chapter"
    ]
    assert found == [(one["line"], one["offset"], one["heading"].strip()) for one in truth["chapters"]]
    assert _counts(reading)["volume"] == truth["volumes"]
    lines = [one["line"] for one in truth["chapters"]]
    told = Counter(
        (warning.code, truth["chapters"][bisect_right(lines, warning.line or 0) - 1]["seq"])
        for warning in reading.warnings
    )
    assert told == Counter((ANOMALIES[one["kind"]], one["seq"]) for one in truth["anomalies"])
    inserted = [one["detail"] for one in truth["anomalies"] if one["kind"] in ("author note", "advertisement")]
    assert [section.title for section in reading.sections if section.kind == "boilerplate"] == inserted
