"""Each output is pinned to its version: a changed output without a new version fails here."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def fresh():
    """What the functions give now."""
    spec = importlib.util.spec_from_file_location("pinned", HERE / "pinned.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.golden()


@pytest.mark.parametrize("name", ["summarize", "extract", "fold_summary", "headline", "glossary"])
def test_an_output_changes_only_with_its_version(fresh, name):
    pinned = json.loads((HERE / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    assert fresh[name]["version"] == pinned["version"], "write the golden outputs anew: see pinned.py"
    assert json.loads(json.dumps(fresh[name])) == pinned, "a changed output needs a new version"
