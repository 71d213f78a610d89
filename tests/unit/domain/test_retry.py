"""A retry is a returned decision: tables of (error, attempt) to decision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.retry import CAP_MS, CallError, Decision, ErrorClass, decide

NOW = 1_000_000


def ask(
    kind: ErrorClass, attempt: int = 1, attempts: int = 4, *, after: int | None = None, seed: bytes = b"s"
) -> Decision:
    error = CallError(kind, "code", "message", retry_after_ms=after)
    return decide(error, attempt=attempt, attempts=attempts, now_ms=NOW, seed=seed)


@pytest.mark.parametrize(
    ("kind", "again"),
    [
        (ErrorClass.RATE_LIMITED, True),
        (ErrorClass.TRANSIENT, True),
        (ErrorClass.INVALID_OUTPUT, True),
        (ErrorClass.OVERLONG, False),
        (ErrorClass.PERMANENT, False),
    ],
)
def test_the_class_of_an_error_decides_whether_there_is_another_try(kind: ErrorClass, again: bool) -> None:
    assert ask(kind).again is again
    assert ask(kind, attempt=3).again is again
    assert ask(kind, attempt=4).again is False, "the last attempt is the last"
    assert ask(kind, attempt=1, attempts=1).again is False


def test_every_class_of_error_has_a_decision() -> None:
    assert {ask(kind).again for kind in ErrorClass} == {True, False}


@given(attempt=st.integers(1, 99), after=st.none() | st.integers(0, 10**7), seed=st.binary(max_size=8))
def test_the_wait_is_within_its_bounds_and_never_shorter_than_what_the_provider_asked(
    attempt: int, after: int | None, seed: bytes
) -> None:
    for kind in (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED):
        decision = ask(kind, attempt, 100, after=after, seed=seed)
        assert decision.again
        wait = decision.not_before_ms - NOW
        assert (after or 0) <= wait <= max(after or 0, min(CAP_MS, 500 * 2 ** (attempt - 1)))


def test_waits_grow_and_are_spread_over_their_whole_range() -> None:
    def waits(attempt: int) -> list[int]:
        return [ask(ErrorClass.TRANSIENT, attempt, 100, seed=bytes([n])).not_before_ms - NOW for n in range(200)]

    assert max(waits(1)) <= 500 < max(waits(3)) <= 2000 < max(waits(20)) <= CAP_MS
    assert min(waits(20)) < CAP_MS / 10
    assert len(set(waits(20))) > 190


def test_invalid_output_is_asked_again_at_once() -> None:
    assert ask(ErrorClass.INVALID_OUTPUT).not_before_ms == NOW


def test_the_same_error_of_the_same_task_gives_the_same_decision() -> None:
    assert ask(ErrorClass.TRANSIENT, 3) == ask(ErrorClass.TRANSIENT, 3)
