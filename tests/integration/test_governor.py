"""The governor in process and in Redis: the same tests for both, by a clock that the tests set."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import pytest

from tests.integration.governor_calls import ask, end, granted, limited, redis_server, refused, take
from tests.redis_server import RedisServer
from tests.unit.governor.windows import Clock, fullest
from workers.governor.local import LocalGovernor
from workers.governor.port import (
    OK,
    OTHER,
    PROVIDER_DOWN,
    Circuit,
    Ended,
    Governor,
    Limits,
    Permit,
    Reason,
    TooManyTokensError,
    UnknownProfileError,
    Wait,
)
from workers.governor.redis import RedisGovernor
from workers.governor.rules import Tuning

Make = Callable[..., Governor]
__all__ = ["redis_server"]  # the fixture `server`


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["local", "redis"])
def make(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Make]:
    """Makes a governor of one profile `m` by its limits and tuning."""
    made: list[RedisGovernor] = []

    def build(tuning: Tuning | None = None, **limits: object) -> Governor:
        profiles = {"m": Limits(**limits)}  # type: ignore[arg-type]
        if request.param == "local":
            return LocalGovernor(profiles, tuning=tuning, clock=clock)
        server: RedisServer = request.getfixturevalue("server")
        server.flush()
        made.append(RedisGovernor(server.url, profiles, tuning=tuning, clock=clock))
        return made[-1]

    yield build
    for governor in made:
        governor.close()


# Slots


def test_a_slot_that_is_given_back_is_the_next_ones(make: Make) -> None:
    governor = make(concurrency=2)
    first, _ = take(governor)
    assert refused(ask(governor)).reason is Reason.CONCURRENCY
    end(governor, first)
    assert granted(ask(governor))
    assert refused(ask(governor)).reason is Reason.CONCURRENCY


def test_a_permit_released_twice_frees_one_slot(make: Make) -> None:
    governor = make(concurrency=2)
    first, _ = take(governor)
    end(governor, first)
    end(governor, first)
    assert governor.state("m").in_flight == 1
    assert len(take(governor)) == 1


def test_the_slots_of_a_dead_worker_come_back_and_those_of_a_live_one_do_not(make: Make, clock: Clock) -> None:
    governor = make(Tuning(lease_s=30), concurrency=3)
    for owner in ("alive", "dead", "dead"):
        granted(ask(governor, owner=owner))
    for _ in range(4):
        clock.advance(10)
        governor.renew("alive")
    assert governor.state("m").in_flight == 1
    assert len(take(governor)) == 2


def test_without_limits_every_call_may_be_made(make: Make) -> None:
    assert len(take(make(), most=50, tokens=10**9)) == 50


def test_a_profile_that_does_not_exist_is_named(make: Make) -> None:
    with pytest.raises(UnknownProfileError, match="'other'"):
        make().acquire("other", "a", 1, owner="o")


# Rates


def test_buckets_start_empty_and_fill_to_the_burst(make: Make, clock: Clock) -> None:
    governor = make(requests_per_minute=100)
    assert refused(ask(governor)).reason is Reason.REQUESTS
    clock.advance(600)
    assert len(take(governor)) == 10


def test_the_wait_is_told_to_the_millisecond(make: Make, clock: Clock) -> None:
    governor = make(requests_per_minute=60)
    wait = refused(ask(governor))
    clock.advance((wait.ms - 2) / 1000)
    assert isinstance(ask(governor), Wait)
    clock.advance(0.002)
    assert granted(ask(governor))


def test_tokens_that_were_not_used_come_back(make: Make, clock: Clock) -> None:
    governor = make(tokens_per_minute=10_000)
    ask(governor)
    clock.advance(600)
    permit = granted(ask(governor, tokens=1000))
    assert refused(ask(governor, tokens=1000)).reason is Reason.TOKENS
    end(governor, permit, used=100)
    assert governor.state("m").tokens_left == 900


def test_tokens_used_beyond_the_reservation_are_owed(make: Make, clock: Clock) -> None:
    governor = make(tokens_per_minute=10_000)
    ask(governor)
    clock.advance(600)
    end(governor, granted(ask(governor, tokens=100)), used=2500)
    assert governor.state("m").tokens_left == -1500
    assert isinstance(ask(governor, tokens=1), Wait)


def test_a_dead_workers_reservation_counts_as_used(make: Make, clock: Clock) -> None:
    governor = make(Tuning(lease_s=0.001), tokens_per_minute=10_000)
    ask(governor)
    clock.advance(600)
    late = granted(ask(governor, tokens=1000))
    clock.advance(0.002)
    end(governor, late, used=0)
    assert (governor.state("m").tokens_left or 0) < 10


def test_a_call_larger_than_the_burst_is_made_in_the_end(make: Make, clock: Clock) -> None:
    governor = make(tokens_per_minute=10_000)
    waited = 0.0
    while isinstance(answer := ask(governor, tokens=6000), Wait):
        clock.advance(answer.ms / 1000)
        waited += answer.ms
        assert waited < 10 * 60_000
    with pytest.raises(TooManyTokensError):
        ask(governor, tokens=9001)


# Fairness


def test_a_lone_job_gets_all_slots(make: Make) -> None:
    assert len(take(make(concurrency=8))) == 8


def test_no_job_gets_more_than_its_share_while_another_waits(make: Make) -> None:
    governor = make(concurrency=8)
    huge = take(governor, "huge")
    for permit in huge[:6]:
        assert refused(ask(governor, "small")).reason is Reason.CONCURRENCY
        end(governor, permit)
        if governor.state("m").jobs["huge"] >= 4:
            assert refused(ask(governor, "huge")).reason is Reason.FAIRNESS
        granted(ask(governor, "small"))
        if governor.state("m").jobs["small"] == 4:
            break
    assert governor.state("m").jobs == {"huge": 4, "small": 4}


def test_a_job_that_no_longer_asks_is_not_waited_for(make: Make, clock: Clock) -> None:
    governor = make(Tuning(waiting_s=2, lease_s=100), concurrency=4)
    huge = take(governor, "huge")
    refused(ask(governor, "small"))
    end(governor, huge[0])
    refused(ask(governor, "huge"))
    clock.advance(3)
    assert granted(ask(governor, "huge"))


def test_a_job_that_was_refused_gets_the_next_call_however_often_others_ask(make: Make, clock: Clock) -> None:
    governor = make(requests_per_minute=600)
    got: dict[str, list[bool]] = {"eager": [], "slow": []}
    for step in range(1200):
        clock.advance(0.05)
        for job in ["eager"] * 5 + ["slow"] * (step % 10 == 9):
            answer = ask(governor, job)
            got[job].append(isinstance(answer, Permit))
            if isinstance(answer, Permit):
                end(governor, answer)
    assert all(before or after for before, after in itertools.pairwise(got["slow"]))
    assert sum(got["eager"]) + sum(got["slow"]) >= 530


def test_small_calls_do_not_starve_large_ones(make: Make, clock: Clock) -> None:
    governor = make(tokens_per_minute=60_000)
    spent = {"small": 0, "large": 0}
    for _ in range(4 * 600):
        clock.advance(0.1)
        for job, tokens in (("small", 100), ("small", 100), ("large", 5000)):
            if isinstance(answer := ask(governor, job, tokens), Permit):
                spent[job] += tokens
                end(governor, answer, used=tokens)
    assert spent["large"] >= 0.4 * sum(spent.values())
    assert spent["small"] >= 0.4 * sum(spent.values())
    assert sum(spent.values()) >= 0.8 * 4 * 60_000


# A job's own limits


def test_a_jobs_own_limits_hold_it_and_no_other(make: Make, clock: Clock) -> None:
    governor = make(concurrency=8)
    own = Limits(concurrency=2, requests_per_minute=120, tokens_per_minute=10_000)
    ask(governor, "held", 10, job_limits=own)
    clock.advance(60)
    first = granted(ask(governor, "held", 900, job_limits=own))
    assert refused(ask(governor, "held", 900, job_limits=own)).reason is Reason.TOKENS
    end(governor, first, used=100)
    for _ in range(2):
        granted(ask(governor, "held", 10, job_limits=own))
    assert refused(ask(governor, "held", 10, job_limits=own)).reason is Reason.CONCURRENCY
    assert governor.state("m").waiting == ()
    assert len(take(governor, "free")) == 6
    with pytest.raises(TooManyTokensError, match="'held'"):
        ask(governor, "held", 9001, job_limits=own)


def test_what_a_job_is_refused_for_itself_it_does_not_keep_from_others(make: Make, clock: Clock) -> None:
    governor = make(requests_per_minute=600)
    own = Limits(requests_per_minute=1)
    ask(governor, "eager")
    clock.advance(60)
    take(governor, "eager")
    clock.advance(1)
    refused(ask(governor, "held", job_limits=own))
    assert granted(ask(governor, "eager"))


# The provider's health


def test_a_429_stops_the_whole_profile_until_the_time_it_names(make: Make, clock: Clock) -> None:
    governor = make(concurrency=8)
    end(governor, granted(ask(governor)), limited(7000))
    wait = refused(ask(governor, "other"))
    assert (wait.reason, wait.ms) == (Reason.COOL_DOWN, 7000)
    clock.advance(7)
    assert granted(ask(governor))


def test_429s_of_calls_in_flight_together_halve_them_once(make: Make, clock: Clock) -> None:
    governor = make(concurrency=8)
    for permit in take(governor):
        end(governor, permit, limited())
    clock.advance(2)
    assert governor.state("m").ceiling == 4
    again = take(governor)
    assert len(again) == 4
    assert refused(ask(governor)).reason is Reason.ADAPTIVE
    for permit in again:
        end(governor, permit, limited())
    assert governor.state("m").ceiling == 2


def test_one_call_at_a_time_is_always_allowed(make: Make, clock: Clock) -> None:
    governor = make(concurrency=8)
    for _ in range(5):
        end(governor, granted(ask(governor)), limited())
        clock.advance(2)
    assert governor.state("m").ceiling == 1


def test_successes_raise_the_ceiling_to_the_limit(make: Make, clock: Clock) -> None:
    governor = make(Tuning(successes=2), concurrency=4)
    for permit in take(governor):
        end(governor, permit, limited())
    clock.advance(2)
    ceilings = []
    for _ in range(12):
        end(governor, granted(ask(governor)))
        ceilings.append(governor.state("m").ceiling)
    assert ceilings == [2, 2, 2, 3, 3, 3, 3, 3, 3, None, None, None]


def test_a_provider_that_is_down_is_asked_by_one_probe_at_growing_intervals(make: Make, clock: Clock) -> None:
    governor = make(Tuning(downs=3, open_ms=1000, open_most_ms=3000), concurrency=8)
    for permit in take(governor, most=3):
        end(governor, permit, PROVIDER_DOWN)
    for pause in (1000, 2000, 3000, 3000):
        assert governor.state("m").circuit is Circuit.OPEN
        wait = refused(ask(governor))
        assert (wait.reason, wait.ms) == (Reason.CIRCUIT, pause)
        clock.advance(pause / 1000)
        assert governor.state("m").circuit is Circuit.HALF_OPEN
        probe = granted(ask(governor))
        assert refused(ask(governor)).reason is Reason.CIRCUIT
        end(governor, probe, PROVIDER_DOWN)
    clock.advance(3)
    end(governor, granted(ask(governor)), OK)
    assert governor.state("m").circuit is Circuit.CLOSED
    assert len(take(governor)) == 8


def test_calls_from_before_it_opened_say_nothing_of_the_provider_now(make: Make, clock: Clock) -> None:
    governor = make(Tuning(downs=2, open_ms=1000))
    down, gone, good, bad = take(governor, most=4)
    end(governor, down, PROVIDER_DOWN)
    end(governor, gone, PROVIDER_DOWN)
    end(governor, good, OK)
    end(governor, bad, PROVIDER_DOWN)
    state = governor.state("m")
    assert (state.circuit, state.circuit_for_ms) == (Circuit.OPEN, 1000)


def test_a_probe_that_dies_or_makes_no_call_is_followed_by_another(make: Make, clock: Clock) -> None:
    governor = make(Tuning(downs=1, open_ms=1000, lease_s=30))
    end(governor, granted(ask(governor)), PROVIDER_DOWN)
    clock.advance(1)
    end(governor, granted(ask(governor)), OTHER)
    granted(ask(governor))
    assert isinstance(ask(governor), Wait)
    clock.advance(31)
    end(governor, granted(ask(governor)), limited(0))
    assert governor.state("m").circuit is Circuit.CLOSED


@pytest.mark.parametrize("between", [OK, limited(0)])
def test_only_failures_in_a_row_and_near_in_time_open_the_circuit(make: Make, clock: Clock, between: Ended) -> None:
    governor = make(Tuning(downs=2, downs_within_s=10, cool_ms=0))
    for ended in (PROVIDER_DOWN, between, PROVIDER_DOWN):
        end(governor, granted(ask(governor)), ended)
    clock.advance(11)
    end(governor, granted(ask(governor)), PROVIDER_DOWN)
    assert governor.state("m").circuit is Circuit.CLOSED
    end(governor, granted(ask(governor)), PROVIDER_DOWN)
    assert governor.state("m").circuit is Circuit.OPEN


def test_the_state_tells_what_a_status_page_shows(make: Make, clock: Clock) -> None:
    governor = make(concurrency=3, requests_per_minute=100, tokens_per_minute=1000)
    ask(governor)
    clock.advance(600)
    take(governor, "a", 2, tokens=30)
    take(governor, "b", 1, tokens=10)
    refused(ask(governor, "b"))
    state = governor.state("m")
    assert (state.in_flight, state.jobs, state.waiting) == (3, {"a": 2, "b": 1}, ("b",))
    assert (state.requests_left, state.tokens_left, state.ceiling) == (7, 30, None)
    assert state.waits == {Reason.REQUESTS: 1, Reason.CONCURRENCY: 1}


# Redis follows the in-process governor in everything, and holds the limits over losses of its state


def random_steps(seed: int) -> Iterator[tuple[float, str, int, int, Ended]]:
    chance = random.Random(seed)
    ends = [OK] * 8 + [OTHER, PROVIDER_DOWN, limited(), limited(300)]
    for _ in range(400):
        yield (
            chance.choice([0, 0, 0.001, 0.05, 0.3, 1, 4, 11]), chance.choice("abc"), chance.randint(0, 120),
            chance.randint(0, 3), chance.choice(ends),
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_redis_decides_as_the_in_process_governor_does(server: RedisServer, clock: Clock, seed: int) -> None:
    server.flush()
    limits = {"m": Limits(concurrency=6, requests_per_minute=300, tokens_per_minute=9000, window_s=20)}
    tuning = Tuning(downs=2, lease_s=5, successes=2, burst=0.05)
    local, shared = LocalGovernor(limits, tuning=tuning, clock=clock), RedisGovernor(
        server.url, limits, tuning=tuning, clock=clock
    )  # fmt: skip
    flying: list[tuple[Permit, Permit]] = []
    for seconds, job, tokens, act, ended in random_steps(seed):
        own = Limits(concurrency=3, tokens_per_minute=3000, window_s=20) if job == "a" else None
        answers = [ask(governor, job, tokens, owner=job, job_limits=own) for governor in (local, shared)]
        if all(isinstance(answer, Permit) for answer in answers):
            flying.append((granted(answers[0]), granted(answers[1])))
        else:
            assert answers[0] == answers[1]
        clock.advance(seconds)
        if act > 1 and flying:
            pair = flying.pop(random.Random(len(flying)).randrange(len(flying)))
            for governor, permit in zip((local, shared), pair, strict=True):
                end(governor, permit, ended, used=tokens)
        elif act == 1:
            for governor in (local, shared):
                governor.renew(job)
        assert local.state("m") == shared.state("m")
    shared.close()


@pytest.mark.parametrize("seed", range(4))
def test_limits_hold_in_windows_around_losses_of_the_state(server: RedisServer, clock: Clock, seed: int) -> None:
    server.flush()
    limits = {"m": Limits(requests_per_minute=120, tokens_per_minute=6000, window_s=20)}
    governor = RedisGovernor(server.url, limits, tuning=Tuning(lease_s=1000), clock=clock)
    chance = random.Random(seed)
    flying: list[Permit] = []
    calls: list[tuple[float, int]] = []
    for step in range(1500):
        clock.advance(chance.choice([0, 0.01, 0.1, 0.3]))
        if step % 97 == 96:
            server.flush()
        if flying and chance.random() < 0.5:
            permit = flying.pop(0)
            used = chance.randint(0, permit.tokens)
            calls.append((permit.at_ms, used))
            end(governor, permit, used=used)
        if isinstance(answer := ask(governor, "a", chance.choice([20, 100, 800])), Permit):
            flying.append(answer)
    calls += [(permit.at_ms, permit.tokens) for permit in flying]
    assert fullest([(at, 1) for at, _ in calls], 20_000) <= 120
    assert fullest(calls, 20_000) <= 6000
    assert len(calls) > 200
    governor.close()


def test_the_limit_holds_when_the_state_is_lost_after_a_large_call(server: RedisServer, clock: Clock) -> None:
    server.flush()
    limits = {"m": Limits(tokens_per_minute=6000, window_s=20)}
    governor = RedisGovernor(server.url, limits, tuning=Tuning(lease_s=1000), clock=clock)
    calls: list[tuple[float, int]] = []

    def call(tokens: int) -> bool:
        answer = ask(governor, tokens=tokens)
        if isinstance(answer, Permit):
            calls.append((answer.at_ms, tokens))
            end(governor, answer, used=tokens)
        return isinstance(answer, Permit)

    while not call(3000):
        clock.advance(0.1)
    server.flush()
    for _ in range(300):
        clock.advance(0.1)
        while call(50):
            pass
    assert fullest(calls, 20_000) <= 6000
    assert sum(tokens for _, tokens in calls) > 6000
    governor.close()
