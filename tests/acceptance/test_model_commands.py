"""`octavo models`: what there is, whether it answers, what a server does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.command import Cli
from tests.llm.server import Server

PROFILES = """
[models.stub]
provider = "openai"
base_url = "{url}"
model = "stub-1"
[models.gone]
provider = "openai"
base_url = "http://127.0.0.1:9/v1"
model = "x"
[models.keyless]
provider = "openai"
base_url = "{url}"
model = "x"
api_key_env = "OCTAVO_TEST_NO_SUCH_KEY"
"""


@pytest.fixture(scope="module")
def stub() -> Iterator[Server]:
    """A server."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def asked(cli: Cli, stub: Server) -> Cli:
    """The command with profiles."""
    stub.reset()
    (cli.folder / "octavo.toml").write_text(PROFILES.format(url=stub.url))
    return cli


def test_profiles_are_listed_with_what_is_wrong_with_them(asked: Cli) -> None:
    rows = {row["name"]: row for row in asked.ok("models", "list", "--json").json}
    assert rows["stub"]["identity"].startswith("openai/stub-1@127.0.0.1:")
    assert rows["extractive"]["identity"].startswith("extractive/")
    assert "OCTAVO_TEST_NO_SUCH_KEY, which is not set" in rows["keyless"]["error"]
    assert "OCTAVO_TEST_NO_SUCH_KEY" in asked.ok("models", "list").err


def test_a_model_is_tried_out(asked: Cli) -> None:
    assert asked.ok("models", "test", "stub", "--json").json["ok"] is True
    assert "stub answers in" in asked.ok("models", "test", "stub").err
    asked.refused("models", "test", "gone", code=1, says="connection")
    asked.refused("models", "test", "keyless", code=2, says="is not set")
    asked.refused("models", "test", "nobody", code=2, says="There is no model 'nobody'")
    asked.refused("models", "test", "extractive", code=2, says="is built in")


def test_a_probe_tells_what_the_server_does_and_what_to_write_into_the_profile(asked: Cli, stub: Server) -> None:
    found = asked.ok("models", "probe", "stub", "--json").json
    says = {row["probe"]: row for row in found["found"]}
    assert found["models"] == ["stub-1"]
    assert found["calls"] == len(stub.calls)
    assert says["JSON by schema"] == {"probe": "JSON by schema", "says": "yes", "advice": 'json_mode = "schema"'}
    assert says["JSON by object"]["says"].startswith("no")
    assert says["tokens"]["advice"].startswith("token_factor = ")
    assert "is taken" in says["context window"]["says"]
    stub.rules({"fault": "reasoning_only"})
    says = {row["probe"]: row for row in asked.ok("models", "probe", "stub", "--json").json["found"]}
    assert says["thinking"]["advice"] == "thinking = false"
    stub.rules({"fault": "no_list", "match": "@none@"})
    unlisted = asked.ok("models", "probe", "stub", "--json")
    assert (unlisted.json["models"], "lists no models (bad_response)" in unlisted.err) == ([], True)
    stub.rules({"fault": "context_length", "match": "dawn"})
    asked.refused("models", "probe", "stub", code=1, says="context_length")
