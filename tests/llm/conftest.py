"""Tiny models, made once a session."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.llm.tiny import tiny


@pytest.fixture(scope="session", params=["llama", "qwen3"])
def tiny_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model of either shape; skips where mlx-lm can not be installed."""
    if importlib.util.find_spec("mlx_lm") is None:
        pytest.skip("mlx-lm is not installed: it has no wheels for this platform")
    return tiny(tmp_path_factory.mktemp(request.param), str(request.param))
