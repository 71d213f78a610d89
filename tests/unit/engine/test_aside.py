"""What is computed beside a page: once for all who ask, kept while it is good, and a fault is told to who asked."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from workers.faces.aside import Aside


def test_an_answer_is_computed_once_for_all_who_ask() -> None:
    computed: Counter[int] = Counter()

    def compute(key: int) -> int:
        computed[key] += 1
        return key * 2

    answers = Aside("test", compute, for_ever=True, kept=1000)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(answers.of, key, wait_s=10) for key in range(200) for _ in range(8)]
        assert [future.result() for future in asked] == [key * 2 for key in range(200) for _ in range(8)]
    answers.close()
    assert set(computed.values()) == {1}


def test_who_does_not_wait_is_told_that_it_is_being_made() -> None:
    may = threading.Event()
    answers = Aside("test", lambda key: may.wait(10) and key)
    assert answers.of("a", wait_s=0) is None
    may.set()
    assert answers.of("a", wait_s=10) == "a"
    answers.close()


def test_what_computing_raised_is_told_and_is_tried_again() -> None:
    faults = [ValueError("not now")]

    def compute(key: str) -> str:
        if faults:
            raise faults.pop()
        return key

    answers = Aside("test", compute)
    with pytest.raises(ValueError, match="not now"):
        answers.of("a", wait_s=10)
    assert answers.of("a", wait_s=10) == "a"
    answers.close()


def test_no_more_is_kept_than_allowed() -> None:
    computed: list[int] = []
    answers = Aside("test", lambda key: computed.append(key) or key, kept=2)
    for key in (1, 2, 3, 2, 1):
        answers.of(key, wait_s=10)
    answers.close()
    assert computed == [1, 2, 3, 1]
