"""Whole jobs of a model in process: embedded, and in workers with threads and with processes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command import Cli
from tests.acceptance.served import served
from tests.llm.tiny import tiny
from workers.models import mlx_engine

PROFILE = """
[models.tiny]
provider = "mlx"
model = "{folder}"
output_reserve = 160
slots = 4
sampling = {{ temperature = 1.0, seed = 3 }}
"""
PIPELINE = """
name = "gibberish"
[grain]
limit = 200
[[step]]
name = "gibberish"
kind = "map"
op = "prompt"
prompt = "Go on. {{ text }}"
attempts = 8
"""
WAYS = {"embedded": None, "threads": ("--pool", "threads"), "prefork": ("--pool", "prefork")}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model; skips where mlx-lm can not be installed."""
    if importlib.util.find_spec("mlx_lm") is None:
        pytest.skip("mlx-lm is not installed: it has no wheels for this platform")
    return tiny(tmp_path_factory.mktemp("tiny"), "llama")


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What each way of running the same job gave."""
    return {}


@pytest.fixture
def cli(request: pytest.FixtureRequest, tmp_path: Path, model: Path) -> Iterator[Cli]:
    """The command in an empty folder with the model's profile."""
    (tmp_path / "octavo.toml").write_text(PROFILE.format(folder=model))
    (tmp_path / "gibberish.toml").write_text(PIPELINE)
    arguments = WAYS[request.param]
    if arguments is None:
        yield Cli(tmp_path, tmp_path / "state")
        return
    with served(tmp_path, request.getfixturevalue("postgres_server"), *arguments, slots=2) as made:
        yield made


@pytest.mark.parametrize(
    "cli", ["embedded", "prefork", pytest.param("threads", marks=pytest.mark.nightly)], indirect=True
)
def test_a_model_in_process_gives_the_same_results_however_its_workers_run_and_none_twice(
    cli: Cli, said: dict[str, str], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    together: list[int] = []  # how many requests each batch took in; embedded jobs run in this very process
    insert = mlx_engine._Loaded._insert

    def noted(generator: Any, fresh: Sequence[Any]) -> list[int]:
        together.append(len(fresh))
        return insert(generator, fresh)

    monkeypatch.setattr(mlx_engine._Loaded, "_insert", staticmethod(noted))
    lamps = [f"# Chapter {n}\n\nKeeper {n} lit lamp {n * 13} of the tower.\n" for n in range(6)]
    (cli.folder / "book.md").write_text("\n".join(lamps))
    words = ("run", "book.md", "-p", "gibberish.toml", "--model", "tiny", "--json")
    first = cli.ok(*words).json
    again = cli.ok(*words).json
    assert (first["state"], first["holes"], first["model_calls"] - first["retries"]) == ("done", 0, 6)
    assert (again["calls"], again["hits"]) == (0, 6)
    if request.node.callspec.id == "embedded":
        assert sum(together) == first["model_calls"]
        assert max(together) > 1, "a process that holds several chunks asks for them in one batch"
    exported = cli.ok("export", "last", "--canonical").out
    assert all(exported == other for other in said.values())
    said[request.node.callspec.id] = exported
