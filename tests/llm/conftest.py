"""Tiny models, made once a session."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.llm.tiny import tiny


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a random model of a shape, once; skips where mlx-lm can not be installed."""
    if importlib.util.find_spec("mlx_lm") is None:
        pytest.skip("mlx-lm is not installed: it has no wheels for this platform")
    return cache(lambda shape: tiny(tmp_path_factory.mktemp(shape), shape))


@pytest.fixture(params=["llama", "qwen3"])
def tiny_model(request: pytest.FixtureRequest, made: Callable[[str], Path]) -> Path:
    """A random model of either shape."""
    return made(str(request.param))


@pytest.fixture
def tiny_llama(made: Callable[[str], Path]) -> Path:
    """One of them, where the shape does not matter."""
    return made("llama")
