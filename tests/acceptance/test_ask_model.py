"""`octavo ask`, `context` and `measure` with a language model behind a real server: counted by its own template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.evidence.asking import NOT_THERE, SYSTEM, request
from pipeline.models.llm.prompts import Message
from pipeline.models.llm.tokens import FolderCounter
from tests.acceptance.command import STORY, Cli
from tests.llm.server import Server
from tests.llm.tiny import tokenizer_folder

PROFILE = """
[models.stub]
provider = "openai"
base_url = "{url}"
model = "stub-1"
tokenizer = "{tokenizer}"
context_window = {window}
output_reserve = 100
timeout_s = 20
"""
QUESTION = "Who rang the bell?"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer with a chat template."""
    return tokenizer_folder(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def stub(tokenizer: Path) -> Iterator[Server]:
    """The server, counting with the same tokenizer."""
    server = Server(tokenizer)
    yield server
    server.close()


@pytest.fixture
def cli(tmp_path: Path, stub: Server, tokenizer: Path) -> Cli:
    """The command in a folder with one book and the profile."""
    (tmp_path / "octavo.toml").write_text(PROFILE.format(url=stub.url, tokenizer=tokenizer, window=700))
    made = Cli(tmp_path, tmp_path / "state")
    (tmp_path / "book.md").write_text(STORY)
    made.ok("ingest", "book.md", "--limit", "60")
    stub.reset()
    return made


def test_an_answer_is_asked_of_exactly_the_bundle_and_its_citations_have_lines(cli: Cli, stub: Server) -> None:
    stub.rules({"content": "The keeper rang it [S1]. So they say [S7]."})
    said = cli.ok("ask", QUESTION, "--model", "stub", "--json").json
    (call,) = stub.calls
    assert call["text"] == f"{SYSTEM}\nSources:\n\n{evidence(cli, said['trace'])}\n\nQuestion: {QUESTION}"
    assert call["asked"]["max_tokens"] == 100
    assert (said["sufficient"], said["unknown"], said["model"]) == (True, ["S7"], "stub")
    (citation,) = said["citations"]
    assert said["sources"][0]["marker"] == citation["marker"] == "S1"
    assert 1 <= citation["start_line"] <= citation["end_line"] <= STORY.count("\n") + 1
    assert said["used"]["tokens_in"] > 0
    shown = cli.ok("ask", QUESTION, "--model", "stub")
    assert "[S7] is cited, but no such source was shown" in shown.err


def evidence(cli: Cli, trace: str) -> str:
    return str(cli.ok("context", "--replay", trace, "--json").json["evidence"])


def test_the_budget_is_what_the_window_leaves_counted_with_the_template(cli: Cli, tokenizer: Path) -> None:
    counter = FolderCounter(tokenizer)

    def tokens(evidence: str) -> int:
        return counter.count([Message(said.role, said.content) for said in request(QUESTION, evidence)])

    made = cli.ok("context", QUESTION, "--model", "stub", "--max-sources", "50", "--json").json
    left = 700 - 100 - tokens("") - counter.safety(700)
    assert made["tokens"] == tokens(made["evidence"]) - tokens("") <= left
    rows = cli.ok("measure", QUESTION, "--model", "stub", "--evidence-tokens", "40,90", "--json").json["rows"]
    assert [row["request_tokens"] for row in rows] == [row["tokens_in"] for row in rows], "the server counts the same"
    assert all(row["evidence_tokens"] <= row["budget"] and row["seconds"] > 0 for row in rows)
    cli.refused("context", QUESTION, "--model", "stub", "--budget", str(left + 1), code=2, says="does not fit")


def test_a_window_without_room_and_an_answer_that_is_none_are_told(cli: Cli, stub: Server) -> None:
    stub.rules({"content": NOT_THERE})
    said = cli.ok("ask", QUESTION, "--model", "stub")
    assert "does not suffice" in said.out
    stub.rules({"fault": "truncated"})
    cli.refused("ask", QUESTION, "--model", "stub", code=1, says="gave no answer")
    text = (cli.folder / "octavo.toml").read_text()
    (cli.folder / "octavo.toml").write_text(re.sub("context_window = 700", "context_window = 180", text))
    cli.refused("ask", QUESTION, "--model", "stub", code=2, says="no room for evidence")


def test_what_a_question_costs_is_counted_whatever_came_of_it(cli: Cli, stub: Server) -> None:
    text = (cli.folder / "octavo.toml").read_text()
    (cli.folder / "octavo.toml").write_text(f"{text}input_price = 2.0\noutput_price = 8.0\n")
    used = cli.ok("ask", QUESTION, "--model", "stub", "--json").json["used"]
    assert used["cost"] == pytest.approx((used["tokens_in"] * 2 + used["tokens_out"] * 8) / 1e6)
    stub.rules({"fault": "wrong_usage"})
    odd = cli.ok("ask", QUESTION, "--model", "stub", "--json").json["used"]
    assert (odd["tokens_in"], 0 < odd["tokens_out"] < 1000) == (used["tokens_in"], True)
    stub.rules({"fault": "truncated"})
    cli.refused("ask", QUESTION, "--model", "stub", code=1, says="truncated")
    stub.rules()
    cli.ok("models", "test", "stub")
    for by, name, calls in (
        ("document", "book", 3), ("document", "(none)", 1), ("collection", "default", 3), ("job", "(ask)", 3),
        ("job", "(test)", 1), ("model", "stub", 4),
    ):  # fmt: skip
        rows = {row["name"]: row for row in cli.ok("usage", "--by", by, "--json").json["rows"]}
        assert (rows[name]["calls"], rows[name]["cost"] > 0) == (calls, True)
    (day,) = cli.ok("usage", "--by", "day", "--json").json["rows"]
    assert (day["calls"], day["tokens_in"] > 3 * used["tokens_in"]) == (4, True)


def test_questions_keep_to_the_profiles_limits_and_to_what_a_server_asks(cli: Cli, stub: Server) -> None:
    with (cli.folder / "octavo.toml").open("a") as profile:
        profile.write("limits = { requests_per_minute = 1, window_s = 0.7 }\n")
    cli.ok("measure", QUESTION, "--model", "stub", "--evidence-tokens", "40,60,90,120", "--json")
    times = [call["at"] for call in stub.calls]
    # The first reaches the server late, for its client is made first: two windows lie between the others.
    assert len(times) == 4
    assert times[3] - times[1] > 0.7
    stub.reset()
    stub.rules({"fault": "rate_limited", "after_s": 1.2, "times": 1})
    said = cli.ok("ask", QUESTION, "--model", "stub")
    assert "rate_limited: trying again in 1." in said.err
    first, second = [call["at"] for call in stub.calls]
    assert second - first > 1.1
    stub.reset()
    stub.rules({"fault": "auth"})
    cli.refused("ask", QUESTION, "--model", "stub", code=1, says="auth: The server refuses the key")
    assert len(stub.calls) == 1  # what another try would meet again is not tried again
