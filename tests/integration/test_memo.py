"""The memo: shared by jobs, pipelines and documents; what was computed once is never computed again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence

from db.values import NewResult
from octavo import map_op, reduce_op
from pipeline import canonical
from pipeline.spec import load, parse
from pipeline.states import JobState
from tests.integration.conftest import Laboratory

Novel = Callable[..., str]


def result(key: bytes, output: bytes = b"1") -> NewResult:
    return NewResult(
        key=key, op="o", output=output, output_sha256=canonical.sha256(output), spans=b"", tokens_in=0, tokens_out=0,
        cost_micros=0, latency_ms=0, model="",
    )  # fmt: skip


def test_a_text_that_came_back_costs_nothing(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(5))
    for text, free in ((novel(5), False), (novel([1, 2, 9, 4, 5]), False), (novel(5), True)):
        book.write_text(text)
        job = lab.run(load("summary"), book)
        assert (lab.calls(job) == 0) is free
        assert job.state is JobState.DONE


def test_pipelines_share_the_results_of_equal_steps(lab: Laboratory, novel: Novel) -> None:
    book = lab.book(novel(6))
    one, two = (f'name = "{n}"\n[[step]]\nname = "{n}"\nkind = "map"\nop = "extract"\n' for n in ("one", "two"))
    assert lab.calls(lab.run(one, book)) == 6
    assert lab.calls(lab.run(two, book)) == 0


def test_the_second_result_of_a_key_is_dropped_and_the_first_stays(lab: Laboratory) -> None:
    key = b"k" * 32
    with lab.database.write() as rows:
        rows.results.add([result(key, b'"first"')])
    with lab.database.write() as rows:
        rows.results.add([result(key, b'"second"'), result(b"l" * 32, b'"other"')])
    with lab.database.read() as rows:
        assert rows.results.outputs([key, b"l" * 32]) == {key: b'"first"', b"l" * 32: b'"other"'}


def test_processes_that_write_the_same_keys_crosswise_do_not_lock_each_other_out(lab: Laboratory) -> None:
    keys = [bytes([n]) * 32 for n in range(100)]
    barrier = threading.Barrier(4, timeout=30)
    errors: list[Exception] = []

    def write(order: Sequence[bytes], owner: str) -> None:
        try:
            for turn in range(8):
                barrier.wait()
                with lab.database.write() as rows:
                    rows.leases.acquire([(key, n, 1) for n, key in enumerate(order)], owner=owner, now_ms=9, until_ms=5)
                with lab.database.write() as rows:
                    rows.results.add([result(canonical.sha256(key + bytes([turn]))) for key in order])
                with lab.database.write() as rows:
                    rows.leases.release(order, owner=owner)
        except Exception as error:  # noqa: BLE001  # told below
            errors.append(error)
            barrier.abort()

    threads = [
        threading.Thread(target=write, args=(keys if number % 2 else keys[::-1], f"owner {number}"))
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []


def test_an_edit_that_does_not_change_an_output_stops_there(lab: Laboratory, novel: Novel) -> None:
    calls: Counter[str] = Counter()

    @map_op(version=1)
    def first_line(text: str) -> list[str]:
        calls["map"] += 1
        return text.split("\n")[:1]

    @reduce_op(version=1)
    def gather(children: Sequence[list[str]]) -> list[str]:
        calls["fold"] += 1
        return [line for child in children for line in child]

    lab.teach(first_line, gather)
    toml = (
        'name = "p"\n[[step]]\nname = "m"\nkind = "map"\nop = "first_line"\n'
        '[[step]]\nname = "f"\nkind = "fold"\nop = "gather"\n'
    )
    book = lab.book(novel(8))
    lab.run(parse(toml, "test"), book)
    calls.clear()
    book.write_text(novel(8).replace("On day 30 ", "On the day 30 "))
    job = lab.run(parse(toml, "test"), book)
    assert calls == {"map": 1}, "the heading is the same, so no node of the fold changes"
    assert lab.output(job)["value"] == [f"Chapter {n}" for n in range(1, 9)]


def test_a_job_over_two_books_has_an_output_for_each_and_shares_their_chunks(lab: Laboratory, novel: Novel) -> None:
    books = [lab.book(novel([1, 2, 3]), "a.txt"), lab.book(novel([3, 2, 5]), "b.txt")]
    job = lab.run(load("summary"), *books)
    assert job.state is JobState.DONE
    found = lab.output(job)["documents"]
    assert [part["document"] for part in found] == ["a", "b"]
    assert all(part["sentences"] for part in found)
    for part, book in zip(found, books, strict=True):
        text = book.read_text()
        for sentence in part["sentences"]:
            (citation,) = sentence["citations"]
            assert citation["document"] == part["document"]
            assert " ".join(text[citation["start"] : citation["end"]].split()) == " ".join(sentence["text"].split())
    with lab.database.read() as rows:
        step = rows.jobs.steps(job.id)[0]
        assert rows.jobs.counts([step.id])[step.id].calls == 4, "six chunks, four texts"
