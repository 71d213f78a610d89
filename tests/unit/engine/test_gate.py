"""The gate before a call: a permit, or the task goes back to its row and nobody is charged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from db.values import Claim
from pipeline.ops.kinds import MapOp
from pipeline.ops.values import OpOutput
from pipeline.retry import ErrorClass, PermanentError, ProviderDownError, RateLimitedError
from tests.unit.engine import makers
from workers import wire
from workers.execute import Done, Executor, Failed, Returned, Work
from workers.gate import Gate
from workers.governor.local import LocalGovernor
from workers.governor.port import Circuit, Limits, Permit
from workers.governor.rules import Tuning

Op = Callable[[str, object], OpOutput]


class Clock:
    """Milliseconds that pass when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Office:
    """An executor behind a gate, with what it handed over."""

    def __init__(self, limits: Limits, answer: object = "ok") -> None:
        self.answer = answer
        self.clock = Clock()
        self.outcomes: list[Done | Failed | Returned] = []
        self.governor = LocalGovernor({"api": limits}, tuning=Tuning(downs=2), clock=self.clock)
        self.gate = Gate(self.governor, {"api": limits}, "me")
        self.executor = Executor(_NoModels(), self.outcomes.append, self.gate)

    def op(self, text: str, _params: object) -> OpOutput:
        if isinstance(self.answer, Exception):
            raise self.answer
        return OpOutput(value=self.answer)

    def work(self, *, limits: str | None = "api", tokens: int = 10, op: Op | None = None) -> Work:
        plan = replace(makers.PLAN, op=MapOp(name="ask", version=1, run=op or self.op), limits=limits)
        claim = Claim(1, 1, 1, b"k" * 32, 1, 1, 0, 1, 1, None, None)
        return Work(claim, makers.STEP, plan, 0, text="text", tokens=tokens)

    def do(self, *, limits: str | None = "api", tokens: int = 10, op: Op | None = None) -> Done | Failed | Returned:
        self.executor.run(self.work(limits=limits, tokens=tokens, op=op))
        return self.outcomes[-1]


class _Elsewhere:
    """A process in which the model is another one."""

    def model(self, name: str) -> object:
        return type("Other", (), {"identity": "openai/m@new"})()


def test_a_model_that_is_another_one_than_was_planned_answers_nothing() -> None:
    outcomes: list[Done | Failed | Returned] = []
    plan = replace(makers.PLAN, op=MapOp(name="ask", version=1), model="m", model_identity="openai/m@old")
    Executor(_Elsewhere(), outcomes.append).run(replace(makers.work(1), plan=plan))  # type: ignore[arg-type]
    (failed,) = outcomes
    assert isinstance(failed, Failed)
    assert (failed.error.kind, failed.error.code) == (ErrorClass.STOP, "model_settings")
    assert "openai/m@new" in failed.error.message
    assert "openai/m@old" in failed.error.message


class _NoModels:
    def model(self, name: str) -> object:
        raise AssertionError(name)

    def limited(self) -> list[str]:
        return ["api"]

    def limits_of(self, model: str) -> None:
        return None

    def allowance(self, limits: str | None) -> dict[str, int | None]:
        return {}


def test_a_call_inside_its_limits_is_made_and_its_permit_comes_back() -> None:
    office = Office(Limits(concurrency=1))
    assert isinstance(office.do(), Done)
    assert office.governor.state("api").in_flight == 0


def test_a_step_without_limits_passes_whatever_the_limits_are() -> None:
    office = Office(Limits(requests_per_minute=1))
    assert isinstance(office.do(limits=None), Done)


def test_a_call_that_gets_no_permit_goes_back_uncharged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.gate.PATIENCE_S", 0.0)
    office = Office(Limits(requests_per_minute=1))  # a bucket begins empty
    outcome = office.do()
    assert isinstance(outcome, Returned)
    assert (outcome.reason, outcome.called) == ("waits_requests", False)


def test_a_provider_that_is_down_opens_the_circuit_and_then_costs_no_attempt() -> None:
    office = Office(Limits(concurrency=4), ProviderDownError("503"))
    assert isinstance(office.do(), Failed)  # until it is known to be down, a failure is a failure
    second = office.do()
    assert isinstance(second, Returned)
    assert (second.reason, second.called) == ("waits_circuit", True)
    third = office.do()
    assert isinstance(third, Returned)
    assert (third.reason, third.called) == ("waits_circuit", False)
    assert office.governor.state("api").circuit is Circuit.OPEN


def test_a_rate_limit_is_told_to_the_governor_and_kept_as_a_failure_with_its_wait() -> None:
    office = Office(Limits(concurrency=4), RateLimitedError("429", retry_after_s=3))
    outcome = office.do()
    assert isinstance(outcome, Failed)
    assert outcome.error.retry_after_ms == 3000
    assert office.governor.state("api").cool_for_ms > 2000


def test_an_error_of_the_call_itself_says_nothing_of_the_provider() -> None:
    office = Office(Limits(concurrency=4), PermanentError("no"))
    for _ in range(5):
        assert isinstance(office.do(), Failed)
    assert office.governor.state("api").circuit is Circuit.CLOSED


def test_a_call_that_could_never_fit_its_limit_is_a_failure_at_once() -> None:
    office = Office(Limits(tokens_per_minute=100))
    outcome = office.do(tokens=1000)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "over_limit"


def test_a_call_that_waited_for_its_slot_while_another_was_told_later_goes_back_uncalled() -> None:
    """It had its permit before the 429 came: it keeps the silence all the same, and is charged for nothing."""
    office = Office(Limits(concurrency=4))
    called: list[int] = []

    class Late(threading.BoundedSemaphore):
        """A slot that is free once another call was told to come later."""

        def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
            if blocking:
                permit = office.gate.enter(office.work(), 10)
                assert isinstance(permit, Permit)
                office.gate.leave(permit, tokens=10, error=RateLimitedError("429", retry_after_s=3))
            return blocking and super().acquire()

    def asks(_text: str, _params: object) -> OpOutput:
        wire.enter()
        called.append(1)
        return OpOutput(value="ok")

    wire.here.set(wire.Wire(Late(1), lambda: None))
    try:
        outcome = office.do(op=asks)
    finally:
        wire.here.set(None)
    assert isinstance(outcome, Returned)
    assert (outcome.reason, outcome.called, called) == ("waits_cool_down", False, [])
    assert office.governor.state("api").in_flight == 0
