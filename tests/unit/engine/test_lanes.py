"""Lanes: what is put in is run once, by no more threads than there are slots, and windows stay bounded."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.unit.engine import makers
from workers import lanes
from workers.lanes import Lane

WAIT_S = 10


class Recorder:
    """An engine that notes what it is rung for and ends the tasks."""

    def __init__(self, lane: Lane, wanted: int) -> None:
        self.rung: list[list[int]] = []
        self.most = 0
        self.all = threading.Event()
        self._lane, self._wanted, self._now, self._lock = lane, wanted, 0, threading.Lock()

    def run(self, rung: Sequence[tuple[int, int]]) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.rung.append([task_id for task_id, epoch in rung if self._lane.begin(task_id, epoch)])
        self.meanwhile()
        with self._lock:
            self._now -= 1
            if sum(map(len, self.rung)) == self._wanted:
                self.all.set()

    def meanwhile(self) -> None:
        """What a call does."""

    def tend(self) -> None:
        """Nothing to look at."""


def test_every_task_that_is_put_in_is_run_once() -> None:
    lane = Lane("x", 8, 512)
    recorder = Recorder(lane, 500)
    lane.start(recorder)
    for at in range(0, 500, 50):
        lane.put([makers.work(task_id) for task_id in range(at, at + 50)])
    assert recorder.all.wait(WAIT_S)
    lane.stop(WAIT_S)
    assert sorted(task_id for rung in recorder.rung for task_id in rung) == list(range(500))


def test_short_tasks_are_rung_for_several_at_once_and_long_ones_singly() -> None:
    lane = Lane("x", 1, 512)
    recorder = Recorder(lane, 200)
    lane.start(recorder)
    lane.put([makers.work(task_id) for task_id in range(200)])
    assert recorder.all.wait(WAIT_S)
    lane.stop(WAIT_S)
    assert len(recorder.rung[0]) == 1  # nothing is known of its length
    assert 1 < max(map(len, recorder.rung)) <= lanes.RUNG_MOST
    lane._learn(makers.work(1).plan, 100.0)
    assert lane._most(makers.work(1).plan) == 1


def test_a_hung_call_is_given_up_alone_and_what_was_rung_with_it_runs_elsewhere() -> None:
    lane = Lane("x", 1, 512)
    plan = replace(makers.work(1).plan, timeout_s=0.01)
    release, hung = threading.Event(), threading.Event()
    ran: list[int] = []

    class Hanging(Recorder):
        def run(self, rung: Sequence[tuple[int, int]]) -> None:
            for task_id, epoch in rung:
                if lane.begin(task_id, epoch):
                    ran.append(task_id)
                    if task_id == 50:
                        hung.set()
                        release.wait(WAIT_S)
            if len(ran) == 100:
                self.all.set()

    engine = Hanging(lane, 100)
    lane.start(engine)
    lane.put([makers.work(task_id, plan) for task_id in range(100)])
    assert hung.wait(WAIT_S)
    given_up: list[int] = []
    deadline = time.monotonic() + WAIT_S
    while not given_up and time.monotonic() < deadline:
        given_up = [work.claim.id for work in lane.give_up_hung()]
    assert engine.all.wait(WAIT_S)
    release.set()
    lane.stop(WAIT_S)
    assert given_up == [50]
    assert sorted(ran) == list(range(100))


def test_all_slots_come_to_work_when_calls_wait_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "RUNG_S", 0)  # one by one
    lane = Lane("x", 4, 64)
    together = threading.Barrier(4)

    class Waiting(Recorder):
        def meanwhile(self) -> None:
            together.wait(WAIT_S)

    recorder = Waiting(lane, 16)
    lane.start(recorder)
    lane.put([makers.work(task_id) for task_id in range(16)])
    assert recorder.all.wait(WAIT_S)
    lane.stop(WAIT_S)
    assert recorder.most == 4


def test_an_op_that_is_cheaper_than_a_message_gets_several_tasks_and_another_one() -> None:
    lane = Lane("x", 1, 64)
    many, single = makers.plan(batch=3), makers.plan()
    recorder = Recorder(lane, 6)
    lane.put([*(makers.work(task_id, many) for task_id in range(4)), makers.work(4, single), makers.work(5, single)])
    lane.start(recorder)
    assert recorder.all.wait(WAIT_S)
    lane.stop(WAIT_S)
    assert recorder.rung == [[0, 1, 2], [3], [4], [5]]


def test_what_no_thread_has_begun_is_given_back() -> None:
    lane = Lane("x", 0, 64)
    lane.put([makers.work(1), makers.work(2)])
    assert [work.claim.id for work in lane.drain()] == [1, 2]
    assert lane.in_flight == 0


def test_a_task_of_an_older_epoch_is_not_found() -> None:
    lane = Lane("x", 0, 64)
    lane.put([makers.work(1)])
    assert lane.get(1, 1) is not None
    assert lane.get(1, 2) is None


def test_room_is_made_by_quarters_of_the_window() -> None:
    lane = Lane("x", 0, 8)
    works = [makers.work(task_id) for task_id in range(8)]
    lane.put(works)
    lane.ended(works[0])
    assert lane.room == 0
    lane.ended(works[1])
    assert lane.room == 2


@pytest.mark.parametrize(("pause", "window"), [(0.001, lanes.WINDOW_MOST), (10.0, 64)])
def test_a_window_grows_to_its_bound_for_quick_calls_and_not_for_slow_ones(
    monkeypatch: pytest.MonkeyPatch, pause: float, window: int
) -> None:
    clock = [1.0]
    monkeypatch.setattr(lanes.time, "monotonic", lambda: clock[0])
    lane = Lane("x", 0, 64)
    for at in range(0, 640, 16):
        lane.put([makers.work(task_id) for task_id in range(at, at + 16)])
        clock[0] += pause
    assert lane.window == window


def test_a_lane_is_stocked_once_its_tasks_last_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1.0]
    monkeypatch.setattr(lanes.time, "monotonic", lambda: clock[0])
    lane = Lane("x", 0, 64)
    lane.put([makers.work(1)])
    assert not lane.stocked
    clock[0] += 1.0
    assert lane.stocked
    lane.drain()
    assert not lane.stocked
