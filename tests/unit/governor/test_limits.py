"""Property tests of the in-process governor, by a clock of the test's own."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.errors import SettingsError
from tests.unit.governor.windows import Clock, fullest, overlap
from workers.governor.bucket import Bucket
from workers.governor.local import LocalGovernor
from workers.governor.port import OK, Limits, Permit, Reason, TooManyTokensError, Wait
from workers.governor.rules import Tuning, rules_for

WINDOW_S = 60.0

# A step: seconds that pass, tokens that a call asks for, and the part of its own that the oldest call used, if it ends.
STEPS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.001, 0.1, 1.0, 7.0, 31.0, 59.0, 61.0, 150.0]),
        st.integers(0, 100),
        st.none() | st.floats(0, 1),
    ),
    max_size=120,
)


class Diary:
    """Calls made through a governor, and when."""

    def __init__(self, governor: LocalGovernor, clock: Clock, job_limits: Limits | None = None) -> None:
        self.governor, self.clock, self.job_limits = governor, clock, job_limits
        self.flying: list[Permit] = []
        self.dead: list[Permit] = []
        self.granted: list[Permit] = []
        self.used: dict[str, int] = {}
        self.ended: dict[str, float] = {}

    def begin(self, tokens: int, owner: str = "o") -> bool:
        answer = self.governor.acquire("m", "job", tokens, owner=owner, job_limits=self.job_limits)
        if isinstance(answer, Wait):
            assert answer.ms > 0
            return False
        self.flying.append(answer)
        self.granted.append(answer)
        return True

    def end(self, part: float) -> None:
        permit = self.flying.pop(0)
        self.used[permit.id] = int(permit.tokens * part)
        self.ended[permit.id] = self.clock()
        self.governor.release(permit, tokens_used=self.used[permit.id], ended=OK)

    def tokens(self, permit: Permit) -> int:
        """What the call used; of a call in flight, what it may use."""
        return self.used.get(permit.id, permit.tokens)


def live(diary: Diary, steps: list[tuple[float, int, float | None]], most: int) -> None:
    for seconds, amount, part in steps:
        diary.clock.advance(seconds)
        diary.governor.renew("o")
        if part is not None and diary.flying:
            diary.end(part)
        for owner in ("o", "o", "dies"):  # nobody renews or releases the calls of the one that dies
            if diary.begin(min(amount, most), owner) and owner == "dies":
                diary.flying.pop()


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(1, 12))
def test_no_sliding_window_has_more_requests_than_the_limit(
    steps: list[tuple[float, int, float | None]], rpm: int
) -> None:
    clock = Clock()
    limits = Limits(requests_per_minute=rpm, window_s=WINDOW_S)
    diary = Diary(LocalGovernor({"m": limits}, clock=clock), clock)
    live(diary, steps, 100)
    assert fullest(((permit.at_ms, 1) for permit in diary.granted), WINDOW_S * 1000) <= rpm


# A phase of greedy work: how long it is, in windows; the part of the limit that a call reserves, and the part of that
# which it uses; how long a call takes, in windows; whether its worker dies, so that the lease ends it.
PHASES = st.lists(
    st.tuples(
        st.sampled_from([0.1, 0.5, 1.0, 2.5]),
        st.sampled_from([0.01, 0.04, 0.1, 0.3, 0.9]),
        st.sampled_from([0.0, 0.3, 1.0]),
        st.sampled_from([0.0, 0.07, 0.5, 1.3]),
        st.booleans(),
        st.booleans(),  # whether new calls are made at all
    ),
    min_size=2,
    max_size=7,
)
SATURATED = (1.5, 0.01, 1.0, 0.0, False, True)  # the last phase: whatever the limit was cheated of is taken
TICKS = 40  # in a window


def work_greedily(diary: Diary, phases: list[tuple[float, float, float, float, bool, bool]], tpm: int) -> None:
    for length, size, part, takes, dies, begins in [*phases, SATURATED]:
        for _ in range(int(length * TICKS)):
            diary.clock.advance(WINDOW_S / TICKS)
            diary.governor.renew("o")
            while diary.flying and diary.clock() - diary.flying[0].at_ms >= takes * WINDOW_S * 1000:
                diary.end(part)
            while begins and diary.begin(int(size * tpm), "dies" if dies else "o"):
                if dies:
                    diary.dead.append(diary.flying.pop())


REAPED_LATE = [
    (2.5, 0.1, 1.0, 0.0, False, False),
    (0.05, 0.1, 1.0, 0.0, True, True),
    (0.5, 0.1, 1.0, 0.0, False, False),
]
GROWN = [(0.3, 0.6, 1.0, 0.07, False, True), (2.5, 0.04, 0.0, 0.0, False, True)]
FULL_TWICE = [(2.5, 0.1, 0.0, 0.5, False, True), (1.0, 0.3, 1.0, 1.3, False, True)]
STOCKED = [(1.0, 0.6, 0.3, 1.3, False, True), (0.3, 0.1, 0.3, 0.07, False, False), (0.1, 0.3, 1.0, 1.3, False, False)]


@settings(max_examples=300, deadline=None)
@example(REAPED_LATE, 0.5, 30.0, False)  # each of these finds one way to get the bucket wrong
@example(REAPED_LATE, 0.5, 30.0, True)
@example(GROWN, 0.1, 1000.0, False)
@example(FULL_TWICE, 0.01, 30.0, False)
@example(STOCKED, 0.01, 1000.0, False)
@given(PHASES, st.sampled_from([0.01, 0.1, 0.5]), st.sampled_from([10.0, 30.0, 1000.0]), st.booleans())
def test_no_sliding_window_has_more_tokens_than_the_limit_wherever_they_are_counted(
    phases: list[tuple[float, float, float, float, bool, bool]], burst: float, lease_s: float, of_job: bool
) -> None:
    tpm = 1000
    clock = Clock()
    limits = Limits(tokens_per_minute=tpm, window_s=WINDOW_S)
    governor = LocalGovernor(
        {"m": Limits() if of_job else limits}, tuning=Tuning(burst=burst, lease_s=lease_s), clock=clock
    )
    diary = Diary(governor, clock, limits if of_job else None)
    work_greedily(diary, phases, tpm)
    at_grant = [(permit.at_ms, diary.tokens(permit)) for permit in diary.granted]
    at_end = [(diary.ended[number], used) for number, used in diary.used.items()]
    assert fullest(at_grant, WINDOW_S * 1000) <= tpm
    at_end += [(permit.at_ms + lease_s * 1000, permit.tokens) for permit in diary.dead]
    assert fullest(at_end, WINDOW_S * 1000) <= tpm


@settings(max_examples=100, deadline=None)
@given(STEPS, st.integers(1, 5))
def test_no_more_calls_are_in_flight_than_the_limit(steps: list[tuple[float, int, float | None]], most: int) -> None:
    clock = Clock()
    diary = Diary(LocalGovernor({"m": Limits(concurrency=most)}, tuning=Tuning(lease_s=1000), clock=clock), clock)
    live(diary, steps, 100)
    flying = {permit.id for permit in diary.flying}
    held = [
        (permit.at_ms, clock() + 1 if permit.id in flying else diary.ended.get(permit.id, permit.at_ms + 1_000_000))
        for permit in diary.granted
    ]
    assert overlap(held) <= most


@pytest.mark.parametrize("rpm", [1, 2, 7, 60, 1000])
def test_who_asks_as_told_gets_nine_tenths_of_the_requests(rpm: int) -> None:
    clock = Clock()
    diary = Diary(LocalGovernor({"m": Limits(requests_per_minute=rpm)}, clock=clock), clock)
    begun, until = clock(), clock() + 10 * 60_000
    while clock() < until:
        answer = diary.governor.acquire("m", "job", 0, owner="o")
        if isinstance(answer, Wait):
            clock.advance(answer.ms / 1000)
        else:
            diary.granted.append(answer)
            diary.governor.release(answer, tokens_used=0, ended=OK)
    assert len(diary.granted) >= 0.9 * rpm * (until - begun) / 60_000 - 1
    assert fullest(((permit.at_ms, 1) for permit in diary.granted), 60_000) <= rpm


@pytest.mark.parametrize(("seconds", "part", "share"), [(1, 1, 0.88), (30, 1, 0.64), (30, 0.25, 0.31), (5, 0.5, 0.8)])
def test_the_burst_grows_to_what_long_calls_hold(seconds: int, part: float, share: float) -> None:
    """Used in a minute + reserved by calls in flight ≤ the limit: the shares are near what that allows."""
    clock = Clock()
    diary = Diary(LocalGovernor({"m": Limits(tokens_per_minute=60_000)}, clock=clock), clock)
    for _ in range(1200):
        clock.advance(1)
        diary.governor.renew("o")
        while diary.flying and diary.flying[0].at_ms <= clock() - seconds * 1000:
            diary.end(part)
        while diary.begin(200):
            pass
    used = sum(diary.used[number] for number, ended in diary.ended.items() if ended > clock() - 900_000)
    assert used >= share * 60_000 * 15
    assert fullest(((permit.at_ms, diary.tokens(permit)) for permit in diary.granted), 60_000) <= 60_000


def test_a_bucket_that_grew_is_small_again_after_quiet_windows() -> None:
    flow = rules_for(Limits(tokens_per_minute=1000), Tuning()).tokens
    assert flow is not None
    bucket = Bucket(flow, 0)
    now = 0.0
    for now in itertools.count(0.0, 1000.0):
        bucket.refill(now)
        if not bucket.wait_ms(600, 200, 5000):
            break
    assert bucket.top >= 600
    bucket.take(600, hold=True)
    bucket.settle(600, 600)
    for second in range(1, 181):
        bucket.refill(now + second * 1000)
        bucket.take(bucket.level, hold=False)
    assert bucket.top == flow.burst


def test_a_clock_that_is_set_back_gives_nothing_and_stops_nothing() -> None:
    clock = Clock()
    governor = LocalGovernor({"m": Limits(requests_per_minute=60)}, clock=clock)
    clock.advance(-3600)
    assert isinstance(governor.acquire("m", "a", 0, owner="o"), Wait)
    clock.advance(1.2)
    assert isinstance(governor.acquire("m", "a", 0, owner="o"), Permit)


@pytest.mark.parametrize("field", ["concurrency", "requests_per_minute", "tokens_per_minute", "window_s"])
def test_a_limit_of_nothing_is_refused_when_it_is_written(field: str) -> None:
    with pytest.raises(SettingsError, match=field):
        Limits(**{field: 0})


def test_a_call_that_no_wait_would_help_is_an_error() -> None:
    governor = LocalGovernor({"m": Limits(tokens_per_minute=1000)}, clock=Clock())
    with pytest.raises(TooManyTokensError, match="901 tokens"):
        governor.acquire("m", "a", 901, owner="o")
    answer = governor.acquire("m", "a", 900, owner="o")
    assert isinstance(answer, Wait)
    assert answer.reason is Reason.TOKENS
