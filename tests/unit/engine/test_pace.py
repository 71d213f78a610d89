"""How far a window opens, and when a consumer that holds all it may is woken."""

from __future__ import annotations

from types import SimpleNamespace
from uuid import UUID

import pytest

from octavo import map_op, reduce_op
from pipeline.ops.decorators import MARK
from workers.distributed import dispatcher, worker
from workers.distributed.dispatcher import MOST_IN_MESSAGE, MOST_SCALE, MOST_TOGETHER, Pace, per_message

JOB = UUID(int=1)
WINDOW = 64


def _rounds(monkeypatch: pytest.MonkeyPatch, **rates: float) -> int:
    """The scale after rounds of a job whose tasks end at this rate."""
    return _paced(monkeypatch, **rates).scale(JOB)


def _paced(
    monkeypatch: pytest.MonkeyPatch, *, every_s: float, ended_a_round: int, rounds: int, planned: int = 10**9
) -> Pace:
    """The pace after rounds of a job whose tasks end at this rate; `planned` become ready each round."""
    now = [1000.0]
    monkeypatch.setattr(dispatcher, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pace, in_flight, ready = Pace(), 0, 0
    for _ in range(rounds):
        now[0] += every_s
        ready += planned
        in_flight = max(0, in_flight - ended_a_round)
        bells = min(ready, WINDOW * pace.scale(JOB) - in_flight)
        ready -= bells
        if bells:
            pace.rung(JOB, before=in_flight, after=in_flight + bells)
            in_flight += bells
    return pace


@pytest.mark.parametrize(
    ("ended_a_round", "batch", "together"),
    [
        pytest.param(16, 1, 1, id="slow calls have a message each"),
        pytest.param(110, 1, 2, id="calls of some 20 ms share one with another"),
        pytest.param(10**6, 1, MOST_TOGETHER, id="what ends at once shares one with seven"),
        pytest.param(10**6, 12, 12, id="an op that takes more at a time is given more"),
        pytest.param(10**6, 99, MOST_IN_MESSAGE, id="and no more than fits into a message"),
    ],
)
def test_a_message_rings_for_several_tasks_of_a_map_that_end_soon(
    monkeypatch: pytest.MonkeyPatch, ended_a_round: int, batch: int, together: int
) -> None:
    pace = _paced(monkeypatch, every_s=0.1, ended_a_round=ended_a_round, rounds=50)
    plan = SimpleNamespace(op=getattr(map_op(version=1, batch=batch)(lambda text: text), MARK))
    assert per_message(plan, pace.together(JOB)) == together  # type: ignore[arg-type]


def test_a_node_of_a_reduce_has_a_message_of_its_own() -> None:
    plan = SimpleNamespace(op=getattr(reduce_op(version=1)(lambda children: children), MARK))
    assert per_message(plan, MOST_TOGETHER) == 1  # type: ignore[arg-type]


def test_slow_calls_leave_the_window_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """32 slots, 200 ms: 16 of 64 end in a tenth of a second."""
    assert _rounds(monkeypatch, every_s=0.1, ended_a_round=16, rounds=50) == 1


def test_a_window_that_is_filled_as_tasks_are_planned_is_not_taken_for_one_that_runs_dry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _rounds(monkeypatch, every_s=0.01, ended_a_round=1, rounds=30, planned=5) == 1


def test_tasks_that_end_as_fast_as_they_are_rung_for_open_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _rounds(monkeypatch, every_s=0.1, ended_a_round=10**6, rounds=10) == MOST_SCALE


def test_it_closes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(dispatcher, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pace = Pace()
    for _ in range(10):
        now[0] += 0.1
        pace.rung(JOB, before=0, after=WINDOW)
    assert pace.scale(JOB) == MOST_SCALE
    for _ in range(10):
        now[0] += 4
        pace.rung(JOB, before=WINDOW * 3 // 4, after=WINDOW)
    assert pace.scale(JOB) == 1
    pace.keep([])
    assert pace.scale(JOB) == 1


def test_a_full_window_of_slow_calls_leaves_time_for_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = _paced(monkeypatch, every_s=0.1, ended_a_round=16, rounds=50)
    assert not slow.outlasts(JOB), "nobody has seen its window full"
    slow.filled(JOB, full=True)
    assert slow.outlasts(JOB)
    slow.filled(JOB, full=False)
    assert not slow.outlasts(JOB), "there are too few tasks for it: more are to be planned at once"
    quick = _paced(monkeypatch, every_s=0.1, ended_a_round=10**6, rounds=10)
    quick.filled(JOB, full=True)
    assert not quick.outlasts(JOB), "it runs dry before the next batch is planned"


@pytest.mark.parametrize(("held", "settled", "woken"), [(32, 0, 1), (32, 1, 1), (32, 2, 0), (3, 0, 0)])
def test_a_consumer_is_woken_when_it_may_take_messages_again(
    monkeypatch: pytest.MonkeyPatch, held: int, settled: int, woken: int
) -> None:
    calls: list[object] = []
    qos = SimpleNamespace(prefetch_count=32, _delivered=dict.fromkeys(range(held)), _dirty=set(range(settled)))
    consumer = SimpleNamespace(
        task_consumer=SimpleNamespace(channel=SimpleNamespace(qos=qos)), hub=SimpleNamespace(call_soon=calls.append)
    )
    monkeypatch.setattr(worker._plan, "consumer", consumer)
    worker._rouse()
    assert len(calls) == woken
