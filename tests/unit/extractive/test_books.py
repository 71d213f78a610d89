"""Real books: the names a reader would give come first, and the generator's truth is met."""

from __future__ import annotations

import re
import sys

import pytest

from pipeline.models.extractive import extract, fold_summary, summarize
from pipeline.models.extractive import words_en as en
from pipeline.models.extractive import words_han as han
from tests.corpus import ABSENT, CORPUS, written_novel
from tests.truth_table import main, names_of

pytestmark = pytest.mark.corpus


def book(name, encoding="utf-8"):
    path = CORPUS / name
    if not path.exists():
        pytest.skip(ABSENT)
    text = path.read_text(encoding=encoding)
    inside = re.search(r"\*\*\* START OF THIS PROJECT.*?\*\*\*(.*)\*\*\* END OF THIS PROJECT", text, re.DOTALL)
    return inside.group(1) if inside else text


def pieces(text, size):
    return [text[start : start + size] for start in range(0, len(text), size)]


def named(entries):
    return {name: entry for entry in entries for name in (entry.name, *entry.aliases)}


def first(entries, number):
    return {name for entry in entries[:number] for name in (entry.name, *entry.aliases)}


def test_the_first_ten_of_moby_dick_are_its_crew(merged):
    text = book("en/moby-dick_pg2701-0_utf8bom_crlf.txt", "utf-8-sig")
    entries = merged([extract(piece).value for piece in pieces(text, 4000)])
    assert {"Ahab", "Queequeg", "Starbuck", "Stubb"} <= first(entries, 10)


def test_the_first_thirty_of_war_and_peace_are_its_people(merged):
    text = book("en/war-and-peace_pg2600-8_latin1.txt", "latin-1")
    entries = merged([extract(piece).value for piece in pieces(text, 4000)])
    assert {"Pierre", "Natasha", "Andrew", "Nicholas", "Mary", "Kutuzov", "Napoleon"} <= first(entries, 30)
    assert not [entry.name for entry in entries[:30] if entry.name.lower() in en.TITLES]


@pytest.mark.parametrize(
    ("name", "number", "people"),
    [
        ("zh/西游记.txt", 10, "行者 八戒 三藏"),
        ("zh/三国演义.txt", 30, "曹操 玄德 孔明 关公 张飞 孙权 吕布 周瑜"),
    ],
)
def test_the_first_entries_of_chinese_novels_are_their_heroes(merged, name, number, people):
    entries = merged([extract(piece).value for piece in pieces(book(name), 1500)])
    assert set(people.split()) <= first(entries, number)
    roles = [entry.name for entry in entries[:30] if entry.name in han.ROLES or entry.name[-1] in "兵军士"]
    assert roles == [], "ranks, kin and soldiers are nobody's name"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_characters_of_a_generated_novel_are_found_and_counted(language, tmp_path):
    found = names_of(written_novel(tmp_path, language, 400, "--seed", "11", "--clean"), language)
    assert found.missed() == [], found


@pytest.mark.nightly
def test_the_table_of_generated_novels_of_both_lengths_and_languages_meets_its_bounds(capfd):
    missed = main([])
    with capfd.disabled():
        sys.stdout.write("\n" + capfd.readouterr().out)
    assert missed == 0


@pytest.mark.parametrize("name", ["rtl/quran_uthmani.txt", "zh/tang300.txt", "ru/debian-faq.ru.txt"])
def test_other_scripts_have_a_summary_and_break_nothing(merged, name):
    chunks = pieces(book(name), 3000)[:40]
    assert fold_summary([summarize(chunk).value for chunk in chunks], sentences=8).value["sentences"]
    merged([extract(chunk).value for chunk in chunks])
