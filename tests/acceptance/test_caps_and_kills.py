"""`kill -9` near a cap: what is spent never passes it by more than the calls in flight, then and at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command import Cli
from tests.acceptance.served import ServedCli, served
from tests.acceptance.test_model_costs import PIPELINE, PROFILE, novel
from tests.llm.server import Server
from tests.llm.tiny import tokenizer_folder

CALLS = 40  # what each cap is worth
KILLS = (6, 14, 22, 29)  # calls begun, at which everything that works is killed
SLOTS = 4
OUTPUT = 300  # tokens of an answer at most: the profile's output_reserve

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that counts tokens as its model does."""
    server = Server(tokenizer_folder(tmp_path_factory.mktemp("tokenizer")))
    yield server
    server.close()


@pytest.fixture(params=["embedded", "workers"])
def cli(request: pytest.FixtureRequest, tmp_path: Path, stub: Server) -> Iterator[Cli]:
    """The command with a profile that has prices; over workers, two of them."""
    tokenizer = tokenizer_folder(tmp_path / "tokenizer")
    (tmp_path / "octavo.toml").write_text(PROFILE.format(url=stub.url, tokenizer=tokenizer))
    (tmp_path / "priced.toml").write_text(PIPELINE.format(limit=120))
    stub.reset()
    stub.rules({"latency_s": 0.15})
    if request.param == "embedded":
        yield Cli(tmp_path, tmp_path / "state")
        return
    with served(tmp_path, request.getfixturevalue("postgres_server"), slots=SLOTS) as made:
        made.another_worker(SLOTS)
        yield made


def until(condition: Callable[[], bool], running: subprocess.Popen[bytes]) -> bool:
    """Wait for a moment; False when the run ended before it came."""
    deadline = time.monotonic() + 90
    while running.poll() is None and not condition():
        assert time.monotonic() < deadline, "the moment to kill at never came"
        time.sleep(0.005)  # a poll, not a wait: the moment must not be missed
    return running.poll() is None


def start(cli: Cli, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*cli.command(*words)], cwd=cli.folder, env=cli.environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def kill_all(cli: Cli, running: subprocess.Popen[bytes]) -> None:
    """Kill what makes calls."""
    if isinstance(cli, ServedCli):
        for worker in cli.fleet.workers:
            if worker.process.poll() is None:
                worker.kill()
        cli.another_worker(SLOTS, wait=False)
        cli.another_worker(SLOTS, wait=False)
        return
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()


def disturbed(cli: Cli, stub: Server, words: tuple[str, ...]) -> dict[str, Any]:
    """Run to its end with every kill; gives what it printed at last."""
    running = start(cli, *words)
    for calls in KILLS:
        assert until(lambda calls=calls: len(stub.calls) >= calls, running), running.communicate()  # type: ignore[misc]
        kill_all(cli, running)
        if not isinstance(cli, ServedCli):
            running = start(cli, *words)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 4, err.decode()
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("cap", ["--max-calls", "--max-tokens", "--max-cost"])
def test_a_hard_cap_holds_over_kills_to_the_calls_in_flight(cli: Cli, stub: Server, cap: str) -> None:
    book = novel(cli, f"kills{cap}.md", 90)
    plan = cli.ok("plan", book, "-p", "priced.toml", "--model", "stub", "--json").json["whole"]
    tokens = plan["tokens_in_least"] * CALLS // 90
    worth = {"--max-calls": CALLS, "--max-tokens": tokens, "--max-cost": tokens * 2 / 1e6}[cap]
    words = ("run", book, "-p", "priced.toml", "--model", "stub", "--json", cap, str(worth))
    stopped = disturbed(cli, stub, words)
    calls = stub.calls
    lost = len(calls) - stopped["model_calls"]  # in flight at a kill: begun, and not committed
    assert (stopped["state"], stopped["reason"].startswith("stopped at its cap: ")) == ("paused", True)
    slots = SLOTS * (2 if isinstance(cli, ServedCli) else 1)
    assert 0 < lost <= len(KILLS) * 2 * slots  # at each kill one a slot, and what just had its answer
    each = max(call["tokens"] for call in calls) + OUTPUT
    read = sum(call["tokens"] for call in calls)
    if cap == "--max-calls":
        assert stopped["model_calls"] <= CALLS
        assert len(calls) <= CALLS + lost
    elif cap == "--max-tokens":
        assert stopped["tokens_in"] + stopped["tokens_out"] <= tokens + 2 * slots * each
        assert read <= tokens + (lost + 2 * slots) * each
    else:
        most = 2 * (each - OUTPUT) + 8 * OUTPUT
        assert stopped["cost"] * 1e6 <= tokens * 2 + 2 * slots * most
        assert read * 2 <= tokens * 2 + (lost + 2 * slots) * most
    assert len(calls) < 90
    done = cli.ok("resume", stopped["job"], cap, "99999999", "--json").json
    assert (done["state"], done["holes"]) == ("done", 0)
    assert len({call["key"] for call in stub.calls}) >= 90
