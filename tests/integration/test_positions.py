"""An output holds no position (DESIGN §5): a shifted or copied book reuses every result, and no citation is stale."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from db.values import Job
from pipeline.spec import load
from pipeline.states import JobState
from tests.integration.conftest import Laboratory

Novel = Callable[..., str]

HAN_PEOPLE = ("林晚舟", "周明远", "沈清秋", "赵铁山")
HAN_PLACES = ("渡口", "南城", "青石桥", "药铺")


HAN_DEEDS = (
    "听了便走",
    "只是摇头",
    "忽然站起身来",
    "叹了一口气",
    "又问了一遍",
    "把门关上",
    "望着江水",
    "却不肯信",
    "也笑了",
    "便坐下吃茶",
    "正要开口",
    "大怒",
    "接过信来",
    "向前一步",
    "拿起灯笼",
    "早已睡着",
    "还在想心事",
    "急忙追出去",
    "心里明白",
    "从不喝酒",
    "最怕下雨",
    "答应下来",
    "依旧沉默",
    "披衣出门",
    "到天亮才回",
    "手里提着刀",
    "慢慢走远",
    "立刻认出了他",
)


def han_novel(numbers: list[int]) -> str:
    """Chapters in Chinese whose sentences all differ."""
    digits = "零一二三四五六七八九十"
    parts = []
    for number in numbers:
        tens = "" if number <= 10 else "十" if number < 20 else "九十"
        name = tens + digits[number if number <= 10 else number % 10]
        parts.append(f"第{name}回 {HAN_PLACES[number % 4]}夜话\n\n")
        for at in range(4):
            who, other = HAN_PEOPLE[(number + at) % 4], HAN_PEOPLE[(number * 3 + at + 1) % 4]
            place = HAN_PLACES[(number + at * 2) % 4]
            deeds = [
                HAN_PEOPLE[(number * step + at) % 4] + HAN_DEEDS[(number * 5 + at * 7 + step * 3) % 28] + "。"
                for step in range(1, 9)
            ]
            parts.append(f"　　{''.join(deeds)}{who}在{place}等了{number * 7 + at}个时辰，与{other}说话。\n\n")
    return "".join(parts)


def citations(value: object) -> Iterator[tuple[dict[str, object], str | None, tuple[str, ...]]]:
    """(citation, quoted text or None, names) of every place in an output."""
    if isinstance(value, dict):
        for citation in value.get("citations", ()):
            quoted = value.get("text") if "text" in value and "title" not in value else None
            names = (value["name"], *value["aliases"]) if "aliases" in value else ()
            yield citation, quoted, names
        for name, part in value.items():
            if name != "citations":
                yield from citations(part)
    elif isinstance(value, list):
        for part in value:
            yield from citations(part)


def flat(text: str) -> str:
    return re.sub(r"\s+", "", text)


def check_citations(output: dict[str, object], text: str, headings: re.Pattern[str]) -> int:
    """Every citation opens at its right line, offset, section and words in the file itself."""
    lines = text.split("\n")
    count = 0
    for citation, quoted, names in citations(output):
        count += 1
        start, end = citation["start"], citation["end"]
        cited = text[start:end]
        assert cited.strip()
        assert citation["start_line"] == text.count("\n", 0, start) + 1
        assert citation["end_line"] == text.count("\n", 0, end - 1) + 1
        assert cited.split("\n")[0] in lines[citation["start_line"] - 1]
        if quoted is not None:
            assert flat(cited) == flat(quoted), "the quoted sentence does not stand where its citation says"
        if names:
            assert any(flat(cited).casefold() == flat(name).casefold() for name in names) or cited[:2] in names[0]
        heads = [found.group().strip() for found in headings.finditer(text) if found.start() <= start]
        if heads and citation["section"] and headings.match(citation["section"]):
            assert citation["section"] == heads[-1]
    return count


def map_calls(lab: Laboratory, job: Job) -> int:
    with lab.database.read() as rows:
        step = next(step for step in rows.jobs.steps(job.id) if step.level == 0)
        counts = rows.jobs.counts([step.id])
        return counts[step.id].calls if step.id in counts else 0


def check_shift(lab: Laboratory, name: str, before: str, after: str, headings: str, new_chunks: int) -> None:
    pattern = re.compile(headings, re.MULTILINE)
    book = lab.book(before)
    first = lab.run(load(name), book)
    assert first.state is JobState.DONE
    assert check_citations(lab.output(first), before, pattern) > 0
    book.write_text(after)
    second = lab.run(load(name), book)
    assert second.state is JobState.DONE
    assert map_calls(lab, second) == new_chunks, "a result of an unchanged chunk was not reused"
    assert check_citations(lab.output(second), after, pattern) > 0
    copied = lab.run(load(name), lab.book(after, "under another name.txt"))
    assert lab.calls(copied) == 0
    assert check_citations(lab.output(copied), after, pattern) > 0
    assert lab.canonical(copied) == lab.canonical(second)
    fresh = lab.run(load(name), lab.book(after, "third.txt"))
    assert lab.canonical(fresh) == lab.canonical(second)


@pytest.mark.parametrize("name", ["summary", "glossary", "outline"])
def test_a_chapter_inserted_at_the_front_costs_only_itself_in_english(lab: Laboratory, novel: Novel, name: str) -> None:
    before = novel(range(2, 14))
    check_shift(lab, name, before, novel([30]) + "\n" + before, r"^Chapter \d+$", new_chunks=1)


@pytest.mark.parametrize("name", ["summary", "glossary", "outline"])
def test_a_chapter_inserted_at_the_front_costs_only_itself_in_chinese(sqlite_lab: Laboratory, name: str) -> None:
    before = han_novel(list(range(2, 14)))
    check_shift(sqlite_lab, name, before, han_novel([1]) + before, r"^第.{1,3}回 .*$", new_chunks=1)


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["summary", "glossary", "outline"])
@pytest.mark.parametrize("book", ["zh/西游记.txt", "en/moby-dick_1991-etext_crlf.txt"])
def test_a_chapter_inserted_at_the_front_of_a_real_book_costs_only_itself(
    sqlite_lab: Laboratory, novel: Novel, corpus: Path, name: str, book: str
) -> None:
    path = corpus / book
    if not path.is_file():
        pytest.skip(f"the corpus has no {book} here")
    text = path.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n")[:60_000]
    new = han_novel([90]) if book.startswith("zh") else novel([99]) + "\n"
    before = re.compile(r"^(第一回|CHAPTER 1\b)", re.MULTILINE).search(text)
    assert before
    body = text[before.start() :]
    headings = r"^第\S{1,5}回 .*$" if book.startswith("zh") else r"^(Chapter 99|CHAPTER \d+)$"
    check_shift(sqlite_lab, name, body, new + body, headings, new_chunks=1)


def test_the_fold_of_a_shifted_book_is_done_again_only_along_the_way_to_the_root(
    sqlite_lab: Laboratory, novel: Novel
) -> None:
    before = novel(range(2, 200))
    book = sqlite_lab.book(before)
    first = sqlite_lab.run(load("summary"), book)
    book.write_text(novel([300]) + "\n" + before)
    second = sqlite_lab.run(load("summary"), book)
    assert sqlite_lab.calls(first) > 200
    assert sqlite_lab.calls(second) <= 1 + 6


def test_no_output_in_the_memo_holds_an_id_or_a_place(sqlite_lab: Laboratory, novel: Novel) -> None:
    """Two books in which equal chapters stand at different places have equal results only if outputs hold no place."""
    for name in ("summary", "glossary", "outline"):
        sqlite_lab.run(load(name), sqlite_lab.book(novel([5, 6, 7]), f"{name} one.txt"))
        with sqlite_lab.database.read() as rows:
            before = rows.results.count()
        shifted = sqlite_lab.run(
            load(name), sqlite_lab.book(novel([8, 9]) + "\n" + novel([5, 6, 7]), f"{name} two.txt")
        )
        assert map_calls(sqlite_lab, shifted) == (2 if name != "outline" else 0)
        assert before > 0


def test_a_jobs_export_tells_the_text_it_worked_on_even_when_the_book_has_changed_since(
    sqlite_lab: Laboratory, novel: Novel
) -> None:
    book = sqlite_lab.book(novel(3))
    job = sqlite_lab.run(load("summary"), book)
    before = sqlite_lab.canonical(job)
    book.write_text(novel(4))
    sqlite_lab.ingest(book)
    assert sqlite_lab.canonical(job) == before
