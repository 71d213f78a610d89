"""The governor over a real Redis: many processes, losses, forks, an absent or a full Redis."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.integration import governor_worker
from tests.integration.governor_calls import ask, end, granted, redis_server, refused, take
from tests.redis_server import RedisServer
from tests.unit.governor.windows import Clock, fullest, overlap
from workers.governor.port import GovernorUnavailableError, Limits, Permit, Reason
from workers.governor.redis import PREFIX, RedisGovernor
from workers.governor.rules import Tuning

__all__ = ["redis_server"]  # the fixture `server`

PROCESSES = 8
RAMP_S, STEADY_S = 1.6, 4.0
Calls = list[tuple[float, float, int]]  # when permitted, when ended (ms), tokens used


def governor_of(server: RedisServer, clock: Clock | None = None, **limits: object) -> RedisGovernor:
    profiles = {"m": Limits(**limits)}  # type: ignore[arg-type]
    return RedisGovernor(server.url, profiles, tuning=Tuning(poll_ms=20), clock=clock)


@pytest.fixture(autouse=True)
def empty(server: RedisServer) -> None:
    """Each test begins with an empty Redis."""
    server.flush()


@pytest.fixture
def two(server: RedisServer) -> Iterator[RedisGovernor]:
    """A governor with two slots."""
    governor = governor_of(server, concurrency=2)
    yield governor
    governor.close()


# Load


def run_processes(url: str, limits: Limits, folder: Path) -> tuple[float, Calls]:
    """When all processes were at work (ms), and their calls. They join one by one."""
    with ExitStack() as stack:
        processes = []
        for number in range(PROCESSES):
            given = json.dumps({"url": url, "limits": asdict(limits), "number": number})
            command = [sys.executable, governor_worker.__file__, given, str(folder / f"{number}.json")]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            processes.append(process)
        assert [process.stdout.readline() for process in processes if process.stdout] == ["ready\n"] * PROCESSES
        begin = time.time() + 0.1
        for number, process in enumerate(processes):
            times = {"start": begin + number * RAMP_S / PROCESSES, "until": begin + RAMP_S + STEADY_S}
            assert process.stdin is not None
            process.stdin.write(json.dumps(times) + "\n")
            process.stdin.flush()
        assert [process.wait(timeout=60) for process in processes] == [0] * PROCESSES
    found = [json.loads((folder / f"{number}.json").read_text()) for number in range(PROCESSES)]
    return (begin + RAMP_S) * 1000, [(at, ended, used) for calls in found for at, ended, used in calls]


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        pytest.param(Limits(concurrency=6, requests_per_minute=200, window_s=2), "requests", id="requests"),
        pytest.param(Limits(concurrency=6, tokens_per_minute=16_000, window_s=2), "tokens", id="tokens"),
    ],
)
def test_limits_hold_over_one_to_eight_processes_and_are_used(
    server: RedisServer, tmp_path: Path, limits: Limits, share: str
) -> None:
    steady_ms, calls = run_processes(server.url, limits, tmp_path)
    assert overlap((at, ended) for at, ended, _ in calls) <= (limits.concurrency or 0)
    weighed = [(at, 1 if share == "requests" else used) for at, _, used in calls]
    limit = (limits.requests_per_minute if share == "requests" else limits.tokens_per_minute) or 0
    assert fullest(weighed, limits.window_s * 1000) <= limit
    steady = sum(amount for at, amount in weighed if at >= steady_ms)
    part = steady / (limit * STEADY_S / limits.window_s)
    assert part >= 0.8, f"{part:.0%} of the limit was used"


def test_slots_hold_over_eight_processes_and_are_all_taken(server: RedisServer, tmp_path: Path) -> None:
    _, calls = run_processes(server.url, Limits(concurrency=3), tmp_path)
    assert overlap((at, ended) for at, ended, _ in calls) == 3


# Losses


def test_permits_in_flight_are_put_back_before_the_next_is_given_after_a_restart(server: RedisServer) -> None:
    governor = governor_of(server, concurrency=2)
    first, second = take(governor)
    server.restart()
    assert refused(ask(governor)).reason is Reason.CONCURRENCY
    assert governor.state("m").in_flight == 2
    end(governor, first)
    granted(ask(governor))
    end(governor, second)
    assert governor.state("m").in_flight == 1
    governor.close()


def test_a_heartbeat_puts_permits_back_after_a_flush(server: RedisServer, two: RedisGovernor) -> None:
    take(two)
    server.flush()
    two.renew("somebody else")
    assert two.state("m").in_flight == 0
    two.renew("o")
    assert two.state("m").in_flight == 2


def test_a_permit_released_after_a_flush_gives_no_tokens_back(server: RedisServer) -> None:
    clock = Clock()
    governor = governor_of(server, clock, tokens_per_minute=10_000)
    ask(governor)
    clock.advance(60)
    permit = granted(ask(governor, tokens=900))
    server.flush()
    ask(governor)
    end(governor, permit, used=0)
    assert governor.state("m").tokens_left == 0
    governor.close()


def test_a_permit_that_was_forgotten_with_its_holder_is_harmless(server: RedisServer, two: RedisGovernor) -> None:
    permit = granted(ask(two))
    server.flush()
    other = governor_of(server, concurrency=2)
    end(other, permit)
    assert other.state("m").in_flight == 0
    other.close()


def test_redis_that_forgot_its_scripts_learns_them_again(server: RedisServer, two: RedisGovernor) -> None:
    granted(ask(two))
    with server.client() as client:
        client.script_flush()
    granted(ask(two))


def test_the_second_asking_for_one_permit_takes_nothing_more(server: RedisServer, two: RedisGovernor) -> None:
    replies = [two._run("acquire", "m", "g1", "job", 0, b"0", b"", "") for _ in range(2)]
    assert [reply[0] for reply in replies] == [1, 1]
    assert two.state("m").in_flight == 1


# Redis away, full, shared by forks


def test_a_redis_that_is_away_is_one_named_error_and_then_is_back(server: RedisServer) -> None:
    governor = governor_of(server, concurrency=2)
    permit = granted(ask(governor))
    server.kill()
    for call in (
        lambda: ask(governor),
        lambda: end(governor, permit),
        lambda: governor.state("m"),
    ):
        with pytest.raises(GovernorUnavailableError, match="does not answer"):
            call()
    governor.renew("o")  # it holds nothing any more, so it asks nothing
    server.start()
    assert len(take(governor)) == 2
    governor.close()


def test_a_port_of_this_machine_serves_as_well_as_a_socket_file() -> None:
    with RedisServer(tcp=True) as server:
        governor = governor_of(server, concurrency=2)
        assert len(take(governor)) == 2
        governor.close()
    assert server.url == server.broker_url


def test_no_secret_is_in_the_error() -> None:
    governor = RedisGovernor("redis://:s3cret@127.0.0.1:1/0", {"m": Limits(concurrency=1)})
    with pytest.raises(GovernorUnavailableError) as raised:
        ask(governor)
    assert "s3cret" not in f"{raised.value.message} {raised.value.hint} {raised.value.__cause__}"


def test_a_full_redis_is_an_absent_one(server: RedisServer, two: RedisGovernor) -> None:
    permit = granted(ask(two))
    with server.client() as client:
        client.config_set("maxmemory", 1)
        try:
            with pytest.raises(GovernorUnavailableError, match=r"OOM|maxmemory"):
                ask(two)
        finally:
            client.config_set("maxmemory", 0)
    end(two, permit)
    assert len(take(two)) == 2


def test_every_key_has_the_prefix_and_an_end(server: RedisServer) -> None:
    clock = Clock()
    governor = governor_of(server, clock, concurrency=2, requests_per_minute=60, tokens_per_minute=1000)
    ask(governor)
    clock.advance(10)
    permits = take(governor, tokens=10)
    ask(governor, "other")
    governor.renew("o")
    end(governor, permits[0])
    with server.client() as client:
        keys = list(client.scan_iter())
        assert len(keys) >= 5
        assert all(key.decode().startswith(f"{{{PREFIX}:") for key in keys)
        assert all(0 < client.pttl(key) <= 3_600_000 for key in keys)
    governor.close()


def test_a_forked_process_has_a_connection_of_its_own(server: RedisServer, two: RedisGovernor) -> None:
    permit = granted(ask(two))
    child = os.fork()
    if not child:  # no test runs here: the process ends at once, whatever happens
        code = 1
        try:
            code = 0 if isinstance(ask(two, owner="child"), Permit) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert two.state("m").in_flight == 2
    end(two, permit)
    two.renew("o")
    assert two.state("m").in_flight == 1
