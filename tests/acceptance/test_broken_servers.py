"""A server that is not there, or goes away: one clear line, and the job goes on once it is mended."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from tests.acceptance.command import Cli
from tests.distributed.servers import free_port, until
from tests.llm.server import Server

PROFILE = """
[models.stub]
provider = "openai"
base_url = "http://{host}/v1"
model = "stub-1"
slots = 4
{more}
"""
PIPELINE = """
name = "ask"
[grain]
limit = 200
[[step]]
name = "ask"
kind = "map"
op = "summarize"
attempts = 3
"""
RUN = ("run", "book.md", "-p", "ask.toml", "--model", "stub", "--json")


@pytest.fixture
def stub() -> Iterator[Server]:
    """A server."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def desk(cli: Cli) -> Cli:
    """The command with a book of twelve chunks."""
    (cli.folder / "ask.toml").write_text(PIPELINE)
    chapters = [f"# Chapter {n}\n\nKeeper {n} lit lamp {n * 13} of the tower.\n" for n in range(12)]
    (cli.folder / "book.md").write_text("\n".join(chapters))
    return cli


def at(cli: Cli, host: str, more: str = "") -> None:
    """Say where the model's server is."""
    (cli.folder / "octavo.toml").write_text(PROFILE.format(host=host, more=more))


class Running:
    """A command that runs, and what it has said so far."""

    def __init__(self, cli: Cli, *words: str) -> None:
        self.process = subprocess.Popen(
            cli.command(*words), cwd=cli.folder, env=cli.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(self.process.stderr)

    def says(self, text: str) -> None:
        """Wait until it has said so."""
        try:
            until(lambda: text in "".join(self.said), within_s=60, what=text)
        except AssertionError as error:
            self.process.kill()
            raise AssertionError(f"{error}: {self.said}") from None

    def end(self) -> tuple[int, str]:
        """Its exit code and output."""
        assert self.process.stdout is not None
        out = self.process.stdout.read()
        code = self.process.wait(timeout=60)
        self._reader.join(timeout=10)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        assert "Traceback" not in "".join(self.said)
        return code, out


def test_a_server_that_is_not_there_is_named_while_the_job_waits_and_ctrl_c_loses_nothing(desk: Cli) -> None:
    host = f"127.0.0.1:{free_port()}"
    at(desk, host)
    running = Running(desk, *RUN)
    running.says("waiting: ")
    running.says("connection: The server can not be reached")
    running.process.send_signal(signal.SIGINT)
    code, _ = running.end()
    assert code == 130
    assert "Go on with: octavo resume" in "".join(running.said)
    server = Server(port=int(host.rpartition(":")[2]))
    try:
        done = desk.ok("resume", "--json").json
        assert (done["state"], done["holes"], len(server.calls)) == ("done", 0, 12)
    finally:
        server.close()


def test_a_server_that_goes_away_in_mid_run_is_waited_for_and_no_answer_is_asked_twice(desk: Cli) -> None:
    port = free_port()
    at(desk, f"127.0.0.1:{port}")
    first = Server(port=port)
    first.rules({"latency_s": 0.4})
    running = Running(desk, *RUN)
    until(lambda: len(first.calls) >= 5, within_s=60, what="it is at work")
    begun = len(first.calls)
    first.close()
    running.says("connection: ")
    second = Server(port=port)
    try:
        code, out = running.end()
        done = json.loads(out)
        assert (code, done["state"], done["holes"]) == (0, "done", 0)
        assert abs(len(second.calls) - (12 - begun)) <= 4  # what was in flight is asked again, and nothing else
        assert {call["number"] for call in second.calls} == {1}
    finally:
        second.close()


def test_a_job_is_not_finished_by_another_model_than_it_was_planned_with(desk: Cli, stub: Server) -> None:
    other = Server()
    try:
        at(desk, f"127.0.0.1:{stub.port}")
        stub.rules({"fault": "auth"})
        paused = desk.run(*RUN)
        assert (paused.code, paused.json["state"]) == (1, "paused")
        at(desk, f"127.0.0.1:{other.port}")
        again = desk.run("resume", paused.json["job"], "--json")
        assert (again.code, again.json["state"]) == (1, "paused")
        planned = f"openai/stub-1@127.0.0.1:{stub.port}"
        assert f"this job was planned with {planned}" in again.json["reason"]
        assert other.calls == []
        at(desk, f"127.0.0.1:{other.port}", f'identity = "{planned}"')  # the same model, a person says
        done = desk.ok("resume", paused.json["job"], "--json").json
        assert (done["state"], done["holes"], len(other.calls)) == ("done", 0, 12)
        at(desk, f"127.0.0.1:{other.port}")
        assert desk.ok(*RUN).json["calls"] == 12  # another model has results of its own
    finally:
        other.close()
