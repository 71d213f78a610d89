"""A price before you pay: estimates, hard caps over restarts, what was used and what the memo saved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command import Cli
from tests.acceptance.served import served
from tests.corpus import CORPUS
from tests.llm.server import Server
from tests.llm.tiny import tokenizer_folder

PROFILE = """
[models.stub]
provider = "openai"
base_url = "{url}"
model = "stub-1"
tokenizer = "{tokenizer}"
context_window = 8192
output_reserve = 300
input_price = 2.0
output_price = 8.0
slots = 4
limits = {{ requests_per_minute = 60000, concurrency = 16 }}
"""
PIPELINE = """
name = "priced"
[grain]
limit = {limit}
[[step]]
name = "summarize"
kind = "map"
op = "summarize"
skip = ["boilerplate", "contents"]
[[step]]
name = "fold"
kind = "fold"
op = "fold_summary"
"""


OWN = """
name = "own"
[[step]]
name = "tell"
kind = "map"
op = "prompt"
prompt = "Tell in a word what this is about: {{ text }}"
timeout_s = 30
"""


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that counts tokens as its model does."""
    server = Server(tokenizer_folder(tmp_path_factory.mktemp("tokenizer")))
    yield server
    server.close()


def _priced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, stub: Server) -> Iterator[Cli]:
    """The command with a profile that has prices."""
    folder = tmp_path_factory.mktemp(f"priced-{request.param}")
    tokenizer = tokenizer_folder(folder / "tokenizer")
    (folder / "octavo.toml").write_text(PROFILE.format(url=stub.url, tokenizer=tokenizer))
    (folder / "priced.toml").write_text(PIPELINE.format(limit=120))
    if request.param == "embedded":
        yield Cli(folder, folder / "state")
        return
    with served(folder, request.getfixturevalue("postgres_server")) as cli:
        yield cli


# Caps are tried in both modes; of the others, what workers do belongs to the full numbers.
capped = pytest.fixture(_priced, scope="module", params=["embedded", "workers"])
priced = pytest.fixture(
    _priced, scope="module", params=["embedded", pytest.param("workers", marks=pytest.mark.nightly)]
)


def novel(cli: Cli, name: str, chapters: int) -> str:
    text = "\n".join(
        f"# Chapter {n} of {name}\n\nOn day {n * 7} keeper {n} lit lamp {n * 13} of the tower.\n"
        for n in range(chapters)
    )
    (cli.folder / name).write_text(text)
    return name


def run(cli: Cli, *words: str, code: int = 0) -> Any:
    ended = cli.run(*words, "--json")
    assert ended.code == code, ended.err
    return ended.json


def test_a_plan_is_what_the_run_then_uses(priced: Cli, stub: Server) -> None:
    book = novel(priced, "planned.md", 30)
    stub.reset()
    plan = run(priced, "plan", book, "-p", "priced.toml", "--model", "stub")
    dry = run(priced, "run", book, "-p", "priced.toml", "--model", "stub", "--dry-run")
    assert dry["whole"] == plan["whole"]
    assert stub.calls == []
    done = run(priced, "run", book, "-p", "priced.toml", "--model", "stub")
    assert done["estimate"] == plan["whole"]
    steps = json.loads(priced.ok("status", done["job"], "--json").out)["steps"]
    (mapped,) = (step for step in plan["steps"] if step["kind"] == "map")
    assert mapped["calls_least"] == mapped["calls_most"] == next(s["calls"] for s in steps if s["level"] == 0)
    whole = plan["whole"]
    assert whole["calls_least"] <= done["model_calls"] == len(stub.calls) <= whole["calls_most"]
    assert whole["tokens_in_least"] <= done["tokens_in"] <= whole["tokens_in_most"]
    assert done["tokens_out"] <= whole["tokens_out_most"]
    assert whole["cost_micros_least"] <= done["cost"] * 1e6 <= whole["cost_micros_most"]
    again = run(priced, "plan", book, "-p", "priced.toml", "--model", "stub")["whole"]
    assert (again["calls_most"], again["cost_micros_most"]) == (0, 0)
    shown = priced.run("run", novel(priced, "shown.md", 3), "-p", "priced.toml", "--model", "stub")
    assert "estimated 3–5 calls" in shown.err
    assert "USD" in shown.err


@pytest.mark.parametrize(
    ("cap", "name"), [("--max-calls", "calls"), ("--max-tokens", "tokens"), ("--max-cost", "spent")]
)
def test_a_cap_stops_the_job_clean_and_a_higher_one_lets_it_go_on(
    capped: Cli, stub: Server, cap: str, name: str
) -> None:
    book = novel(capped, f"cap-{name}.md", 40)
    words = ("run", book, "-p", "priced.toml", "--model", "stub")
    whole = run(capped, "plan", book, "-p", "priced.toml", "--model", "stub")["whole"]
    tokens = whole["tokens_in_least"] // 4
    stub.reset()
    low, high = {
        "--max-calls": ("11", "9999"),
        "--max-tokens": (str(tokens), "99999999"),
        "--max-cost": (f"{tokens * 2.5 / 1e6:.6f}", "999"),
    }[cap]
    stopped = run(capped, *words, cap, low, code=4)
    assert stopped["state"] == "paused"
    assert stopped["reason"].startswith("stopped at its cap: ")
    assert cap in stopped["reason"]
    assert 0 < len(stub.calls) < 40
    flying = 4 + 8  # slots, and what was claimed for them
    if cap == "--max-calls":
        assert len(stub.calls) == 11
    elif cap == "--max-tokens":
        assert stopped["tokens_in"] + stopped["tokens_out"] <= tokens + flying * (tokens // 10 + 300)
    refused = capped.run("resume", stopped["job"])
    assert refused.code == 1
    assert "would stop again at once" in refused.err
    before = len(stub.calls)
    assert run(capped, *words, cap, low, code=4)["state"] == "paused"  # nothing more is spent by asking again
    assert len(stub.calls) - before <= 1
    done = run(capped, "resume", stopped["job"], cap, high)
    assert (done["state"], done["holes"]) == ("done", 0)
    assert len({call["key"] for call in stub.calls}) == len(stub.calls)


def test_usage_adds_up_and_tells_what_the_memo_saved(priced: Cli) -> None:
    first = run(priced, "run", novel(priced, "used.md", 6), "-p", "priced.toml", "--model", "stub")
    run(priced, "run", "used.md", "-p", "priced.toml", "--model", "stub")
    by_job = {row["name"]: row for row in run(priced, "usage", "--by", "job")["rows"]}
    assert by_job[first["job"]]["calls"] == first["model_calls"]
    assert by_job[first["job"]]["cost"] == pytest.approx(first["cost"])
    document = {row["name"]: row for row in run(priced, "usage", "--by", "document")["rows"]}["used"]
    assert (document["calls"], document["hits"]) == (first["model_calls"], first["model_calls"])
    assert document["saved_cost"] == pytest.approx(first["cost"])
    assert document["saved_tokens"] == first["tokens_in"] + first["tokens_out"]
    sums = [sum(row["cost"] for row in run(priced, "usage", "--by", by)["rows"]) for by in ("model", "job", "day")]
    sums += [sum(row["cost"] for row in run(priced, "usage", "--by", by)["rows"]) for by in ("collection", "document")]
    assert sums == pytest.approx([sums[0]] * 5)


@pytest.mark.parametrize("limit", ["requests_per_minute = 60", "tokens_per_minute = 6000"])
def test_a_plan_tells_the_time_that_the_limits_allow(limit: str, stub: Server, tmp_path: Path) -> None:
    tokenizer = tokenizer_folder(tmp_path / "tokenizer")
    profile = PROFILE.format(url=stub.url, tokenizer=tokenizer)
    (tmp_path / "octavo.toml").write_text(profile.replace("requests_per_minute = 60000", limit))
    (tmp_path / "priced.toml").write_text(PIPELINE.format(limit=120))
    cli = Cli(tmp_path, tmp_path / "state")
    plan = run(cli, "plan", novel(cli, "slow.md", 12), "-p", "priced.toml", "--model", "stub")
    (mapped,) = (step for step in plan["steps"] if step["kind"] == "map")
    tokens = mapped["tokens_in_least"] + mapped["calls_least"]  # an answer has a token or more
    seconds = {"requests_per_minute = 60": 12.0, "tokens_per_minute = 6000": round(tokens / 100, 1)}[limit]
    assert mapped["seconds_least"] == pytest.approx(seconds, abs=0.11)


BOOKS = ("en/moby-dick_pg2701-0_utf8bom_crlf.txt", "zh/西游记.txt", "md/pandoc-MANUAL.md")


@pytest.mark.nightly
@pytest.mark.parametrize("name", BOOKS)
def test_on_real_books_the_plan_is_within_a_hundredth(name: str, stub: Server, tmp_path: Path) -> None:
    path = CORPUS / name
    if not path.is_file():
        pytest.skip("there is no corpus")
    tokenizer = tokenizer_folder(tmp_path / "tokenizer")
    (tmp_path / "octavo.toml").write_text(PROFILE.format(url=stub.url, tokenizer=tokenizer))
    (tmp_path / "priced.toml").write_text(PIPELINE.format(limit=1500))
    cli = Cli(tmp_path, tmp_path / "state")
    plan = run(cli, "plan", str(path), "-p", "priced.toml", "--model", "stub")
    done = run(cli, "run", str(path), "-p", "priced.toml", "--model", "stub")
    steps = json.loads(cli.ok("status", done["job"], "--json").out)["steps"]
    actual = next(step["tokens_in"] for step in steps if step["level"] == 0)
    mapped = next(step for step in plan["steps"] if step["kind"] == "map")
    assert abs(mapped["tokens_in_least"] - actual) <= actual / 100
    whole = plan["whole"]
    assert whole["calls_least"] <= done["model_calls"] <= whole["calls_most"]
    assert whole["cost_micros_least"] <= done["cost"] * 1e6 <= whole["cost_micros_most"]


def test_a_grain_is_bounded_by_the_window_the_time_out_and_what_an_op_points_at(capped: Cli, stub: Server) -> None:
    book = novel(capped, "grained.md", 30)
    (capped.folder / "own.toml").write_text(OWN)
    stub.reset()

    def bounds() -> dict[str, list[Any]]:
        (found,) = run(capped, "grain", book, "-p", "own.toml", "--model", "stub")
        by: dict[str, list[Any]] = {}
        for bound in found["bounds"]:
            by.setdefault(bound["question"], []).append(bound)
        return by

    before = bounds()
    window, time = before["fits the model"]
    left, prompt, factor = map(float, re.findall(r"\d+(?:\.\d+)?", window["reason"]))
    assert 6000 < left < 8192 - 300
    assert window["most"] == pytest.approx((left - prompt) / factor, rel=0.02)
    assert "no call of it has been timed" in time["reason"]
    assert "would tell" in before["can be pointed at"][0]["reason"]
    assert stub.calls == [], "advice asks no model"
    run(capped, "run", book, "-p", "own.toml", "--model", "stub")
    after = bounds()
    assert after["fits the model"][1]["most"] >= 1
    assert "half of the 30 s" in after["fits the model"][1]["reason"]
    pointed = after["can be pointed at"][0]
    assert "name no place" in pointed["reason"]
    assert pointed["most"] == after["changes alone"][0]["most"]
