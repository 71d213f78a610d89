"""The committer: outcomes are committed in groups, none is left behind, and a failure is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from db.errors import DatabaseFullError
from tests.unit.engine import makers
from workers import commit as committing
from workers.commit import Committer

WAIT_S = 10


class Store:
    """A database that notes the groups."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.groups: list[list[int]] = []
        self.fails = False
        self.ended: list[int] = []
        self.told = threading.Event()
        monkeypatch.setattr(committing, "commit", self._commit)

    @contextmanager
    def write(self) -> Iterator[None]:
        if self.fails:
            raise DatabaseFullError("no space")
        yield

    def _commit(self, rows: Any, owner: str, group: Sequence[Any]) -> int:
        self.groups.append([item.work.claim.id for item in group])
        return len(group)

    def end(self, works: Sequence[Any]) -> None:
        self.ended += [work.claim.id for work in works]
        self.told.set()


def test_half_of_what_is_in_flight_is_committed_without_waiting_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "LINGER_S", 1000)
    store = Store(monkeypatch)
    committer = Committer(store, "me", store.end, lambda: 4)
    committer.submit(makers.done(1))
    committer.submit(makers.done(2))
    assert store.told.wait(WAIT_S)
    assert store.groups == [[1, 2]]
    committer.close()


def test_an_outcome_that_stays_alone_is_committed_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(monkeypatch)
    committer = Committer(store, "me", store.end, lambda: 1000)
    committer.submit(makers.done(1))
    assert store.told.wait(WAIT_S)
    assert store.groups == [[1]]
    committer.close()


def test_closing_commits_all_that_was_handed_over_in_order_and_in_bounded_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(committing, "LINGER_S", 1000)
    monkeypatch.setattr(committing, "ENOUGH", 10_000)
    monkeypatch.setattr(committing, "GROUP", 7)
    store = Store(monkeypatch)
    committer = Committer(store, "me", store.end, lambda: 10_000)
    for task_id in range(30):
        committer.submit(makers.done(task_id))
    committer.close()
    assert [task_id for group in store.groups for task_id in group] == list(range(30))
    assert max(map(len, store.groups)) == 7
    assert store.ended == list(range(30))


def test_a_full_disk_is_told_and_nothing_is_taken_for_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(monkeypatch)
    store.fails = True
    committer = Committer(store, "me", store.end)
    committer.submit(makers.done(1))
    committer.close()
    assert isinstance(committer.failure, DatabaseFullError)
    assert store.groups == []
