"""Claims, commits, fences, keys, retries, holes and decisions, on SQLite and PostgreSQL."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from sqlalchemy import event

from db.repositories.jobs import JobRepository
from db.values import Job
from octavo import map_op, reduce_op
from pipeline.errors import PipelineError
from pipeline.read.reading import SectionKind
from pipeline.retry import CallError, ErrorClass
from pipeline.spec import load, parse
from pipeline.states import JobState, Outcome, StepState, TaskState
from tests.integration.conftest import Laboratory
from workers import control
from workers.claim import claim
from workers.clock import now_ms
from workers.commit import commit
from workers.embedded import EmbeddedRunner
from workers.execute import Done, Executor, Failed, Work
from workers.load import Loader
from workers.planning.context import load_context
from workers.reconcile import EMBEDDED_PATIENCE, POISONED, reconcile
from workers.transitions import advance

Novel = Callable[..., str]


def pipeline(*steps: str, limit: int = 1000) -> str:
    """TOML of steps given as `name kind op key=value …`."""
    text = f'name = "test"\n[grain]\nlimit = {limit}\n'
    for step in steps:
        name, kind, op, *more = step.split()
        text += f'[[step]]\nname = "{name}"\nkind = "{kind}"\nop = "{op}"\n'
        for item in more:
            key, _, value = item.partition("=")
            text += f"{key} = {value}\n"
    return text


class Probe:
    """An op that counts its calls by text and does what the test says."""

    def __init__(self, name: str = "probe") -> None:
        self.calls: Counter[str] = Counter()
        self.act: Callable[[str], object] = len
        self.lock = threading.Lock()

        @map_op(name=name, version=1)
        def probe(text: str) -> object:
            with self.lock:
                self.calls[text] += 1
            return self.act(text)

        self.op = probe

    @property
    def total(self) -> int:
        return sum(self.calls.values())


@pytest.fixture
def probe(lab: Laboratory) -> Probe:
    made = Probe()

    @reduce_op(version=1)
    def total(children: Sequence[int]) -> int:
        return sum(children)

    lab.teach(made.op, total)
    return made


def transient(_: str) -> object:
    raise CallError(ErrorClass.TRANSIENT, "down", "the line is down")


def permanent(_: str) -> object:
    raise CallError(ErrorClass.PERMANENT, "refused", "no")


def failing_on(word: str, act: Callable[[str], object]) -> Callable[[str], object]:
    """Do `act` for texts that hold the word, else give their length."""
    return lambda text: act(text) if word in text else len(text)


class Hand:
    """A process moved by hand: claims, runs and commits when told."""

    def __init__(self, lab: Laboratory, job: Job, owner: str, lease_ms: int = 60_000) -> None:
        self.lab, self.job, self.owner, self.lease_ms = lab, job, owner, lease_ms
        self.loader = Loader(lab.database, lab.ops)

    def advance(self) -> None:
        context = load_context(self.lab.database, self.lab.ops, self.job.id)
        while advance(self.lab.database, context):
            pass

    def take(self, limit: int = 1000, *, suspects: bool = False) -> list[Work]:
        with self.lab.database.read() as rows:
            steps = [step.id for step in rows.jobs.steps(self.job.id)]
        taken = claim(
            self.lab.database, steps, limit=limit, owner=self.owner, lease_ms=self.lease_ms, suspects=suspects
        )
        return self.loader.load(taken.claims)

    def run(self, works: Sequence[Work]) -> list[Done | Failed]:
        ended: list[Done | Failed] = []
        executor = Executor(self.lab.main, ended.append)
        for work in works:
            executor.run(work)
        return ended

    def commit(self, ended: Sequence[Done | Failed]) -> int:
        with self.lab.database.write() as rows:
            return commit(rows, self.owner, ended)


def states(lab: Laboratory, job: Job, position: int = 0, level: int = 0) -> Counter[str]:
    return Counter(str(task.state) for task in lab.tasks(job, position, level))


def begun(lab: Laboratory, text: str, owner: str = "one", **more: int) -> tuple[Job, Hand]:
    job = lab.begin(pipeline("m map probe attempts=3"), lab.book(text))
    hand = Hand(lab, job, owner, **more)
    hand.advance()
    return job, hand


# Fences


def test_an_outcome_with_an_old_epoch_changes_nothing(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, zombie = begun(lab, novel(3), lease_ms=-1)
    late = zombie.run(zombie.take())
    assert reconcile(lab.database, dead=lambda owners: []) == 3
    other = Hand(lab, job, "two")
    works = other.take()
    assert len(works) == 3
    with lab.database.read() as rows:
        before = rows.results.count()
    assert zombie.commit(late) == 0
    with lab.database.read() as rows:
        assert rows.results.count() == before
        assert rows.leases.owners() == {"two"}, "a zombie gives back no key that another holds now"
    assert states(lab, job) == {"leased": 3}
    assert other.commit(other.run(works)) == 3
    assert states(lab, job) == {"done": 3}
    outcomes = Counter(attempt.outcome for attempt in lab.attempts(*[task.id for task in lab.tasks(job)]))
    assert outcomes == {Outcome.LOST: 3, Outcome.DONE: 3}


def test_an_outcome_of_a_task_that_is_gone_changes_nothing_and_frees_its_key(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    """A person retries holes while a reduce over them runs: its levels are planned anew under the runner."""
    probe.act = failing_on("Chapter 2\n", permanent)
    job = lab.begin(pipeline("m map probe attempts=1", "r fold total"), lab.book(novel(4)))
    hand = Hand(lab, job, "one")
    hand.advance()
    hand.commit(hand.run(hand.take()))
    hand.advance()
    late = hand.run(hand.take())
    assert late
    assert control.retry(lab.database, str(job.id))[1] == 1
    assert hand.commit(late) == 0
    with lab.database.read() as rows:
        assert rows.leases.owners() == set(), "the key of a task that is gone would stay taken until its lease ran out"
    probe.act = len
    assert lab.work(job).state is JobState.DONE


def test_a_leased_task_is_given_to_nobody_else(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, one = begun(lab, novel(5))
    two = Hand(lab, job, "two")
    first, second = one.take(3), two.take()
    assert (len(first), len(second)) == (3, 2)
    assert not {work.claim.id for work in first} & {work.claim.id for work in second}
    assert two.take() == []


def test_many_processes_that_claim_at_once_share_the_tasks_without_loss(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    job, _ = begun(lab, novel(60))
    found: list[Work] = []
    lock = threading.Lock()

    def grab(owner: str) -> None:
        hand = Hand(lab, job, owner)
        while works := hand.take(7):
            with lock:
                found.extend(works)
            hand.commit(hand.run(works))

    threads = [threading.Thread(target=grab, args=(f"owner {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert Counter(work.claim.id for work in found) == {task.id: 1 for task in lab.tasks(job)}
    assert states(lab, job) == {"done": 60}
    assert set(probe.calls.values()) == {1}


# Keys


def test_the_losers_of_a_key_wait_and_the_winners_commit_finishes_them_all(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    job, one = begun(lab, novel([1]) * 5)
    other = lab.begin(pipeline("n map probe attempts=3"), lab.book(novel([1]), "copy.txt"))
    second = Hand(lab, other, "two")
    second.advance()
    works = one.take()
    assert len(works) == 1
    assert second.take() == [], "another job wants the same key"
    assert states(lab, job) == {"leased": 1, "waiting_key": 4}
    assert states(lab, other) == {"waiting_key": 1}
    one.commit(one.run(works))
    assert states(lab, job) == {"done": 5}
    assert states(lab, other) == {"done": 1}
    assert probe.total == 1
    assert sum(task.hit for task in lab.tasks(job)) == 4


def test_the_winners_failure_frees_the_key_for_the_next(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, one = begun(lab, novel([1]) * 3)
    probe.act = permanent
    one.commit(one.run(one.take()))
    assert states(lab, job) == {"failed": 1, "ready": 2}
    probe.act = len
    one.commit(one.run(one.take()))
    assert states(lab, job) == {"failed": 1, "done": 2}


def test_the_winners_death_frees_the_key_for_the_next(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, one = begun(lab, novel([1]) * 3)
    one.take()
    assert reconcile(lab.database, dead=lambda owners: list(owners)) == 1
    assert states(lab, job) == {"ready": 3}
    two = Hand(lab, job, "two")
    two.commit(two.run(two.take()))
    assert states(lab, job) == {"done": 3}


def test_tasks_that_wait_for_a_key_nobody_computes_are_freed(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, one = begun(lab, novel([1]) * 3)
    one.take()
    with lab.database.write() as rows:
        rows.leases.drop(["one"], now_ms())
    reconcile(lab.database, dead=lambda owners: [])
    assert states(lab, job) == {"leased": 1, "ready": 2}


# Leases


def test_a_lease_that_ran_out_goes_back_with_a_lost_attempt(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, one = begun(lab, novel(2), lease_ms=-1)
    one.take()
    assert reconcile(lab.database, dead=lambda owners: []) == 2
    for task in lab.tasks(job):
        assert (task.state, task.losses, task.error_code) == (TaskState.READY, 1, "lease_lost")
        (attempt,) = lab.attempts(task.id)
        assert (attempt.outcome, attempt.owner, attempt.epoch) == (Outcome.LOST, "one", 1)
    assert reconcile(lab.database, dead=lambda owners: []) == 0


def test_a_lease_that_was_renewed_does_not_run_out(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, one = begun(lab, novel(2), lease_ms=-1)
    works = one.take()
    with lab.database.write() as rows:
        rows.tasks.renew("one", [work.claim.id for work in works], now_ms() + 60_000)
        rows.leases.renew("one", [work.claim.key for work in works], now_ms() + 60_000)
    assert reconcile(lab.database, dead=lambda owners: []) == 0
    assert states(lab, job) == {"leased": 2}


def test_a_task_that_lost_two_leases_runs_alone(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, _ = begun(lab, novel(12))
    suspect = lab.tasks(job)[3]
    for number in range(2):
        hand = Hand(lab, job, f"victim {number}", lease_ms=-1)
        taken = hand.take()
        kept = [work for work in taken if work.claim.id != suspect.id]
        with lab.database.write() as rows:
            rows.tasks.give_back([work.claim.id for work in kept])
            rows.leases.release([work.claim.key for work in kept], owner=hand.owner)
        assert reconcile(lab.database, dead=lambda owners: []) == 1
    assert len(Hand(lab, job, "healthy", lease_ms=-1).take()) == 11, "a suspect is not given with others"
    reconcile(lab.database, dead=lambda owners: [])
    running, most_beside_the_suspect = 0, -1
    lock = threading.Lock()

    def act(text: str) -> int:
        nonlocal running, most_beside_the_suspect
        with lock:
            running += 1
            if "Chapter 4\n" in text:
                most_beside_the_suspect = running
        with lock:
            running -= 1
        return len(text)

    probe.act = act
    assert lab.work(job).state is JobState.DONE
    assert most_beside_the_suspect == 1


def test_ten_kills_do_not_make_a_chunk_poison_but_there_is_an_end_to_patience(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    job, _ = begun(lab, novel(1))
    (task,) = lab.tasks(job)
    losses = 0
    while lab.tasks(job)[0].state is TaskState.READY:
        hand = Hand(lab, job, f"killed {losses}")
        assert hand.take(1, suspects=losses >= 2)
        reconcile(lab.database, dead=lambda owners: list(owners))
        losses += 1
        assert losses < 50
    assert losses > 10
    assert losses == 2 + EMBEDDED_PATIENCE + 1
    (task,) = lab.tasks(job)
    assert (task.state, task.error_code) == (TaskState.FAILED, POISONED)


# Retries


def test_a_retry_is_a_row_with_the_time_before_which_nobody_takes_it(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    job, one = begun(lab, novel(1))

    def limited(_: str) -> object:
        raise CallError(ErrorClass.RATE_LIMITED, "429", "later", retry_after_ms=50_000)

    probe.act = limited
    before = now_ms()
    one.commit(one.run(one.take()))
    (task,) = lab.tasks(job)
    assert (task.state, task.error_code) == (TaskState.READY, "429")
    assert before + 50_000 <= task.not_before_ms <= now_ms() + 61_000
    assert one.take() == []
    (attempt,) = lab.attempts(task.id)
    assert (attempt.outcome, attempt.error_code, attempt.message) == (Outcome.RETRY, "429", "later")


def test_a_task_that_is_out_of_attempts_is_a_hole_with_its_history(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    probe.act = failing_on("Chapter 2\n", transient)
    job = lab.run(pipeline("m map probe attempts=2", "r fold total"), lab.book(novel(3)))
    assert job.state is JobState.HOLES
    hole = next(task for task in lab.tasks(job) if task.state is TaskState.FAILED)
    assert (hole.error_code, hole.attempt) == ("down", 2)
    assert [attempt.outcome for attempt in lab.attempts(hole.id)] == [Outcome.RETRY, Outcome.FAILED]
    output = lab.output(job)
    assert [item["error"] for item in output["holes"]] == ["down"]
    assert output["value"] == sum(len(text) for text in probe.calls if "Chapter 2\n" not in text)


@pytest.mark.parametrize("budget", [0, 3])
def test_a_job_retries_no_more_than_its_budget(lab: Laboratory, probe: Probe, novel: Novel, budget: int) -> None:
    probe.act = transient
    job = lab.run(pipeline("m map probe attempts=9"), lab.book(novel(12)), retry_budget=budget)
    assert job.state is JobState.HOLES
    assert probe.total <= 12 + budget


def test_a_crash_of_the_op_is_an_attempt_and_not_the_end_of_the_run(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    def crash(_: str) -> object:
        raise ZeroDivisionError("oh no")

    probe.act = failing_on("Chapter 1\n", crash)
    job = lab.run(pipeline("m map probe attempts=1"), lab.book(novel(3)))
    assert job.state is JobState.HOLES
    hole = next(task for task in lab.tasks(job) if task.state is TaskState.FAILED)
    assert lab.attempts(hole.id)[0].message == "ZeroDivisionError: oh no"


@pytest.mark.parametrize("output", [{1: 2}, {"a": object()}, "half \ud800", 2**70, {"deep": {3}}])
def test_an_output_that_is_no_json_is_a_failed_attempt_and_never_in_the_memo(
    lab: Laboratory, probe: Probe, novel: Novel, output: object
) -> None:
    probe.act = lambda _: output
    job = lab.run(pipeline("m map probe attempts=1"), lab.book(novel(1)))
    assert job.state is JobState.HOLES
    with lab.database.read() as rows:
        assert rows.results.count() == 0


# Holes


@pytest.mark.parametrize(
    ("policy", "state", "reduced"), [("continue", "holes", True), ("wait", "holes", False), ("fail", "failed", False)]
)
def test_a_hole_does_what_the_steps_policy_says(
    lab: Laboratory, probe: Probe, novel: Novel, policy: str, state: str, reduced: bool
) -> None:
    probe.act = failing_on("Chapter 2\n", permanent)
    job = lab.run(pipeline(f'm map probe attempts=1 on_hole="{policy}"', "r fold total"), lab.book(novel(4)))
    assert job.state == state
    assert bool(lab.tasks(job, 1, 1)) is reduced
    probe.act = len
    assert control.retry(lab.database, str(job.id))[1] == 1
    before = probe.total
    job = lab.work(job)
    assert job.state is JobState.DONE
    assert probe.total == before + 1, "only the hole runs again"
    assert lab.output(job)["value"] == sum(len(text) for text in probe.calls)


@pytest.mark.parametrize("policy", ["continue", "wait", "fail"])
def test_a_waived_hole_lets_the_job_end_and_is_named(lab: Laboratory, probe: Probe, novel: Novel, policy: str) -> None:
    probe.act = failing_on("Chapter 2\n", permanent)
    job = lab.run(pipeline(f'm map probe attempts=1 on_hole="{policy}"', "r fold total"), lab.book(novel(4)))
    before = probe.total
    assert control.waive(lab.database, str(job.id), [0])[1] == 0, "chunk 0 is no hole"
    assert control.waive(lab.database, str(job.id), [1])[1] == 1
    job = lab.work(job)
    assert job.state is JobState.DONE
    assert probe.total == before
    assert len(lab.output(job)["holes"]) == 1


def test_a_retry_forgets_no_call_that_was_made(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    probe.act = failing_on("Chapter 2\n", permanent)
    job = lab.run(pipeline("m map probe attempts=1", "r fold total"), lab.book(novel(4)))
    made = lab.calls(job)
    assert made == 4 + 1, "four chunks and one fold"
    probe.act = len
    control.retry(lab.database, str(job.id))
    assert lab.calls(job) == made
    assert lab.calls(lab.work(job)) == made + 2, "the hole, and the fold anew"


def test_a_hole_of_a_reduce_can_be_waived_too(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    @reduce_op(version=1)
    def never(children: Sequence[int]) -> int:
        raise CallError(ErrorClass.PERMANENT, "refused", "no")

    lab.teach(probe.op, never)
    job = lab.run(pipeline("m map probe", "r fold never attempts=1"), lab.book(novel(4)))
    assert job.state is JobState.HOLES
    assert control.waive(lab.database, str(job.id), None)[1] == 1
    assert lab.work(job).state is JobState.DONE
    assert lab.output(job)["value"] is None


def test_waiving_one_chunk_waives_no_node_of_a_reduce_that_has_its_number(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    @reduce_op(version=1)
    def never(children: Sequence[int]) -> int:
        raise CallError(ErrorClass.PERMANENT, "refused", "no")

    lab.teach(probe.op, never)
    probe.act = failing_on("Chapter 1\n", permanent)
    job = lab.run(pipeline("m map probe attempts=1", "r fold never attempts=1"), lab.book(novel(4)))
    assert control.waive(lab.database, str(job.id), [0])[1] == 1
    assert states(lab, job)["waived"] == 1
    assert states(lab, job, 1, 1) == {"failed": 1}


# Decisions of people


def test_a_paused_job_holds_until_it_is_resumed(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job = lab.begin(pipeline("m map probe"), lab.book(novel(4)))
    assert control.pause(lab.database, str(job.id)).state is JobState.PAUSED
    assert lab.work(job, lab.runtime()).state is JobState.PAUSED
    assert probe.total <= 4
    done = probe.total
    assert lab.work(job, lab.runtime()).state is JobState.PAUSED
    assert control.unpause(lab.database, str(job.id)).state is JobState.RUNNING
    assert lab.work(job).state is JobState.DONE
    assert probe.total == 4
    assert done < 4 or probe.total == 4


def test_a_job_paused_before_any_process_works_on_it_starts_nothing(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    job = lab.begin(pipeline("m map probe"), lab.book(novel(4)))
    control.pause(lab.database, str(job.id))
    lab.work(job)
    assert probe.total == 0


def test_what_runs_when_a_job_is_cancelled_still_enters_the_memo(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, one = begun(lab, novel(4))
    works = one.take(2)
    assert control.cancel(lab.database, str(job.id)).state is JobState.CANCELLED
    assert states(lab, job) == {"leased": 2, "cancelled": 2}
    assert one.take() == []
    one.commit(one.run(works))
    with lab.database.read() as rows:
        assert rows.results.count() == 2
    again = lab.run(pipeline("m map probe attempts=3"), lab.book(novel(4)))
    assert again.id != job.id
    assert again.state is JobState.DONE
    assert probe.total == 4


def test_a_cancelled_jobs_key_is_free_for_a_job_that_waits_for_it(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job, one = begun(lab, novel(1))
    other = lab.begin(pipeline("n map probe"), lab.book(novel(1), "copy.txt"))
    two = Hand(lab, other, "two")
    two.advance()
    one.take()
    assert two.take() == []
    control.cancel(lab.database, str(job.id))
    reconcile(lab.database, dead=lambda owners: ["one"])
    two.commit(two.run(two.take()))
    assert states(lab, other) == {"done": 1}


def test_an_ended_job_can_not_be_paused_and_a_cancelled_one_not_resumed(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    job = lab.run(pipeline("m map probe"), lab.book(novel(1)))
    with pytest.raises(control.NotPossibleError, match="done"):
        control.pause(lab.database, str(job.id))
    other = lab.begin(pipeline("m map probe"), lab.book(novel(2)))
    control.cancel(lab.database, str(other.id))
    with pytest.raises(control.NotPossibleError, match="cancelled"):
        control.unpause(lab.database, str(other.id))


def test_a_run_over_a_selection_with_an_active_job_joins_it(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    book = lab.book(novel(3))
    first = lab.begin(pipeline("m map probe"), book)
    assert lab.begin(pipeline("m map probe"), book).id == first.id
    assert lab.begin(pipeline("m map probe", limit=200), book).id != first.id
    with lab.database.read() as rows:
        assert rows.jobs.get(first.id).state is JobState.RUNNING, "other parameters do not cancel it"
    book.write_text(novel(4))
    newer = lab.begin(pipeline("m map probe"), book)
    assert newer.id != first.id
    with lab.database.read() as rows:
        assert rows.jobs.get(first.id).state is JobState.CANCELLED, "a newer revision of the book does"


def test_of_two_processes_that_begin_a_job_at_once_one_begins_it_and_the_other_joins(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    lab.begin(pipeline("m map probe"), lab.book(novel(1), "other.txt"))  # the pipeline itself is known already
    book = lab.book(novel(3))
    lab.ingest(book)
    barrier = threading.Barrier(4, timeout=30)
    found: list[Job] = []

    def begin() -> None:
        barrier.wait()
        found.append(lab.begin(pipeline("m map probe"), book))

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    assert len({job.id for job in found}) == 1


# Flow


def test_a_map_after_a_map_flows_chunk_by_chunk(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    second_has_run = threading.Event()

    @map_op(version=1)
    def second(text: str, before: int = 0) -> list[int]:
        second_has_run.set()
        return [before, len(text)]

    lab.teach(probe.op, second)

    def act(text: str) -> int:
        if "Chapter 6\n" in text:
            assert second_has_run.wait(30), "the second map waits for the whole first one"
        return len(text)

    probe.act = act
    job = lab.run(pipeline("a map probe", 'b map second after="a"'), lab.book(novel(6)))
    assert job.state is JobState.DONE
    assert all(row["output"][0] == row["output"][1] for row in lab.output(job)["results"])


def test_a_hole_before_makes_a_hole_after_and_a_retry_mends_both(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    @map_op(version=1)
    def second(text: str, before: int = 0) -> int:
        return before

    lab.teach(probe.op, second)
    probe.act = failing_on("Chapter 2\n", permanent)
    job = lab.run(pipeline("a map probe attempts=1", 'b map second after="a"'), lab.book(novel(3)))
    assert job.state is JobState.HOLES
    assert [task.error_code for task in lab.tasks(job, 1)] == [None, "hole_before", None]
    probe.act = len
    assert control.retry(lab.database, str(job.id))[1] == 2
    assert lab.work(job).state is JobState.DONE
    assert states(lab, job, 1) == {"done": 3}


def test_a_long_chain_of_maps_runs_to_its_end(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    @map_op(version=1)
    def more(text: str, before: int = 0) -> int:
        return before + 1

    lab.teach(probe.op, more)
    steps = ["s0 map probe"] + [f's{n} map more after="s{n - 1}"' for n in range(1, 12)]
    job = lab.run(pipeline(*steps), lab.book(novel(2)))
    assert job.state is JobState.DONE
    assert [row["output"] for row in lab.output(job)["results"]] == [len(text) + 11 for text in probe.calls]


@pytest.mark.parametrize("chapters", [0, 1, 300])
def test_steps_complete_exactly_once_however_many_processes_advance_them(
    lab: Laboratory, probe: Probe, novel: Novel, chapters: int
) -> None:
    text = novel(chapters) if chapters else "Contents\n\nChapter 1 .... 1\nChapter 2 .... 2\nChapter 3 .... 3\n"
    skip = 'skip=["front","contents","chapter","heading","volume"]' if not chapters else ""
    job = lab.begin(pipeline(f"m map probe {skip}", "r fold total"), lab.book(text))
    completed: Counter[tuple[int, int]] = Counter()
    lock = threading.Lock()
    errors: list[BaseException] = []

    def drive(owner: str) -> None:
        hand = Hand(lab, job, owner)
        try:
            for _ in range(2000):
                context = load_context(lab.database, lab.ops, job.id)
                if context.job.state is not JobState.RUNNING:
                    return
                if works := hand.take(50):
                    hand.commit(hand.run(works))
                advance(lab.database, context)
        except BaseException as error:  # noqa: BLE001  # told below
            errors.append(error)

    real = JobRepository.complete

    def complete(self: object, step_id: int) -> bool:
        done = real(self, step_id)
        if done:
            step = self.step(step_id)
            with lock:
                completed[step.position, step.level] += 1
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JobRepository, "complete", complete)
        threads = [threading.Thread(target=drive, args=(f"p{n}",)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    assert errors == []
    with lab.database.read() as rows:
        steps = rows.jobs.steps(job.id)
        assert rows.jobs.get(job.id).state is JobState.DONE
    assert {step.state for step in steps} == {StepState.COMPLETE}
    assert completed == {(step.position, step.level): 1 for step in steps}
    for step in steps:
        assert len(lab.tasks(job, step.position, step.level)) == (step.total if step.level else chapters)
    assert probe.total == chapters


# Ops of users


def test_ops_of_users_run_end_to_end(lab: Laboratory, novel: Novel) -> None:
    @map_op(version=1)
    def coins(text: str, unit: str = "silver coins") -> list[dict[str, object]]:
        words = text.split()
        return [
            {"unit": unit, "who": words[at - 5].casefold()} for at, word in enumerate(words) if word == unit.split()[0]
        ]

    @reduce_op(version=1, key=lambda item: item["who"])
    def tally(items: Sequence[dict[str, object]], start: int = 0) -> int:
        return start + len(items)

    @reduce_op(version=1)
    def longest(children: Sequence[list[object]]) -> list[object]:
        return max(children, key=len)

    lab.teach(coins, tally, longest)
    book = lab.book(novel(9))
    merged = lab.run(pipeline("m map coins", "r merge tally params={start=10}"), book)
    entries = lab.output(merged)["entries"]
    assert sum(entry["count"] for entry in entries) == novel(9).count("silver")
    assert all(entry["value"] == entry["count"] + 10 for entry in entries)
    assert all(entry["citation_count"] == entry["count"] for entry in entries)
    folded = lab.run(pipeline("m map coins", "r fold longest"), book)
    assert folded.state is JobState.DONE
    assert isinstance(lab.output(folded)["value"], list)
    assert lab.calls(folded) < 10, "the map's results are in the memo"


def test_a_merge_over_outputs_that_do_not_fit_its_op_ends_with_a_clear_error(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    @reduce_op(version=1, key=lambda item: item["who"])
    def tally(items: Sequence[object]) -> int:
        return len(items)

    lab.teach(probe.op, tally)
    probe.act = lambda _: {"items": [{"no": "key"}]}
    with pytest.raises(PipelineError, match="tally"):
        lab.run(pipeline("m map probe", "r merge tally"), lab.book(novel(2)))


def test_a_job_whose_op_has_changed_says_so(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    job = lab.begin(pipeline("m map probe"), lab.book(novel(1)))

    @map_op(name="probe", version=2)
    def changed(text: str) -> int:
        return 0

    lab.teach(changed)
    with pytest.raises(PipelineError, match="has changed since the job was planned"):
        lab.work(job)


@pytest.mark.parametrize("name", ["summary", "glossary", "outline"])
def test_a_selection_without_chunks_ends_at_once_with_an_empty_output(lab: Laboratory, name: str, novel: Novel) -> None:
    spec = load(name)
    first = spec.step[0].model_copy(update={"skip": tuple(SectionKind)})
    job = lab.run(spec.model_copy(update={"step": (first, *spec.step[1:])}), lab.book(novel(3)))
    assert job.state is JobState.DONE
    output = lab.output(job)
    assert [output[name] for name in ("entries", "sentences", "sections") if output.get(name)] == []


def test_a_book_of_a_very_deep_chain_of_headings_folds(lab: Laboratory, probe: Probe) -> None:
    text = "\n\n".join(f"{'#' * min(6, n + 1)} Heading {n}\n\nText number {n}." for n in range(400)) + "\n"
    job = lab.run(pipeline("m map probe", "r fold total"), lab.book(text, "deep.md"))
    assert job.state is JobState.DONE
    assert lab.output(job)["value"] == sum(len(t) * c for t, c in probe.calls.items())


def test_stopping_gives_back_what_was_not_begun_and_keeps_what_was_done(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    job = lab.begin(pipeline("m map probe"), lab.book(novel(40)))
    runner = EmbeddedRunner(lab.main, job.id)
    probe.act = lambda text: runner.stop() or len(text)
    assert runner.work().state is JobState.RUNNING
    left = states(lab, job)
    assert left["leased"] == 0
    assert left["done"] == probe.total
    with lab.database.read() as rows:
        assert rows.leases.owners() == set()
    assert lab.work(job).state is JobState.DONE
    assert set(probe.calls.values()) == {1}


# Statements


def _planning(lab: Laboratory, toml: str, text: str, name: str) -> list[int]:
    """Statements that planning each level took."""
    job = lab.begin(parse(toml, "test"), lab.book(text, name))
    hand = Hand(lab, job, "one")
    counts: list[int] = []
    context = load_context(lab.database, lab.ops, job.id)
    count = 0

    def add(*_: object) -> None:
        nonlocal count
        count += 1

    event.listen(lab.database.engine, "before_cursor_execute", add)
    try:
        while context.job.state is JobState.RUNNING:
            count = 0
            while advance(lab.database, context):
                pass
            counts.append(count)
            while works := hand.take():
                hand.commit(hand.run(works))
            context = load_context(lab.database, lab.ops, job.id)
    finally:
        event.remove(lab.database.engine, "before_cursor_execute", add)
    return counts


@pytest.mark.parametrize("reduce", ["fold total", "merge spread"])
def test_the_number_of_statements_of_planning_does_not_grow_with_the_chunks(
    lab: Laboratory, probe: Probe, novel: Novel, reduce: str
) -> None:
    @reduce_op(version=1)
    def total(children: Sequence[object]) -> object:
        return [children[0]]

    @reduce_op(version=1, key=str)
    def spread(items: Sequence[object]) -> int:
        return len(items)

    lab.teach(probe.op, total, spread)
    probe.act = lambda text: [len(text), text[-40:]]
    toml = pipeline("m map probe", f"r {reduce}")
    few = _planning(lab, toml, novel(20), "few.txt")
    many = _planning(lab, toml, novel(400), "many.txt")
    assert max(many) <= max(few) + 12, (few, many)


def test_a_call_that_hangs_past_its_deadline_is_a_failed_attempt_and_its_slot_is_given_to_others(
    lab: Laboratory, probe: Probe, novel: Novel
) -> None:
    lab.options |= {"lease_s": 60, "op_slots": 2}
    hung = threading.Event()
    probe.act = failing_on("Chapter 2\n", lambda text: hung.wait(60))
    job = lab.begin(pipeline("m map probe attempts=3 timeout_s=0.4", "r fold total"), lab.book(novel(8)))
    try:
        job = lab.work(job)
    finally:
        hung.set()
    assert job.state is JobState.HOLES
    hole = next(task for task in lab.tasks(job) if task.state is TaskState.FAILED)
    assert (hole.error_code, hole.losses) == ("timeout", 0)
    assert [attempt.outcome for attempt in lab.attempts(hole.id)] == [Outcome.RETRY, Outcome.RETRY, Outcome.FAILED]
    assert states(lab, job)["done"] == 7


def test_a_call_that_hung_once_and_answers_late_changes_nothing(lab: Laboratory, probe: Probe, novel: Novel) -> None:
    lab.options |= {"lease_s": 60, "op_slots": 2}
    answered = threading.Event()

    def act(text: str) -> int:
        if probe.calls[text] == 1:
            answered.wait(60)
            return -1
        answered.set()
        return len(text)

    probe.act = failing_on("Chapter 2\n", act)
    job = lab.run(pipeline("m map probe attempts=3 timeout_s=0.4", "r fold total"), lab.book(novel(4)))
    assert job.state is JobState.DONE
    assert lab.output(job)["value"] == sum(len(text) for text in probe.calls)


def test_an_output_in_hand_is_kept_and_committed_after_the_database_went_away_for_a_moment(
    probe: Probe, lab: Laboratory, novel: Novel
) -> None:
    if lab.database.embedded:
        pytest.skip("a file does not go away")
    cut = threading.Event()

    def act(text: str) -> int:
        if "Chapter 9\n" in text and not cut.is_set():
            cut.set()
            with lab.database.engine.connect() as connection:
                connection.exec_driver_sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        return len(text)

    probe.act = act
    job = lab.run(pipeline("m map probe attempts=1", "r fold total"), lab.book(novel(60)))
    assert cut.is_set()
    assert job.state is JobState.DONE
    assert set(probe.calls.values()) == {1}, "no call was repeated"
