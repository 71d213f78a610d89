"""Execute one task: load its input, ask the model or the op, hand the outcome to the committer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from db.values import Claim, NewPartition, NewResult, Step
from pipeline import canonical
from pipeline.errors import OctavoError, SettingsError
from pipeline.models.protocol import Answer, Model, Request
from pipeline.ops.kinds import FoldOp, MapOp, MergeOp
from pipeline.ops.values import Json, OpOutput
from pipeline.retry import CallError, ErrorClass
from pipeline.states import WAITS
from pipeline.surroundings import Surroundings
from workers import failpoints, logs, wire
from workers.clock import now_ms
from workers.governor.port import Permit, Wait
from workers.planning.partitions import Feed, partitions_for
from workers.planning.plan import Models, StepPlan
from workers.wire import NotNowError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Work:
    """A claimed task with what it needs: a chunk's text, or the outputs of its children in order."""

    claim: Claim
    step: Step
    plan: StepPlan
    begun_ms: int  # when it was claimed: its deadline counts from here
    text: str | None = None
    tokens: int = 0
    children: Sequence[bytes] = ()  # each may be loaded when it is asked for
    top: bool = False  # the book's own node of a fold
    feeds: tuple[Feed, ...] = ()  # the merges that will take its output
    whole: bool = True  # a node that is not has its children yet to be loaded
    shown: Surroundings | None = None  # what the step shows with the chunk
    document: str | None = None  # of a chunk: its document's id, for the logs


@dataclass(frozen=True, slots=True)
class Done:
    """A call that gave a result."""

    work: Work
    result: NewResult
    started_ms: int
    ended_ms: int
    calls: int = 1  # requests to the model
    partitions: tuple[NewPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that gave an error."""

    work: Work
    error: CallError
    started_ms: int
    ended_ms: int


@dataclass(frozen=True, slots=True)
class Returned:
    """The governor gave no permit, or the provider is down: the task goes back to its row and nobody is charged."""

    work: Work
    not_before_ms: int
    reason: str
    called: bool  # a call was made and found the provider down
    started_ms: int
    ended_ms: int


class Guard(Protocol):
    """What stands before a call (workers.gate)."""

    def enter(self, work: Work, tokens: int) -> Permit | Wait | None:
        """A permit for a call that may use so many tokens, None where none is needed, or how long to wait."""

    def leave(self, permit: Permit, *, tokens: int, error: CallError | None, called: bool = True) -> bool:
        """Give a permit back; says whether the provider is down. Not `called`: the permit was not used."""

    def silent(self, permit: Permit) -> Wait | None:
        """Is its provider to be let alone by now, as this process has seen since the permit was given? How long?"""


DOWN_MS = 1_000  # a task of a provider that is down is looked at again after so long


def returned(work: Work, started: int, wait_ms: int, reason: str, *, called: bool) -> Returned:
    """Work that goes back to its row for `wait_ms`, for a reason."""
    now = now_ms()
    return Returned(work, now + wait_ms, f"{WAITS}{reason}", called, started, now)


def _unset(error: SettingsError) -> CallError:
    """What this process's settings do not allow: another try here gives the same, so the job waits for a person."""
    return CallError(ErrorClass.STOP, "model_settings", error.message, hint=error.hint)


class Executor:
    """Runs work. Safe to call from many threads."""

    def __init__(
        self, models: Models, submit: Callable[[Done | Failed | Returned], None], guard: Guard | None = None
    ) -> None:
        self._models = models
        self._submit = submit
        self._guard = guard

    def run(self, work: Work) -> None:
        """Do the work and hand its outcome over. Raises nothing that a call can cause."""
        claim = work.claim
        with logs.bound(
            job=str(work.step.job_id), task=claim.id, attempt=claim.attempt, step=work.step.name, document=work.document
        ):
            self._run(work)

    def on_wire(self, work: Work) -> bool:
        """Does its call hold a slot only while it waits for a server?"""
        try:
            return work.plan.model is not None and self._models.model(work.plan.model).on_wire
        except SettingsError:
            return False  # told when it runs

    def _run(self, work: Work) -> None:
        try:
            if self._guard is None or work.plan.limits is None:
                self._submit(self._done(work))
            else:
                self._submit(self._guarded(work, self._guard))
        finally:
            wire.on_turn(None)
            wire.leave()

    def _guarded(self, work: Work, guard: Guard) -> Done | Failed | Returned:
        started = now_ms()
        try:
            tokens = self._reserve(work)
            permit = guard.enter(work, tokens)
        except CallError as error:
            return Failed(work, error, started, now_ms())
        except SettingsError as error:
            return Failed(work, _unset(error), started, now_ms())
        if isinstance(permit, Wait):
            return returned(work, started, permit.ms, permit.reason, called=False)
        if permit is not None:
            wire.on_turn(lambda: guard.silent(permit))
        try:
            outcome = self._done(work)
        except NotNowError as refused:
            assert permit is not None
            guard.leave(permit, tokens=0, error=None, called=False)
            return returned(work, started, refused.wait.ms, refused.wait.reason, called=False)
        if permit is not None:
            failed = outcome.error if isinstance(outcome, Failed) else None
            used = outcome.result.tokens_in + outcome.result.tokens_out if isinstance(outcome, Done) else 0
            if failed is not None:
                used = failed.used.tokens_in + failed.used.tokens_out
            if guard.leave(permit, tokens=used or tokens, error=failed):
                return returned(work, started, DOWN_MS, "circuit", called=True)
        return outcome

    def _done(self, work: Work) -> Done | Failed:
        started, waited = now_ms(), wire.waited_ms()
        try:
            failpoints.reached("call.before")
            answer = self._answer(work)
            failpoints.reached("call.after")
            started += wire.waited_ms() - waited
            result, ended = self._result(work, answer, started), now_ms()
            return Done(work, result, started, ended, answer.calls, partitions_for(work.feeds, result))
        except NotNowError:
            raise
        except CallError as error:
            failure = error
        except SettingsError as error:
            failure = _unset(error)
        except OctavoError as error:
            failure = CallError(ErrorClass.INVALID_OUTPUT, "bad_output", error.message)
        except MemoryError:
            failure = CallError(ErrorClass.TRANSIENT, "out_of_memory", "The process ran out of memory")
        except (ConnectionError, TimeoutError) as error:
            failure = CallError(ErrorClass.TRANSIENT, "connection", f"{type(error).__name__}: {error}"[:500])
        except Exception as error:  # an op is a user's code: whatever it raises is a failed attempt
            log.debug("op raised", exc_info=True, extra={"op": work.plan.op.name})
            failure = CallError(ErrorClass.TRANSIENT, "op_raised", f"{type(error).__name__}: {error}"[:500])
        return Failed(work, failure, started + wire.waited_ms() - waited, now_ms())

    def _answer(self, work: Work) -> Answer:
        op = work.plan.op
        if not isinstance(op, MergeOp) and op.run is None:
            return self._ask(work)
        if isinstance(op, MapOp):
            assert op.run is not None
            params = dict(work.plan.params) | ({"before": canonical.loads(work.children[0])} if work.children else {})
            if work.shown is not None:
                params["context"] = work.shown.parts()
            return Answer(output=op.run(work.text or "", params), tokens_in=0)
        if isinstance(op, FoldOp):
            assert op.run is not None
            children = [canonical.loads(child) for child in work.children]
            return Answer(output=op.run(children, op.node_params(work.plan.params, top=work.top)))
        return Answer(output=OpOutput(value=self._merge(op, work)))

    @staticmethod
    def _merge(op: MergeOp, work: Work) -> Json:
        children = (canonical.loads(child) for child in work.children)  # one at a time: a shard is large
        if work.step.level > 1:
            return op.resolve([op.summarize(child) for child in children], work.plan.params)
        return op.merge(list(children), work.plan.params)

    def _reserve(self, work: Work) -> int:
        """Tokens that the call may use, to be asked of the limits."""
        if work.plan.model is None:
            return work.tokens
        measure = self._model(work).measure(self._request(work))
        return measure.tokens_in + measure.tokens_out

    def _ask(self, work: Work) -> Answer:
        return self._model(work).answer(self._request(work))

    def _model(self, work: Work) -> Model:
        """The model of a step. Raises SettingsError where it is another one here than when the job was planned."""
        name, planned = work.plan.model, work.plan.model_identity
        assert name is not None
        model = self._models.model(name)
        if model.identity != planned:
            # Its answers would stand in the memo under the name of the other one.
            raise SettingsError(
                f"Model {name!r} is {model.identity} here, and this job was planned with {planned}",
                hint="set its profile as it was (or pin its identity), or run the book anew: what is done is kept",
            )
        return model

    @staticmethod
    def _request(work: Work) -> Request:
        op, plan = work.plan.op, work.plan
        params = op.node_params(plan.params, top=work.top) if isinstance(op, FoldOp) else plan.params
        return Request(
            op=op.name,
            params=params,
            text=work.text,
            children=[canonical.loads(child) for child in work.children],
            tokens=work.tokens,
            ask=None if isinstance(op, MergeOp) else op.ask,
            sent=plan.sent,
            attempt=work.claim.attempt - work.claim.losses,
            timeout_s=plan.timeout_s,
            split=plan.on_overlong == "split",
            shown=work.shown.render() if work.shown is not None else "",
        )

    @staticmethod
    def _result(work: Work, answer: Answer, started: int) -> NewResult:
        output = canonical.dumps(answer.output.value)
        spans = [[span.item, span.start, span.end] for span in answer.output.spans]
        return NewResult(
            key=work.claim.key,
            op=work.plan.op.name,
            output=output,
            output_sha256=canonical.sha256(output),
            spans=canonical.dumps(spans) if spans else b"",
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            cost_micros=answer.cost_micros,
            latency_ms=now_ms() - started,
            model=work.plan.model_identity or "",
        )
