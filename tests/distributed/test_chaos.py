"""Chaos by seed: whatever is killed, emptied, stopped or cut off, the job ends as if nobody had touched it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.distributed.books import WHOLE, book
from tests.distributed.chaos import SLACK_S, Chaos
from tests.distributed.fleet import Fleet
from tests.distributed.servers import until

SHORT, NIGHTLY = 3, 20


def _job(fleet: Fleet, text: str) -> str:
    """The id of a job that `octavo run` began; that process looks on."""
    fleet.write_book(text)
    (fleet.folder / "whole.toml").write_text(WHOLE)
    run = fleet.cli("run", "book.md", "-p", "whole.toml", "--json")

    def begun() -> list[tuple[str]]:
        assert run.poll() is None, run.communicate()
        return fleet.ask("SELECT id FROM jobs")

    return str(until(begun, within_s=60, what="the job is begun")[0][0])


def _disturb(
    fleet: Fleet, calm: bytes, text: str, seed: int, *, count: int, spacing_s: float, latency_ms: int, flower: bool
) -> None:
    fleet.provider.rule("map", latency_ms=latency_ms)
    fleet.provider.rule("fold", latency_ms=latency_ms)
    for _ in range(2):
        fleet.worker("--events", slots=8, wait=False)
    if flower:
        fleet.start_flower()
    job = _job(fleet, text)
    chaos = Chaos(fleet, seed)
    fleet.done(1, within_s=60)
    chaos.run(job, count, spacing_s, within_s=300)
    assert chaos.worst_overdue_s <= SLACK_S, str(chaos)
    assert fleet.state(job) == "done", f"{chaos}\n{fleet.picture()}"
    fleet.check_ended_right(job, calm)


@pytest.mark.parametrize("seed", range(1, SHORT + 1))
def test_a_job_ends_right_through_chaos(fleet: Fleet, calm: Callable[[str, str], bytes], seed: int) -> None:
    text = book(280)
    _disturb(fleet, calm(WHOLE, text), text, seed, count=5, spacing_s=1.0, latency_ms=300, flower=seed == 1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 100 + NIGHTLY))
def test_a_long_job_ends_right_through_long_chaos(fleet: Fleet, calm: Callable[[str, str], bytes], seed: int) -> None:
    text = book(5_000)
    _disturb(fleet, calm(WHOLE, text), text, seed, count=18, spacing_s=4, latency_ms=200, flower=True)
